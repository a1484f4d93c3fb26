"""Ranks: the processes that train one model together, one for each device.

Rank 0 is the process of the stage. It starts the others for one `fit` (adaptbert.training.launchers: on this machine,
or on a Ray cluster that the user named), sends them their work and ends them. It has all their state: rank 0 alone
handles savepoints, the tracking run, outputs and signals, so that a rank that is killed costs only time.

ADAPTBERT_DEVICES sets their number; by default it is all CUDA devices of this machine that divide the work, or one
process on a CPU.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from adaptbert.codes import Code
from adaptbert.errors import BadParams
from adaptbert.runtime import cluster
from adaptbert.training import launchers, rendezvous
from adaptbert.training.launchers import PATIENCE, VARIABLE, Follow, Others, RankLost, launched

NOTICE_SECONDS = 60.0
"""At most, from the end of a connection until the end of the process behind it is known: a rank that raised prints its
error and unloads its libraries, which takes long on a busy machine, and Ray notices a lost machine late."""


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
        BadParams: ADAPTBERT_DEVICES is no number, more than there are (of a cluster, `launched` counts them), or does
            not divide the micro-batches.
    """
    import torch

    available, devices = torch.cuda.device_count(), os.environ.get(VARIABLE, "")
    if not devices:
        return max(number for number in range(1, max(1, available) + 1) if micro_batches % number == 0)
    if not devices.isdecimal() or int(devices) == 0:
        raise BadParams(Code.MACHINES, VARIABLE, f"expected a number of devices, found {devices!r}", "write e.g. 2")
    if 0 < available < int(devices) and not cluster.is_named():
        raise BadParams(
            Code.MACHINES, VARIABLE, f"{devices} devices, there are {available}", f"lower it to {available}"
        )
    if micro_batches % int(devices):
        problem = f"{devices} devices cannot share the {micro_batches} micro-batches of an optimizer step equally"
        remedy = "choose a divisor, or smaller micro-batches: global batch / micro-batch must be a multiple of it"
        raise BadParams(Code.MACHINES, VARIABLE, problem, remedy)
    return int(devices)


@dataclass(frozen=True)
class Ranks:
    """This process among those that train together; the default is one process.

    Attributes:
        rank: 0 .. world-1.
        world: how many there are.
        device: its CUDA device, among those that its process sees.
    """

    rank: int = 0
    world: int = 1
    device: int = 0

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
        BadParams: the cluster that the user named has fewer devices.
        RankLost: one of them ended too early.
    """
    if world == 1:
        yield Ranks()
        return
    with launched(world, follow) as others:
        over = threading.Event()
        threading.Thread(target=_watch, args=(others, over), daemon=True).start()
        try:
            with joined(0, world, others.store, others.failure) as ranks:
                try:
                    yield ranks
                except BaseException as error:
                    failure = _failed_rank(others) if _is_of_a_connection(error) else None
                    others.end()  # before connections close, which each rank would report as an error of its own
                    if failure is not None:
                        raise failure from error
                    raise
            others.wait(launchers.GRACE_SECONDS)
        finally:
            over.set()


@contextmanager
def joined(
    rank: int, world: int, store: str, failed_rank: Callable[[], RankLost | None] = lambda: None
) -> Iterator[Ranks]:
    """Joins this process to the group that meets at `store`.

    Args:
        failed_rank: called while rank 0 waits for the others.

    Raises:
        RankLost: one of the others ended before it was there.
    """
    import torch
    from torch import distributed

    place = rendezvous.opened(store, world, PATIENCE)
    place.set(f"rank {rank}", "here")
    while rank == 0 and not place.check([f"rank {other}" for other in range(world)]):
        if (failure := failed_rank()) is not None:
            raise failure
        time.sleep(0.05)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, store=place, rank=rank, world_size=world, timeout=PATIENCE)
    try:
        yield Ranks(rank, world, rendezvous.device_of(rank, store))
    finally:
        distributed.destroy_process_group()


def _is_of_a_connection(error: BaseException) -> bool:
    """Whether another rank may be the cause: gloo has no class for its errors."""
    from torch import distributed

    return isinstance(error, distributed.DistError) or (isinstance(error, RuntimeError) and "gloo" in str(error))


def _failed_rank(others: Others) -> RankLost | None:
    """The error of a rank that ended with a failure; its connection closed before."""
    give_up = time.monotonic() + NOTICE_SECONDS
    while (failure := others.failure()) is None and time.monotonic() < give_up:
        time.sleep(0.05)
    return failure


def _watch(others: Others, over: threading.Event) -> None:
    """End this process if a rank fails: NCCL would wait for ever, in a call that no exception interrupts."""
    while not over.wait(1.0):
        failure = others.failure()
        if failure is not None and not over.wait(launchers.GRACE_SECONDS):
            print(f"error: {failure}", file=sys.stderr, flush=True)
            os._exit(failure.exit_code)
