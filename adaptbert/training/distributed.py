"""Ranks: the processes that train one model together, one a device, all on this machine.

Rank 0 is the process of the stage. It starts the others for the time of one `fit`, gives them their work and ends them.
What they hold it holds as well: savepoints, the record, outputs and signals concern rank 0 alone, and a rank that is
killed at any moment costs nothing but time.

How many there are comes from ADAPTBERT_DEVICES; else all CUDA devices that divide the work, or one process on a CPU.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from torch import Tensor

from adaptbert.codes import Code
from adaptbert.errors import INTERNAL, TEMPORARY, BadParams, UserError
from adaptbert.training import rank_process

VARIABLE = "ADAPTBERT_DEVICES"
PATIENCE = timedelta(days=1)  # of one rank with another, which may be measuring or saving; a dead one is seen at once
GRACE_SECONDS = 20.0
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}

Follow = Callable[[int, int, str], None]
Others = list[subprocess.Popen[bytes]]


class RankLost(UserError):
    """A process of a run ended before its work was done."""

    @classmethod
    def of(cls, rank: int, status: int) -> "RankLost":
        """What its exit status tells; negative for a signal."""
        ended = f"was killed by signal {-status}" if status < 0 else f"ended with {status}, its error is above"
        lost = RankLost(Code.RANK_LOST, f"rank {rank}", ended, "run again: training goes on from the last savepoint")
        lost.exit_code = TEMPORARY if status < 0 else INTERNAL
        return lost


def count(micro_batches: int) -> int:
    """How many devices a run is trained on whose optimizer steps have so many micro-batches.

    Raises:
        BadParams: ADAPTBERT_DEVICES is no number, more than there are, or does not divide the micro-batches.
    """
    import torch

    there, asked = torch.cuda.device_count(), os.environ.get(VARIABLE, "")
    if not asked:
        return max(number for number in range(1, max(1, there) + 1) if micro_batches % number == 0)
    if not asked.isdecimal() or int(asked) == 0:
        raise BadParams(Code.BAD_DEVICES, VARIABLE, f"expected a number of devices, found {asked!r}", "write e.g. 2")
    if 0 < there < int(asked):
        raise BadParams(Code.BAD_DEVICES, VARIABLE, f"{asked} devices, there are {there}", f"lower it to {there}")
    if micro_batches % int(asked):
        problem = f"{asked} devices cannot share the {micro_batches} micro-batches of an optimizer step equally"
        remedy = "choose a divisor, or smaller micro-batches: global batch / micro-batch must be a multiple of it"
        raise BadParams(Code.BAD_DEVICES, VARIABLE, problem, remedy)
    return int(asked)


@dataclass(frozen=True)
class Ranks:
    """This process among those that train together; alone by default.

    Attributes:
        rank: 0 .. world-1.
        world: how many there are.
    """

    rank: int = 0
    world: int = 1

    def numbers(self, first: int, last: int) -> range:
        """Which of the micro-batches first .. last-1 are this rank's; equally many of each optimizer step."""
        return range(first + self.rank, last, self.world)

    def share(self, given: Any) -> Any:
        """What rank 0 gives, in every rank; what the others give is not looked at."""
        import torch
        from torch import distributed

        if self.world == 1:
            return given
        held = [given]
        distributed.broadcast_object_list(held, src=0, device=torch.device("cpu"))
        return held[0]

    def mean(self, tensors: Sequence[Tensor]) -> None:
        """Put the mean over all ranks into tensors of one type, in place: the same bits in each of them.

        All in one piece, whose sum is always made in the same order; buckets that are laid out anew on the way, as
        DistributedDataParallel has them, would give a resumed run other bits from three ranks on.
        """
        import torch
        from torch import distributed

        if self.world == 1:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        distributed.all_reduce(flat)
        flat /= self.world
        for tensor, part in zip(tensors, torch.split(flat, [tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))

    def total(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Sums over all ranks; each one gives the same names."""
        import torch
        from torch import distributed

        if self.world == 1:
            return dict(counts)
        names = sorted(counts)
        numbers = torch.tensor([counts[name] for name in names])
        distributed.all_reduce(numbers)
        return dict(zip(names, numbers.tolist(), strict=True))


@contextmanager
def started(world: int, follow: Follow) -> Iterator[Ranks]:
    """In this block the other ranks are there; afterwards they are not, however it ends.

    Args:
        world: with 1 nothing is started.
        follow: a function of a module, called in each other rank with what `joined` takes.

    Raises:
        RankLost: one of them ended too early.
    """
    if world == 1:
        yield Ranks()
        return
    with tempfile.TemporaryDirectory(prefix="adaptbert-") as folder:
        store = str(Path(folder) / "store")
        others = [_start(rank, world, store, follow) for rank in range(1, world)]
        over = threading.Event()
        threading.Thread(target=_watch, args=(others, over), daemon=True).start()
        try:
            with joined(0, world, store, lambda: _lost(others)) as ranks:
                try:
                    yield ranks
                except BaseException as error:
                    # A connection is closed a moment before the system tells that its process ended.
                    lost = _lost(others, 2.0) if isinstance(error, RuntimeError) else None
                    _end(others)  # before connections are closed, which each of them would tell as an error of its own
                    if lost is not None:
                        raise lost from error
                    raise
            for other in others:
                with suppress(subprocess.TimeoutExpired):
                    other.wait(GRACE_SECONDS)
        finally:
            over.set()
            _end(others)


@contextmanager
def joined(rank: int, world: int, store: str, lost: Callable[[], RankLost | None] = lambda: None) -> Iterator[Ranks]:
    """This process as one of several, which meet by the file `store`.

    Args:
        lost: asked while rank 0 waits for the others.

    Raises:
        RankLost: one of the others ended before it was there.
    """
    import torch
    from torch import distributed

    for name, value in LOOPBACK.items():
        os.environ.setdefault(name, value)
    meeting = distributed.FileStore(store, world)  # type: ignore[attr-defined]
    meeting.set(f"rank {rank}", "here")
    while rank == 0 and not meeting.check([f"rank {other}" for other in range(world)]):
        if (gone := lost()) is not None:
            raise gone
        time.sleep(0.05)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, store=meeting, rank=rank, world_size=world, timeout=PATIENCE)
    try:
        yield Ranks(rank, world)
    finally:
        distributed.destroy_process_group()


def _start(rank: int, world: int, store: str, follow: Follow) -> "subprocess.Popen[bytes]":
    """A fresh interpreter: a forked one could use neither CUDA nor the threads of this one."""
    name = f"{follow.__module__}:{follow.__name__}"
    command = [sys.executable, "-m", rank_process.__name__, name, str(rank), str(world), store]
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, env=os.environ | path, stdin=subprocess.DEVNULL)


def _end(others: Others) -> None:
    for other in others:
        other.kill()
        other.wait()


def _lost(others: Others, patience: float = 0.0) -> RankLost | None:
    """One that ended and should not have; it is waited for so many seconds."""
    give_up = time.monotonic() + patience
    while True:
        for rank, other in enumerate(others, 1):
            if other.poll():
                return RankLost.of(rank, other.returncode)
        if time.monotonic() >= give_up:
            return None
        time.sleep(0.05)


def _watch(others: Others, over: threading.Event) -> None:
    """NCCL would wait for a dead rank for ever, in a call that no exception reaches: end the process in its place."""
    while not over.wait(1.0):
        lost = _lost(others)
        if lost is not None and not over.wait(GRACE_SECONDS):
            print(f"error: {lost}", file=sys.stderr, flush=True)
            os._exit(lost.exit_code)
