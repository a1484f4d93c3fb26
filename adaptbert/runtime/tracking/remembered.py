"""State for the next stages about a store that failed: when to try it again, and which runs are still open.

In `.work/mlflow/<store>/` of the project:

    down           the store failed not long ago; stages that begin now do not wait for it again
    open/<run id>  a run that has not ended, locked by the process that logs to it
    *.lock         held by a process that creates something for the others

A lock ends with its process, or when tracking stops. So a file without a lock is a run whose process will not end it;
the next stage that reaches the store does.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TextIO

PAUSE_SECONDS = 300.0
GIVEN_UP = "given up"


@dataclass(frozen=True)
class Leftover:
    """An open run without a process that will end it.

    Attributes:
        given_up: when tracking stopped, in seconds since 1970; None: its process was killed.
    """

    run_id: str
    given_up: float | None


class Remembered:
    """The files of one store; this process locks those of its open runs.

    The locks are POSIX's: a forked child does not inherit them.

    Args:
        root: the project's folder.
        uri: of the store, without credentials.
    """

    def __init__(self, root: Path, uri: str) -> None:
        self._folder = root / ".work" / "mlflow" / sha256(uri.encode()).hexdigest()[:8]
        self._open: dict[str, TextIO] = {}
        self._given_up = False

    @property
    def down(self) -> Path:
        """Exists while stages do not try the store; a user may remove it."""
        return self._folder / "down"

    def paused_until(self) -> float | None:
        """Seconds since 1970; None: the store can be tried now."""
        with suppress(OSError):
            failed = self.down.stat().st_mtime
            if failed <= time.time() < failed + PAUSE_SECONDS:  # a time in the future is from another clock
                return failed + PAUSE_SECONDS
        return None

    def failed(self, is_down: bool) -> None:
        """Tracking of this process has stopped.

        Args:
            is_down: whether the store failed, so that other stages would fail as well.
        """
        self._given_up = True
        with suppress(OSError):
            while self._open:
                _, file = self._open.popitem()
                with file:
                    file.write(GIVEN_UP)
            if is_down:
                self._folder.mkdir(parents=True, exist_ok=True)
                self.down.touch()

    def answered(self) -> None:
        """The store can be reached."""
        self.down.unlink(missing_ok=True)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """A lock among the processes of this project."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / f"{name}.lock").open("w") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            yield

    def opened(self, run_id: str) -> None:
        """Note that a run is open."""
        path = self._folder / "open" / run_id
        path.parent.mkdir(parents=True, exist_ok=True)
        if self._given_up:  # the store has created it late
            path.write_text(GIVEN_UP, encoding="utf-8")
            return
        hidden = path.with_name(f".{run_id}.{os.getpid()}")  # under its own name it would be seen before it is locked
        file = hidden.open("w", encoding="utf-8")
        fcntl.lockf(file, fcntl.LOCK_EX)
        hidden.replace(path)
        self._open[run_id] = file

    def closed(self, run_id: str) -> None:
        """Note that a run has ended."""
        file = self._open.pop(run_id, None)
        if file is not None:
            (self._folder / "open" / run_id).unlink(missing_ok=True)
            file.close()

    def leftovers(self) -> Iterator[Leftover]:
        """Open runs without a process, each locked while the caller ends it; then its file is removed."""
        for path in sorted((self._folder / "open").glob("[!.]*")):
            with suppress(FileNotFoundError, BlockingIOError, PermissionError), path.open("r+") as file:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                when = path.stat().st_mtime  # fails if another process has ended the run meanwhile
                yield Leftover(path.name, when if file.read() == GIVEN_UP else None)
                path.unlink(missing_ok=True)
