"""A process that has imported what stages import, and forks each of them: a stage then starts at once.

The flow starts it beside its first stages. A stage that begins later hands over (adaptbert.flow.hand_over): arguments,
environment, standard streams. The process that is forked for it computes, and shares the memory of all imports. It gets
the signals that the stage gets, is killed where the stage is, and saves its state where the warm process is.

A stage runs by itself, as without a warm process, where that is not ready, or was killed; where variables or the
interpreter differ, because libraries read them as they are imported; and where code was edited meanwhile. No thread may
run at a fork, for a forked process lacks it and has what it held (docs/decisions/0051).
"""

import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from socket import AF_UNIX, SOCK_SEQPACKET, recv_fds, socket
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.code_digest import ROOT
from adaptbert.errors import BadParams
from adaptbert.flow.hand_over import ACCEPTED, WARM_SOCKET, place
from adaptbert.flow.process import FOLLOWING
from adaptbert.runtime.libraries import MLFLOW, collect_seldom, quieten
from adaptbert.runtime.signals import TAKEN, die_with_parent

VARIABLE = "ADAPTBERT_WARM"
PATH = Path(".work/warm")
"""Its socket: below the folder of the flow, of which there is one at a time, by a path that is never too long."""
FEWEST = 3
"""Stages that train, from which on imports are saved: the warm process imports more than one of them."""
MAY_DIFFER = ("CUDA_VISIBLE_DEVICES", "OLDPWD", "PATH", "PWD", "SHLVL", "_")
"""Variables that no library reads as it is imported, with those of DVC; a shell or DVC may have set them."""
HARMLESS = "jemalloc_bg_thd"
"""Thread of pyarrow's allocator, which that starts again in a forked process."""
MOST_BYTES = 2**20


# ---- in the flow


@contextmanager
def warm_process(environment: Mapping[str, str], trainings: int, has_devices: bool) -> Iterator[dict[str, str]]:
    """Variables with which stages find a warm process, which runs in this block; none where there is to be none.

    Args:
        environment: of the stages.
        trainings: number of stages that train here.
        has_devices: whether they train on CUDA devices, where this has not been seen yet.

    Raises:
        BadParams: ADAPTBERT_WARM is neither true nor false.
    """
    word = os.environ.get(VARIABLE, "").lower()
    if word not in ("", "true", "false"):
        raise BadParams(Code.MACHINES, VARIABLE, f"expected true or false, found {word!r}", "write false, or unset it")
    if sys.platform != "linux" or not (word == "true" or (not word and trainings >= FEWEST and not has_devices)):
        yield {}
        return
    PATH.unlink(missing_ok=True)  # of a flow that was killed
    command = [*FOLLOWING, "adaptbert.flow.warm", str(PATH)]
    # Its output is a pipe because that of stages is one: Python treats a file and a terminal in other ways.
    streams: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, env=dict(environment), **streams) as process:
        try:
            yield {WARM_SOCKET: str(PATH)}
        finally:
            process.kill()
            PATH.unlink(missing_ok=True)


# ---- the warm process


class Warm:
    """What this process has imported, and which stages can use it."""

    def __init__(self) -> None:
        self._variables, self._code = _compared(os.environ), _code()
        _import_all()
        gc.collect()
        gc.freeze()  # else a collection in a forked process would copy all memory
        if not (pid := _fork()):  # threads of OpenBLAS end at a fork, and start when they are needed
            os._exit(0)
        os.close(os.pidfd_open(pid))
        os.waitpid(pid, 0)

    def suits(self, asked: Mapping[str, Any]) -> bool:
        """Whether a stage that is forked now writes what it would write by itself."""
        is_same = asked["place"] == place() and _compared(asked["environment"]) == self._variables
        return is_same and _code() == self._code and _is_alone()


def _import_all() -> None:
    """Import what stages import, also in functions, with the variables that they set before."""
    collect_seldom()
    quieten()
    os.environ.update({**MLFLOW, **os.environ})
    import mlflow.store.tracking.sqlalchemy_store  # noqa: F401
    import sklearn.metrics  # noqa: F401
    import sqlalchemy.dialects.sqlite  # noqa: F401
    import transformers.models.bert.modeling_bert  # noqa: F401

    import adaptbert.mlm.step
    import adaptbert.planning.rules
    import adaptbert.tasks.finetune  # noqa: F401


def _compared(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that have to be equal."""
    differ = (*MAY_DIFFER, WARM_SOCKET)
    return {name: value for name, value in environment.items() if name not in differ and not name.startswith("DVC_")}


def _code() -> dict[str, tuple[int, int]]:
    """Time and size of our files, and of the folder of packages, which changes where one is installed."""
    paths = [*(ROOT / "adaptbert").rglob("*.py"), Path(sysconfig.get_path("purelib"))]
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in paths}


def _is_alone() -> bool:
    """Whether no thread runs that a forked process would miss."""
    names = [path.read_text(encoding="utf-8").strip() for path in Path("/proc/self/task").glob("*/comm")]
    return len([name for name in names if name != HARMLESS]) == 1


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, which counts the harmless thread
        return os.fork()


class Stage:
    """A stage that has connected, and the process that runs in its place.

    Attributes:
        pid: of that process; 0 before there is one.
        end: descriptor that is readable when it has ended.
    """

    def __init__(self, connection: socket) -> None:
        self.connection, self.pid, self.end = connection, 0, -1

    def begin(self, warm: Warm) -> Callable[[], None] | None:
        """Fork the process that the stage asks for, or turn it away; returns what is to be done in that process."""
        with suppress(OSError, ValueError):  # it was killed; a file of ours is being replaced; no memory is left
            text, streams, *_ = recv_fds(self.connection, MOST_BYTES, 3)
            asked = json.loads(text)
            pid = _fork() if warm.suits(asked) else -1
            if pid == 0:
                return partial(_run, asked, streams)
            for stream in streams:
                os.close(stream)
            if pid > 0:
                self.pid, self.end = pid, os.pidfd_open(pid)
                self.connection.send(ACCEPTED)
        if not self.pid:
            self.connection.close()
        return None

    def heed(self) -> None:
        """Send the process the signal that came to the stage, or kill it where the stage was killed."""
        numbers = b""
        with suppress(OSError):
            numbers = self.connection.recv(1)
        if not numbers:
            self.connection.close()
        os.kill(self.pid, numbers[0] if numbers else signal.SIGKILL)

    def finish(self) -> None:
        """Tell the stage how the process has ended."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        with suppress(OSError):  # it was killed
            self.connection.send(str(status).encode())
        self.close()

    def close(self) -> None:
        """Close what this process has of it."""
        self.connection.close()
        if self.pid:
            os.close(self.end)
            self.pid = 0


def _serve(listener: socket, warm: Warm) -> Callable[[], None]:
    """Serve stages for ever; returns in a forked process, with what is to be done there."""
    stages: list[Stage] = []
    while True:
        stages = [stage for stage in stages if stage.pid or stage.connection.fileno() >= 0]
        connected = {stage.connection: stage for stage in stages if stage.connection.fileno() >= 0}
        running = {stage.end: stage for stage in stages if stage.pid}
        event: Any = wait([listener, *running, *connected])[0]
        if event is listener:
            stages.append(Stage(listener.accept()[0]))
        elif event in running:
            running[event].finish()
        elif (stage := connected[event]).pid:
            stage.heed()
        elif task := stage.begin(warm):
            for stage in stages:
                stage.close()
            return task


def _run(asked: Mapping[str, Any], streams: list[int]) -> None:
    """Be the stage, in a forked process."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for number in TAKEN:
        signal.signal(number, signal.SIG_IGN if number in asked["ignored"] else signal.SIG_DFL)
    die_with_parent()
    os.environ.clear()
    os.environ.update({name: value for name, value in asked["environment"].items() if name != WARM_SOCKET})
    sys.argv = ["-m", *asked["argv"]]  # as Python begins with a module
    runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)


def main(path: str) -> None:
    """Import all, then serve the stages that connect to this path; in a forked process, run one."""
    for number in TAKEN:
        signal.signal(number, signal.SIG_IGN)  # the flow heeds them, and ends this process
    warm = Warm()
    with socket(AF_UNIX, SOCK_SEQPACKET) as listener:
        umask = os.umask(0o077)  # nobody else may connect
        listener.bind(path)
        os.umask(umask)
        listener.listen()
        task = _serve(listener, warm)
    task()


if __name__ == "__main__":
    main(sys.argv[1])
