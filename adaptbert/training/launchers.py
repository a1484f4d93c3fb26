"""Starts the other ranks of a run: processes of this machine, or of a Ray cluster that the user named.

Either way a rank is the same process, and its end says what became of it:

    python -m adaptbert.training.launchers MODULE:FUNCTION RANK WORLD STORE

On a cluster it is the child of a Ray task, which occupies a device; the folder of the stage must be there as well, at
the same path, because ranks map the files of a corpus.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from adaptbert.codes import Code
from adaptbert.errors import INTERNAL, TEMPORARY, BadParams, UserError
from adaptbert.runtime import cluster

VARIABLE = "ADAPTBERT_DEVICES"
PATIENCE = timedelta(days=1)  # a rank waits while another measures or saves; a dead one is detected at once
GRACE_SECONDS = 20.0

Follow = Callable[[int, int, str], None]


class RankLost(UserError):
    """A process of a run ended before its work was done."""

    def __init__(self, rank: int, how: str, exit_code: int) -> None:
        super().__init__(Code.WORKER_LOST, f"rank {rank}", how, "run again: training goes on from the last savepoint")
        self.exit_code = exit_code


def _lost(rank: int, status: int) -> RankLost:
    """The error for an exit status; it is negative for a signal."""
    if status < 0:
        return RankLost(rank, f"was killed by signal {-status}", TEMPORARY)
    return RankLost(rank, f"ended with {status}, its error is above", INTERNAL)


class Processes:
    """The ranks 1 .. world-1 as processes of this machine, which meet in a file.

    Attributes:
        store: where all ranks meet; see `adaptbert.training.rendezvous`.
    """

    def __init__(self, world: int, name: str, store: Path) -> None:
        self.store = str(store)
        self._processes = [_started(name, rank, world, self.store) for rank in range(1, world)]

    def failure(self) -> RankLost | None:
        """The error of one that ended with a failure."""
        for rank, process in enumerate(self._processes, 1):
            if process.poll():
                return _lost(rank, process.returncode)
        return None

    def wait(self, seconds: float) -> None:
        """Wait until all have ended, for so long at most."""
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)

    def end(self) -> None:
        """End those that still run."""
        for process in self._processes:
            process.kill()
            process.wait()


class ClusterTasks:
    """The same as tasks of a Ray cluster, which meet at a server in this process.

    Ray starts none of them again: a rank alone cannot go on, the run goes on from its savepoint.
    """

    def __init__(self, world: int, name: str) -> None:
        import torch
        from torch import distributed

        self._ray = ray = cluster.connected()
        kind = "GPU" if torch.cuda.is_available() else "CPU"
        self._refuse_few(kind, world - 1)
        host = ray.util.get_node_ip_address()
        self._server = distributed.TCPStore(  # type: ignore[attr-defined]
            host, 0, is_master=True, wait_for_workers=False, timeout=PATIENCE
        )
        self.store = f"tcp://{host}:{self._server.port}"
        task = ray.remote(num_gpus=int(kind == "GPU"), num_cpus=1, max_retries=0)(run_rank)
        folder = str(Path.cwd())
        self._tasks = [task.remote(folder, name, rank, world, self.store) for rank in range(1, world)]

    def _refuse_few(self, kind: str, needed: int) -> None:
        """A task that no machine can take would wait for ever."""
        present = int(self._ray.cluster_resources().get(kind, 0))
        if present < needed:
            problem = f"{needed + 1} devices need {needed} {kind}s beside the stage's own, the cluster has {present}"
            raise BadParams(Code.MACHINES, VARIABLE, problem, f"lower it to {present + 1}, or add machines")

    def failure(self) -> RankLost | None:
        for rank, task in enumerate(self._tasks, 1):
            if not self._ray.wait([task], timeout=0)[0]:
                continue
            try:
                status = self._ray.get(task)
            except self._ray.exceptions.RayTaskError as error:
                return RankLost(rank, f"could not start: {error.cause}", INTERNAL)
            except self._ray.exceptions.RayError as error:
                reason = str(error).strip().splitlines()[0]
                return RankLost(rank, f"was lost with its machine: {reason}", TEMPORARY)
            if status:
                return _lost(rank, status)
        return None

    def wait(self, seconds: float) -> None:
        self._ray.wait(self._tasks, num_returns=len(self._tasks), timeout=seconds)

    def end(self) -> None:
        _, running = self._ray.wait(self._tasks, num_returns=len(self._tasks), timeout=0)
        for task in running:
            self._ray.cancel(task)  # raises in the task, which ends its child; by force Ray may end this process too
        self.wait(GRACE_SECONDS)


def run_rank(folder: str, function: str, rank: int, world: int, store: str) -> int:
    """Run a rank on this machine to its end: the task that a cluster runs.

    Args:
        folder: of the stage.

    Returns:
        The exit status, negative for a signal.

    Raises:
        FileNotFoundError: the folder is not here.
    """
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"this machine has no folder {folder}: it must be on a file system of all machines")
    process = _started(function, rank, world, store, cwd=folder)
    try:
        return process.wait()
    finally:
        process.kill()  # where the task was cancelled


def _started(function: str, rank: int, world: int, store: str, **more: Any) -> "subprocess.Popen[bytes]":
    """The process of a rank, a new interpreter: a forked process could use neither CUDA nor threads."""
    command = [sys.executable, "-m", __name__, function, str(rank), str(world), store]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, **more)


Others = Processes | ClusterTasks


@contextmanager
def launched(world: int, follow: Follow) -> Iterator[Others]:
    """The other ranks, running; they are ended with the block.

    Raises:
        BadParams: the cluster has fewer devices, or Ray is not installed.
        NoCluster: no cluster answers.
    """
    name = f"{follow.__module__}:{follow.__name__}"
    with tempfile.TemporaryDirectory(prefix="adaptbert-") as folder:
        store = Path(folder) / "store"
        others = ClusterTasks(world, name) if cluster.is_named() else Processes(world, name, store)
        try:
            yield others
        finally:
            others.end()


if __name__ == "__main__":
    _, function, rank, world, store = sys.argv
    resolve_name(function)(int(rank), int(world), store)
