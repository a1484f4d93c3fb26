"""Ranks: the processes that train one model together, one for each device.

Rank 0 is the process of the stage. It starts the others for one `fit`, on this machine or on a Ray cluster that the
user named, sends them their work and ends them. It has all their state: rank 0 alone handles savepoints, the tracking
run, outputs and signals, so that a rank that is killed costs only time. A rank's exit status says what became of it:

    python -m adaptbert.training.ranks MODULE:FUNCTION RANK WORLD STORE

They meet at a store: a file of this machine, or on a cluster a server, `tcp://host:port`. There the folder of the stage
must be on every machine at the same path, because ranks map the files of a corpus.
"""

import os
import socket
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
from pkgutil import resolve_name
from typing import Any

import torch
from torch import Tensor, distributed

from adaptbert.codes import Code
from adaptbert.errors import INTERNAL, TEMPORARY, BadParams, UserError
from adaptbert.runtime import cluster, signals
from adaptbert.runtime.variables import DEVICES, value_of

PATIENCE = timedelta(days=1)  # a rank waits while another measures or saves; a dead one is detected at once
GRACE_SECONDS = 20.0
NOTICE_SECONDS = 60.0
"""Most seconds from the end of a connection until the end of the process behind it is known: a rank that raised prints
its error and unloads its libraries, which takes long on a busy machine, and Ray notices a lost machine late."""
INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
SERVER = "tcp://"

Follow = Callable[[int, int, str], None]
"""What another rank calls: with its rank, the world and the store, as `joined` takes them."""


class RankLost(UserError):
    """A process of a run ended before its work was done."""

    def __init__(self, rank: int, how: str, exit_code: int) -> None:
        super().__init__(Code.WORKER_LOST, f"rank {rank}", how, "run again: training goes on from the last savepoint")
        self.exit_code = exit_code


def shared(parts: int, most: int) -> tuple[int, int]:
    """The devices of a run: ADAPTBERT_DEVICES, else as many CUDA devices of this machine as can share a step, or one
    process on a CPU; and the micro-batches of a step: `parts`, or the next multiple of the devices.

    Args:
        parts: micro-batches of an optimizer step.
        most: into which a step can be cut, if they are more.

    Raises:
        BadParams: ADAPTBERT_DEVICES is no number, more than there are (`started` counts those of a cluster), or more
            than can share a step.
    """
    most = max(most, parts)
    available, devices = torch.cuda.device_count(), int(value_of(DEVICES) or 0)
    possible = [number for number in range(1, most + 1) if _parts(parts, number) <= most]
    if not devices:
        devices = max(number for number in possible if number <= max(1, available))
    if 0 < available < devices and not cluster.is_named():
        problem = f"{devices} devices, there are {available}"
        raise BadParams(Code.MACHINES, DEVICES, problem, f"lower it to {available}")
    if devices not in possible:
        problem = f"{devices} devices cannot share an optimizer step, which can be cut into {most} parts at most"
        remedy = "choose fewer, or a larger global batch: each device has at least one document"
        raise BadParams(Code.MACHINES, DEVICES, problem, remedy)
    return devices, _parts(parts, devices)


def _parts(parts: int, devices: int) -> int:
    return -(-parts // devices) * devices


@dataclass(frozen=True)
class Ranks:
    """This process among those that train together; the default is one process.

    Attributes:
        rank: 0 .. world-1.
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
        values = [value]
        if self.world > 1:
            distributed.broadcast_object_list(values, src=0, device=torch.device("cpu"))
        return values[0]

    def mean(self, tensor: Tensor) -> None:
        """Put the mean over all ranks into a tensor, in place: the same bits in each of them."""
        self.begin_mean(tensor)()

    def begin_mean(self, tensor: Tensor) -> Callable[[], None]:
        """Begin to do so; returns the function that waits until it is done. All ranks call it in the same order."""
        if self.world == 1:
            return lambda: None
        on_cpu = tensor.device.type == "cpu"  # gloo has no mean
        operation = distributed.ReduceOp.SUM if on_cpu else distributed.ReduceOp.AVG
        sent: Any = distributed.all_reduce(tensor, operation, async_op=True)

        def end() -> None:
            sent.wait()
            if on_cpu:
                tensor.div_(self.world)

        return end

    def totals(self, counts: Sequence[Mapping[str, int]]) -> list[dict[str, int]]:
        """Sums of several counts over all ranks, each of which gives the same names, in each count others."""
        if self.world == 1:
            return [*map(dict, counts)]
        names = sorted({name for each in counts for name in each})
        numbers = torch.tensor([[each.get(name, 0) for name in names] for each in counts])
        distributed.all_reduce(numbers)
        rows = (dict(zip(names, row, strict=True)) for row in numbers.tolist())
        return [{name: row[name] for name in each} for each, row in zip(counts, rows, strict=True)]


@contextmanager
def started(world: int, follow: Follow) -> Iterator[Ranks]:
    """Runs the other ranks during a block and ends them after it, also on an exception.

    Args:
        world: with 1 nothing is started.
        follow: a function of a module, called in each other rank.

    Raises:
        BadParams: the cluster that the user named has fewer devices, or Ray is not installed.
        Temporary: no cluster answers.
        RankLost: one of them ended too early.
    """
    if world == 1:
        yield Ranks()
        return
    name = f"{follow.__module__}:{follow.__name__}"
    with tempfile.TemporaryDirectory(prefix="adaptbert-") as folder:
        others = _Tasks(world, name) if cluster.is_named() else _Processes(world, name, f"{folder}/store")
        over = threading.Event()
        threading.Thread(target=_watch, args=(others, over), daemon=True).start()
        try:
            with joined(0, world, others.store, others.failure) as ranks:
                try:
                    yield ranks
                except BaseException as error:
                    failure = _failed_rank(others, error)
                    others.end()  # before connections close, which each rank would report as an error of its own
                    if failure is not None:
                        raise failure from error
                    raise
            others.wait(GRACE_SECONDS)
        finally:
            over.set()
            others.end()


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
    place: Any
    if store.startswith(SERVER):
        host, _, port = store.removeprefix(SERVER).rpartition(":")
        network, device = _interface_towards(host), 0  # on a cluster a process sees no device but its own
        place = distributed.TCPStore(host, int(port), is_master=False, timeout=PATIENCE)  # type: ignore[attr-defined]
    else:
        network, device = "lo" if sys.platform == "linux" else "", rank
        place = distributed.FileStore(store, world)  # type: ignore[attr-defined]
    # Else a host name decides, which often stands for the loopback address; what the user has set stays.
    for name in INTERFACES if network else ():
        os.environ.setdefault(name, network)
    place.set(f"rank {rank}", "here")
    while rank == 0 and not place.check([f"rank {other}" for other in range(world)]):
        if (failure := failed_rank()) is not None:
            raise failure
        time.sleep(0.05)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, store=place, rank=rank, world_size=world, timeout=PATIENCE)
    try:
        yield Ranks(rank, world, device)
    finally:
        distributed.destroy_process_group()


class _Processes:
    """The ranks 1 .. world-1 as processes of this machine, which meet in the file `store`."""

    def __init__(self, world: int, name: str, store: str) -> None:
        self.store = store
        self._processes = [_process(name, rank, world, store) for rank in range(1, world)]

    def failure(self) -> RankLost | None:
        """The error of one that ended with a failure."""
        ended = ((rank, process.poll()) for rank, process in enumerate(self._processes, 1))
        return next((_lost(rank, status) for rank, status in ended if status), None)

    def wait(self, seconds: float) -> None:
        """Wait until all have ended, for so long at most."""
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)

    def end(self) -> None:
        """End the processes that still run."""
        for process in self._processes:
            process.kill()
            process.wait()


class _Tasks:
    """The same as tasks of a Ray cluster, each of which occupies a device; they meet at a server in this process.

    Ray starts none of them again: a rank alone cannot go on, the run goes on from its savepoint.
    """

    def __init__(self, world: int, name: str) -> None:
        self._ray = ray = cluster.connected()
        kind = "GPU" if torch.cuda.is_available() else "CPU"
        present = int(ray.cluster_resources().get(kind, 0))
        if present < world - 1:  # a task that no machine can take would wait for ever
            problem = f"{world} devices need {world - 1} {kind}s beside the stage's own, the cluster has {present}"
            raise BadParams(Code.MACHINES, DEVICES, problem, f"lower it to {present + 1}, or add machines")
        host = ray.util.get_node_ip_address()
        self._server = distributed.TCPStore(  # type: ignore[attr-defined]
            host, 0, is_master=True, wait_for_workers=False, timeout=PATIENCE
        )
        self.store = f"{SERVER}{host}:{self._server.port}"
        task = ray.remote(num_gpus=int(kind == "GPU"), num_cpus=1, max_retries=0)(run_rank)
        self._tasks = [task.remote(str(Path.cwd()), name, rank, world, self.store) for rank in range(1, world)]

    def failure(self) -> RankLost | None:
        for rank, task in enumerate(self._tasks, 1):
            if not self._ray.wait([task], timeout=0)[0]:
                continue
            try:
                if status := self._ray.get(task):
                    return _lost(rank, status)
            except self._ray.exceptions.RayTaskError as error:
                return RankLost(rank, f"could not start: {error.cause}", INTERNAL)
            except self._ray.exceptions.RayError as error:
                reason = str(error).strip().splitlines()[0]
                return RankLost(rank, f"was lost with its machine: {reason}", TEMPORARY)
        return None

    def wait(self, seconds: float) -> None:
        self._ray.wait(self._tasks, num_returns=len(self._tasks), timeout=seconds)

    def end(self) -> None:
        _, running = self._ray.wait(self._tasks, num_returns=len(self._tasks), timeout=0)
        for task in running:
            self._ray.cancel(task)  # raises in the task, which ends its child; by force Ray may end this process too
        self.wait(GRACE_SECONDS)


def run_rank(folder: str, function: str, rank: int, world: int, store: str) -> int:
    """Run a rank in the folder of its stage, to its end: the task that a cluster runs.

    Returns:
        The exit status, negative for a signal.

    Raises:
        FileNotFoundError: the folder is not here.
    """
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"this machine has no folder {folder}: it must be on a file system of all machines")
    process = _process(function, rank, world, store, cwd=folder)
    try:
        return process.wait()
    finally:
        process.kill()  # where the task was cancelled


def _process(function: str, rank: int, world: int, store: str, cwd: str | None = None) -> "subprocess.Popen[bytes]":
    """A rank in a new interpreter: a forked process could use neither CUDA nor threads."""
    command = [sys.executable, "-m", "adaptbert.training.ranks", function, str(rank), str(world), store]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with signals.withheld():  # it ignores them when it has imported torch, which takes seconds
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, cwd=cwd)


def _lost(rank: int, status: int) -> RankLost:
    """The error for an exit status; it is negative for a signal."""
    if status < 0:
        return RankLost(rank, f"was killed by signal {-status}", TEMPORARY)
    return RankLost(rank, f"ended with {status}, its error is above", INTERNAL)


def _failed_rank(others: _Processes | _Tasks, error: BaseException) -> RankLost | None:
    """The error of a rank that ended with a failure, where `error` is of its connection, which closed before."""
    is_of_gloo = isinstance(error, RuntimeError) and "gloo" in str(error)  # which has no class for its errors
    if not (is_of_gloo or isinstance(error, distributed.DistError)):
        return None
    give_up = time.monotonic() + NOTICE_SECONDS
    while (failure := others.failure()) is None and time.monotonic() < give_up:
        time.sleep(0.05)
    return failure


def _watch(others: _Processes | _Tasks, over: threading.Event) -> None:
    """End this process if a rank fails: NCCL would wait for ever, in a call that no exception interrupts."""
    while not over.wait(1.0):
        failure = others.failure()
        if failure is not None and not over.wait(GRACE_SECONDS):
            print(f"error: {failure}", file=sys.stderr, flush=True)
            os._exit(failure.exit_code)


def _interface_towards(host: str) -> str:
    """The network interface by which this machine reaches a host; empty if it has no name."""
    import psutil

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))  # nothing is sent: the system only looks up the route
        own = probe.getsockname()[0]
    addresses = ((name, each.address) for name, several in psutil.net_if_addrs().items() for each in several)
    return next((name for name, address in addresses if address == own), "")


if __name__ == "__main__":
    _, function, rank, world, store = sys.argv
    resolve_name(function)(int(rank), int(world), store)
