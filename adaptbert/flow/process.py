"""The commands that bring a stage up to date: their lines as they come, what a failure means, and signals.

A signal to a flow that somebody started in a terminal ends it: stages save their state, none starts, and the same
command goes on. From then on nothing is logged, for all that fails does so because of it, and two lines are printed:
which signal it was, and that all has ended. What the flow has started ends with it, also where it is killed. A Prefect
worker has its own way of ending a flow; there no signal is taken here.
"""

import logging
import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from types import FrameType
from typing import Any, NoReturn

import psutil

from adaptbert.core.files import full_disk
from adaptbert.errors import BAD_DATA, BAD_PARAMS, INTERNAL, IO_ERROR, TEMPORARY
from adaptbert.runtime.signals import PASSED_ON, SIGNALS

FOLLOWING = (sys.executable, "-m", "adaptbert.flow.following")
DVC = (*FOLLOWING, "dvc", "--wait-for-lock")
"""DVC, which waits for the lock of the project, which two stages of the flow may want at once."""
LOCKED = ("is busy, it is being blocked by", "Unable to acquire lock", "/index.lock'")
"""What DVC says where another one works on a path, or where git's index is locked, into which it adds dvc.lock."""
CODES = {BAD_DATA, BAD_PARAMS, INTERNAL, IO_ERROR, TEMPORARY}
INTERRUPTED = 252
"""Exit code of a DVC that SIGINT ended."""


class StageFailed(RuntimeError):
    """A stage ended badly; `exit_code` is the stage's own (adaptbert.errors), which DVC hides behind 255.

    Args:
        reason: in a line.
        last: its last line, for the page of Prefect.
    """

    def __init__(self, reason: str, exit_code: int, last: str = "") -> None:
        super().__init__(f"{reason}\n{last}".strip())
        self.reason, self.exit_code = reason, exit_code


class MayPass(StageFailed):
    """A retry can resolve it: another DVC process works on the same paths, or a machine was lost."""


_running: set["subprocess.Popen[str]"] = set()
_starting = RLock()
"""Lock that is held while a command starts: a signal reaches it, or it does not start."""
_received: list[signal.Signals] = []


def environment() -> dict[str, str]:
    """Environment for DVC: `python` in a cmd is this interpreter, output is unbuffered, analytics are off."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {"DVC_NO_ANALYTICS": "1", **os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    """A command to its end, whatever its status; its lines are kept.

    Raises:
        StageFailed: a signal came before.
    """
    with _started(command, stderr=subprocess.PIPE, env=environment()) as process:
        printed, errors = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, printed, errors)


def output(command: Sequence[str], env: dict[str, str], folder: Path | None = None) -> Iterator[str]:
    """The lines of a command, both streams.

    Raises:
        CalledProcessError: when all lines have come, and its status is not 0.
        StageFailed: a signal came before.
    """
    with _started(command, cwd=folder, stderr=subprocess.STDOUT, env=env) as process:
        assert process.stdout is not None
        # Not `yield from`: Ray sends into generators, which a file does not take.
        for line in process.stdout:  # noqa: UP028
            yield line
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command[0])


@contextmanager
def _started(command: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """A command that hears of signals; it has ended when the block ends."""
    with _starting:
        check()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", errors="replace", **options)
        _running.add(process)
    try:
        with process:
            yield process
    finally:
        _running.discard(process)


def heard(stage: str, lines: Iterable[str], say: Callable[[str], None]) -> None:
    """Pass the lines of a stage on as they come.

    Raises:
        MayPass: they end with a lock of another process.
        StageFailed: they end with another failure.
    """
    tail: deque[str] = deque(maxlen=20)  # errors have two lines each
    try:
        for line in filter(str.strip, lines):
            tail.append(line)
            say(line.rstrip())
    except subprocess.CalledProcessError as failed:
        text = "".join(tail)
        codes = re.findall(r"exited with (-?\d+)", text)
        if not codes and failed.returncode > 0 and any(sign in text for sign in LOCKED):
            message = f"{stage}: another DVC process is at work here; run again when it is done"
            raise MayPass(message, TEMPORARY) from None
        reason, code = ended(int(codes[-1])) if codes else _dvc_ended(failed.returncode)
        if not codes and (full := full_disk(OSError(text), Path.cwd())):
            reason, code = str(full), full.exit_code
        raise StageFailed(f"{stage}: {reason}", code, text) from None


def ended(status: int) -> tuple[str, int]:
    """A message about a stage, and a code of adaptbert.errors; a shell adds 128 to the signal that ended a command."""
    number = -status if status < 0 else status - 128
    if number not in {*signal.Signals}:
        return f"exited with {status}", status if status in CODES else INTERNAL
    why = " (kill -9, or the system where memory ran out)" if number == signal.SIGKILL else ""
    return f"ended by {signal.Signals(number).name}{why}; the same command goes on from here", TEMPORARY


def _dvc_ended(status: int) -> tuple[str, int]:
    """The same where DVC ended before its stage."""
    if status == INTERRUPTED:
        return "DVC was interrupted; the same command goes on from here", TEMPORARY
    return ("DVC " + ended(status)[0], TEMPORARY) if status < 0 else ("dvc could not run it", INTERNAL)


def take_signals() -> None:
    """From now on the first signal is noted. A second one ends this process at once."""
    for number in SIGNALS:
        signal.signal(number, _note)


def insist() -> None:
    """Note SIGTERM again, where signals were taken: Prefect has put a handler of its own around the flow."""
    if signal.getsignal(signal.SIGINT) is _note:
        signal.signal(signal.SIGTERM, _note)


def received() -> bool:
    """Whether a signal came."""
    return bool(_received)


def stopped(number: int = 0) -> str:
    """The message when a signal has ended the flow: the one that was noted, or else this one."""
    by = f" by {signal.Signals(number or _received[0]).name}" if number or _received else ""
    return f"stopped{by}; the same command goes on from here"


def check() -> None:
    """Raise `StageFailed` if a signal came: between two stages nothing else would say so."""
    if received():
        raise StageFailed(stopped(), TEMPORARY)


def leave(line: str = "") -> NoReturn:
    """End this process and its server at once, and say why; by default, that a signal has stopped the flow.

    What Prefect does at the end of a process, such as to wait for threads, may take minutes where it is interrupted,
    and longer where its server is gone.
    """
    with suppress(OSError):  # the terminal was closed
        print(line or stopped(), file=sys.stderr, flush=True)
    for child in psutil.Process().children():
        child.kill()
    os._exit(TEMPORARY)


def _note(number: int, frame: FrameType | None) -> None:
    """A terminal sends its signals to the stages as well, and a `kill` ends this one alone: so this sends DVC what a
    terminal sends, and tells the stages. They do not take that for a second signal, save their state, and `output`
    waits for their last lines."""
    for other in SIGNALS:
        signal.signal(other, signal.SIG_DFL)
    _received.append(signal.Signals(number))
    logging.disable()
    with _starting:
        commands = list(_running)
    for command in commands:
        with suppress(psutil.NoSuchProcess):
            command.send_signal(signal.SIGINT)  # DVC first: if it does not heed it, its stage is there
            for below in psutil.Process(command.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    below.send_signal(PASSED_ON)
    if commands:
        name = signal.Signals(number).name
        with suppress(OSError):  # not `print`: the signal may have come in the middle of one
            os.write(2, f"{name}: waits until all that runs is saved; a second signal ends it at once\n".encode())
