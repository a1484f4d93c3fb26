"""A process that has imported what stages import, and forks each of them: a stage then starts at once.

The flow starts it beside its first stages. A stage that begins later hands over (adaptbert.flow.hand_over): arguments,
environment, standard streams. What is forked for it computes, gets its signals, is killed with it, and saves its state
where the warm process is killed. A stage runs by itself where that is not ready, where variables or the interpreter
differ, which libraries read as they are imported, or where code was edited meanwhile (docs/decisions/0051).
"""

import gc
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from socket import AF_UNIX, SOCK_SEQPACKET, recv_fds, socket
from typing import Any

from adaptbert.config.code_digest import SOURCES
from adaptbert.flow.devices import VISIBLE
from adaptbert.flow.hand_over import ACCEPTED, WARM_SOCKET, place
from adaptbert.flow.process import FOLLOWING
from adaptbert.runtime.libraries import MLFLOW, collect_seldom, quieten
from adaptbert.runtime.signals import TAKEN, die_with_parent
from adaptbert.runtime.variables import WARM, value_of

PATH = Path(".work/warm")
"""Its socket: below the folder of the flow, of which there is one at a time, by a path that is never too long."""
FEWEST = 3
"""Stages that train, from which on imports are saved: the warm process imports more than one of them."""
MAY_DIFFER = re.compile(rf"{WARM_SOCKET}|{VISIBLE}|DVC_.*|PATH|PWD|OLDPWD|SHLVL|_")
"""Variables that the flow, DVC and shells set, and no library reads as it is imported."""
HARMLESS = "jemalloc_bg_thd"
"""Thread of pyarrow's allocator, which that starts again in a forked process."""


@contextmanager
def warm_process(environment: Mapping[str, str], trainings: int, has_devices: bool) -> Iterator[dict[str, str]]:
    """Variables with which stages find a warm process, which runs in this block; none where there is to be none.

    Args:
        environment: of the stages.
        trainings: number of stages that train here, on CUDA devices or not; with them this has not been seen yet.
    """
    word = value_of(WARM).lower()
    if sys.platform != "linux" or not (word == "true" or (not word and trainings >= FEWEST and not has_devices)):
        yield {}
        return
    PATH.unlink(missing_ok=True)  # of a flow that was killed
    # Its output is a pipe because that of stages is one: Python treats a file and a terminal in other ways.
    streams: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen([*FOLLOWING, __name__, str(PATH)], env=dict(environment), **streams) as process:
        try:
            yield {WARM_SOCKET: str(PATH)}
        finally:
            process.kill()
            PATH.unlink(missing_ok=True)


def main(path: str) -> None:
    """Import all, then fork for each stage that connects to this path; in a process that is to be one, run it."""
    for number in TAKEN:
        signal.signal(number, signal.SIG_IGN)  # the flow heeds them, and ends this process
    before = _conditions(os.environ, place())
    _import_all()
    if not os.fork():  # threads of OpenBLAS end at a fork, and start again where they are needed
        os._exit(0)
    signal.signal(signal.SIGCHLD, _reap)
    with socket(AF_UNIX, SOCK_SEQPACKET) as listener:
        umask = os.umask(0o077)  # nobody else may connect
        listener.bind(path)
        os.umask(umask)
        listener.listen()
        while True:
            connection = listener.accept()[0]
            if not _is_alone():
                return
            if not os.fork():
                break
            connection.close()
    _attend(connection, before)()


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

    gc.collect()
    gc.freeze()  # else a collection in a forked process would copy all memory


def _conditions(environment: Mapping[str, str], where: Sequence[str]) -> list[Any]:
    """What has to be equal for a stage to write what it would write by itself: place, variables, and of our files and
    the folder of packages, which changes where one is installed, time and size."""
    variables = {name: text for name, text in environment.items() if not MAY_DIFFER.fullmatch(name)}
    files = [*SOURCES["adaptbert"].rglob("*.py"), Path(sysconfig.get_path("purelib"))]
    return [*where, variables, {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in files}]


def _is_alone() -> bool:
    """Whether no thread runs that a forked process would lack, and of which it would have the locks."""
    names = [path.read_text(encoding="utf-8").strip() for path in Path("/proc/self/task").glob("*/comm")]
    return len(names) - names.count(HARMLESS) == 1


def _reap(*_: object) -> None:
    """Let processes that have ended go; their time counts as the flow's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _attend(connection: socket, before: Sequence[Any]) -> Callable[[], object]:
    """Look after a stage: fork the process that runs it, if it may; send that what the stage is sent, kill it where the
    stage was killed, and tell the stage how it has ended. Returns in that process alone, with what it has to do."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    die_with_parent(signal.SIGKILL)
    text, streams, *_ = recv_fds(connection, 2**20, 3)
    request = json.loads(text)
    if _conditions(request["environment"], request["place"]) != before:
        os._exit(0)  # the stage sees that the connection ends, and starts by itself
    if not (pid := os.fork()):
        return partial(_run, request, streams)
    connection.send(ACCEPTED)
    end = os.pidfd_open(pid)
    while end not in wait([connection, end]):
        numbers = connection.recv(1)
        os.kill(pid, numbers[0] if numbers else signal.SIGKILL)
        if not numbers:
            break
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(OSError):  # the stage was killed
        connection.send(str(status).encode())
    os._exit(0)


def _run(request: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Be the stage."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for number in TAKEN:
        signal.signal(number, signal.SIG_IGN if number in request["ignored"] else signal.SIG_DFL)
    die_with_parent()
    os.environ.clear()
    os.environ.update({name: value for name, value in request["environment"].items() if name != WARM_SOCKET})
    sys.argv = ["-m", *request["argv"]]  # as Python begins with a module
    runpy.run_module(request["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1])
