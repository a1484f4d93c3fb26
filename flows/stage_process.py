"""The commands that bring a stage up to date: their lines as they come, and what a failure means."""

import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from adaptbert.errors import INTERNAL, TEMPORARY

DVC = (sys.executable, "-m", "dvc")
LOCKED = ("is busy, it is being blocked by", "Unable to acquire lock", "/index.lock'")
"""What DVC says where another one holds its locks, or that of git's index, into which both add dvc.lock."""


class StageFailed(RuntimeError):
    """A stage ended badly; `exit_code` is the stage's own (adaptbert.errors), which DVC hides behind 255."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class DvcLocked(StageFailed):
    """Another DVC process holds a path or the repository; a retry can resolve that."""

    def __init__(self, message: str) -> None:
        super().__init__(message, TEMPORARY)


class MachineLost(StageFailed):
    """The machine of a stage was lost; another one may take the stage."""

    def __init__(self, message: str) -> None:
        super().__init__(message, TEMPORARY)


class CommandFailed(Exception):
    """A command ended with another status than 0; its lines say why."""


_running: set["subprocess.Popen[str]"] = set()


def stop_all() -> None:
    """End the commands that run; a stage whose DVC ends saves its state, and `output` waits for its last line."""
    for process in list(_running):
        process.terminate()


def environment() -> dict[str, str]:
    """For DVC: `python` in a cmd is this interpreter, output is unbuffered, analytics are off."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {"DVC_NO_ANALYTICS": "1", **os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}


def output(command: Sequence[str], env: dict[str, str], folder: Path | None = None) -> Iterator[str]:
    """The lines of a command, both streams.

    Raises:
        CommandFailed: when all lines have come, and its status is not 0.
    """
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=env
    )
    assert process.stdout is not None
    _running.add(process)
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
    """Pass the lines of a stage on as they come; those of a lock are no error to the user, because a retry follows.

    Raises:
        DvcLocked: they end with a lock of another process.
        StageFailed: they end with another failure.
    """
    tail: deque[str] = deque(maxlen=20)  # errors have two lines each
    locked: list[str] = []
    failed = False
    try:
        for line in filter(str.strip, lines):
            tail.append(line)
            if locked or (line.startswith("ERROR:") and any(sign in line for sign in LOCKED)):
                locked.append(line)  # DVC ends with it
            else:
                say(line.rstrip())
    except CommandFailed:
        failed = True
    text = "".join(tail)
    ended = re.findall(r"exited with (-?\d+)", text)
    if failed and not ended and any(sign in text for sign in LOCKED):
        raise DvcLocked(f"{stage}: another DVC process is at work here; run again when it is done\n{text}")
    for line in locked:
        say(line.rstrip())
    if failed:
        reason = f"exited with {ended[-1]}" if ended else "dvc could not run it"
        raise StageFailed(f"{stage}: {reason}\n{text}", int(ended[-1]) if ended else INTERNAL)
