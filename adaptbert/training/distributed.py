"""Ranks: the processes that train one model together, one for each device, all on this machine.

Rank 0 is the process of the stage. It starts the others for one `fit`, sends them their work and ends them. It has all
their state: rank 0 alone handles savepoints, the tracking run, outputs and signals, so that a rank that is killed costs
only time.

ADAPTBERT_DEVICES sets their number; by default it is all CUDA devices that divide the work, or one process on a CPU.
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
PATIENCE = timedelta(days=1)  # a rank waits while another measures or saves; `_failed_rank` detects a dead one at once
GRACE_SECONDS = 20.0
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}

Follow = Callable[[int, int, str], None]
Others = list[subprocess.Popen[bytes]]


class RankLost(UserError):
    """A process of a run ended before its work was done."""

    @classmethod
    def of(cls, rank: int, status: int) -> "RankLost":
        """The error for an exit status; it is negative for a signal."""
        ended = f"was killed by signal {-status}" if status < 0 else f"ended with {status}, its error is above"
        error = RankLost(Code.RANK_LOST, f"rank {rank}", ended, "run again: training goes on from the last savepoint")
        error.exit_code = TEMPORARY if status < 0 else INTERNAL
        return error


def idle_devices(micro_batches: int) -> str:
    """Why some CUDA devices have no part in a run with so many micro-batches an optimizer step; empty if all do."""
    import torch

    available, used = torch.cuda.device_count(), count(micro_batches)
    if available <= used or os.environ.get(VARIABLE):
        return ""
    return (
        f"uses {used} of {available} devices: {available} cannot share the {micro_batches} micro-batches of an "
        "optimizer step equally; smaller micro-batches use more of them"
    )


def count(micro_batches: int) -> int:
    """The number of devices for a run with so many micro-batches an optimizer step.

    Raises:
        BadParams: ADAPTBERT_DEVICES is no number, more than there are, or does not divide the micro-batches.
    """
    import torch

    available, devices = torch.cuda.device_count(), os.environ.get(VARIABLE, "")
    if not devices:
        return max(number for number in range(1, max(1, available) + 1) if micro_batches % number == 0)
    if not devices.isdecimal() or int(devices) == 0:
        raise BadParams(Code.BAD_DEVICES, VARIABLE, f"expected a number of devices, found {devices!r}", "write e.g. 2")
    if 0 < available < int(devices):
        raise BadParams(
            Code.BAD_DEVICES, VARIABLE, f"{devices} devices, there are {available}", f"lower it to {available}"
        )
    if micro_batches % int(devices):
        problem = f"{devices} devices cannot share the {micro_batches} micro-batches of an optimizer step equally"
        remedy = "choose a divisor, or smaller micro-batches: global batch / micro-batch must be a multiple of it"
        raise BadParams(Code.BAD_DEVICES, VARIABLE, problem, remedy)
    return int(devices)


@dataclass(frozen=True)
class Ranks:
    """This process among those that train together; the default is one process.

    Attributes:
        rank: 0 .. world-1.
        world: how many there are.
    """

    rank: int = 0
    world: int = 1

    def numbers(self, first: int, last: int) -> range:
        """Which of the micro-batches first .. last-1 are this rank's; equally many of each optimizer step."""
        return range(first + self.rank, last, self.world)

    def share(self, value: Any) -> Any:
        """The value of rank 0, in every rank; the values of the others are ignored."""
        import torch
        from torch import distributed

        if self.world == 1:
            return value
        values = [value]
        distributed.broadcast_object_list(values, src=0, device=torch.device("cpu"))
        return values[0]

    def mean(self, tensors: Sequence[Tensor]) -> None:
        """Put the mean over all ranks into tensors of one type, in place: the same bits in each of them.

        One tensor, whose sum is always computed in the same order. DistributedDataParallel rebuilds its buckets during
        a run, so that with three or more ranks a resumed run would have other bits. On a device it takes three
        operations, however many tensors there are.
        """
        import torch
        from torch import distributed

        if self.world == 1:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        if flat.device.type == "cpu":  # gloo has no mean
            distributed.all_reduce(flat)
            flat /= self.world
        else:
            distributed.all_reduce(flat, distributed.ReduceOp.AVG)
        parts = torch.split(flat, [tensor.numel() for tensor in tensors])
        means = [part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True)]
        torch._foreach_copy_(list(tensors), means)

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
    """Runs the other ranks during a block and ends them after it, also on an exception.

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
            with joined(0, world, store, lambda: _failed_rank(others)) as ranks:
                try:
                    yield ranks
                except BaseException as error:
                    # A connection closes a moment before the system reports that its process ended.
                    failure = _failed_rank(others, 2.0) if isinstance(error, RuntimeError) else None
                    _end(others)  # before connections close, which each rank would report as an error of its own
                    if failure is not None:
                        raise failure from error
                    raise
            for other in others:
                with suppress(subprocess.TimeoutExpired):
                    other.wait(GRACE_SECONDS)
        finally:
            over.set()
            _end(others)


@contextmanager
def joined(
    rank: int, world: int, store: str, failed_rank: Callable[[], RankLost | None] = lambda: None
) -> Iterator[Ranks]:
    """Joins this process to the group that connects through the file `store`.

    Args:
        failed_rank: called while rank 0 waits for the others.

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
        if (failure := failed_rank()) is not None:
            raise failure
        time.sleep(0.05)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, store=meeting, rank=rank, world_size=world, timeout=PATIENCE)
    try:
        yield Ranks(rank, world)
    finally:
        distributed.destroy_process_group()


def _start(rank: int, world: int, store: str, follow: Follow) -> "subprocess.Popen[bytes]":
    """Start a new interpreter: a forked process could use neither CUDA nor threads."""
    name = f"{follow.__module__}:{follow.__name__}"
    command = [sys.executable, "-m", rank_process.__name__, name, str(rank), str(world), store]
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, env=os.environ | path, stdin=subprocess.DEVNULL)


def _end(others: Others) -> None:
    for other in others:
        other.kill()
        other.wait()


def _failed_rank(others: Others, patience: float = 0.0) -> RankLost | None:
    """The error of a rank that ended with a failure, if one does within `patience` seconds."""
    give_up = time.monotonic() + patience
    while True:
        for rank, other in enumerate(others, 1):
            if other.poll():
                return RankLost.of(rank, other.returncode)
        if time.monotonic() >= give_up:
            return None
        time.sleep(0.05)


def _watch(others: Others, over: threading.Event) -> None:
    """End this process if a rank fails: NCCL would wait for ever, in a call that no exception interrupts."""
    while not over.wait(1.0):
        failure = _failed_rank(others)
        if failure is not None and not over.wait(GRACE_SECONDS):
            print(f"error: {failure}", file=sys.stderr, flush=True)
            os._exit(failure.exit_code)
