"""The commands that bring a stage up to date: their lines as they come, what a failure means, and signals.

A signal to a flow that somebody started in a terminal ends it: stages save their state, none starts, and the same
command goes on. From then on nothing is logged, for all that fails does so because of it, and one line is printed. A
Prefect worker has its own way of ending a flow; there nothing of this is at work.
"""

import logging
import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import RLock
from types import FrameType
from typing import NoReturn

import psutil

from adaptbert.errors import INTERNAL, TEMPORARY
from adaptbert.runtime.signals import SIGNALS

DVC = (sys.executable, "-m", "dvc", "--wait-for-lock")
"""It waits for the lock of the project, which two stages of the flow may want at once."""
LOCKED = ("is busy, it is being blocked by", "Unable to acquire lock", "/index.lock'")
"""What DVC says where another one works on a path, or where git's index is locked, into which it adds dvc.lock."""
SECONDS_BETWEEN_LOOKS = 0.1


class StageFailed(RuntimeError):
    """A stage ended badly; `exit_code` is the stage's own (adaptbert.errors), which DVC hides behind 255.

    Args:
        reason: in a line.
        last: what it said last, for the page of Prefect.
    """

    def __init__(self, reason: str, exit_code: int, last: str = "") -> None:
        super().__init__(f"{reason}\n{last}".strip())
        self.reason, self.exit_code = reason, exit_code


class MayPass(StageFailed):
    """A retry can resolve it: another DVC process works on the same paths, or a machine was lost."""


class CommandFailed(Exception):
    """A command ended with another status than 0; its lines say why."""


_running: set["subprocess.Popen[str]"] = set()
_starting = RLock()
"""Held while a command starts: a signal reaches it, or it does not start."""
_received: list[signal.Signals] = []


def environment() -> dict[str, str]:
    """For DVC: `python` in a cmd is this interpreter, output is unbuffered, analytics are off."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {"DVC_NO_ANALYTICS": "1", **os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    """A command to its end, whatever its status; its lines are kept."""
    return subprocess.run(command, capture_output=True, text=True, env=environment())


def output(command: Sequence[str], env: dict[str, str], folder: Path | None = None) -> Iterator[str]:
    """The lines of a command, both streams.

    Raises:
        CommandFailed: when all lines have come, and its status is not 0.
        StageFailed: a signal came before.
    """
    with _starting:
        check()
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=env
        )
        _running.add(process)
    assert process.stdout is not None
    try:
        with process.stdout:
            # Not `yield from`: Ray sends into generators, which a file does not take.
            for line in process.stdout:  # noqa: UP028
                yield line
    finally:
        _running.discard(process)
    if process.wait() != 0:
        raise CommandFailed(command[0])


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
    except CommandFailed:
        text = "".join(tail)
        ended = re.findall(r"exited with (-?\d+)", text)
        if not ended and any(sign in text for sign in LOCKED):
            message = f"{stage}: another DVC process is at work here; run again when it is done"
            raise MayPass(message, TEMPORARY) from None
        reason = f"exited with {ended[-1]}" if ended else "dvc could not run it"
        raise StageFailed(f"{stage}: {reason}", int(ended[-1]) if ended else INTERNAL, text) from None


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


def stopped() -> str:
    """What is said when a signal has ended the flow."""
    by = f" by {_received[0].name}" if _received else ""
    return f"stopped{by}; the same command goes on from here"


def check() -> None:
    """Raise `StageFailed` if a signal came: between two stages nothing else would say so."""
    if received():
        raise StageFailed(stopped(), TEMPORARY)


def await_server() -> None:
    """Where PREFECT_API_URL names no server, start the temporary one and wait for it, which takes some seconds.

    A terminal's signals do not reach it, so it takes the last state of the flow as well.

    Raises:
        StageFailed: a signal came meanwhile.
    """

    def start() -> None:
        from prefect.client.orchestration import get_client

        of_terminals = {signal.SIGINT, signal.SIGHUP}
        signal.pthread_sigmask(signal.SIG_BLOCK, of_terminals)  # of this thread and the process that it starts
        get_client(sync_client=True)

    pool = ThreadPoolExecutor(1)
    starting = pool.submit(start)
    while not starting.done():
        check()
        wait([starting], SECONDS_BETWEEN_LOOKS)
    starting.result()


def leave() -> NoReturn:
    """After a signal: a line, and the end of this process and of the temporary server.

    What Prefect does at the end of a process, such as to wait for threads, may take minutes where it is interrupted.
    """
    with suppress(OSError):  # the terminal was closed
        print(stopped(), file=sys.stderr, flush=True)
    for child in psutil.Process().children():
        child.kill()
    os._exit(TEMPORARY)


def _note(number: int, frame: FrameType | None) -> None:
    """A terminal sends its signals to the stages as well. Whoever ends a process (SIGTERM) ends this one alone: the
    stages hear of it from here, save their state, and `output` waits for their last lines."""
    for other in SIGNALS:
        signal.signal(other, signal.SIG_DFL)
    _received.append(signal.Signals(number))
    logging.disable()
    logging.raiseExceptions = False  # else Prefect prints what it cannot send
    if number == signal.SIGTERM:
        with _starting:
            for process in list(_running):
                process.terminate()
