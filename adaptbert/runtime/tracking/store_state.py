"""What stages leave for the next ones in `.work/mlflow/<store>/`: a store that failed, and runs that are open."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from filelock import FileLock

from adaptbert.core.files import make_folder
from adaptbert.core.processes import has_ended

PAUSE_SECONDS = 300.0


class StoreState:
    """The files of one store.

    Args:
        root: the project's folder.
        uri: of the store, without credentials.

    Attributes:
        down: exists while stages do not try the store; a user may remove it.
    """

    def __init__(self, root: Path, uri: str) -> None:
        self._folder = root / ".work" / "mlflow" / sha256(uri.encode()).hexdigest()[:8]
        self.down = self._folder / "down"

    def paused_until(self) -> float | None:
        """Seconds since 1970; None: the store can be tried now."""
        with suppress(OSError):
            failed = self.down.stat().st_mtime
            if failed <= time.time() < failed + PAUSE_SECONDS:  # a time in the future is from another clock
                return failed + PAUSE_SECONDS
        return None

    def failed(self) -> None:
        """The store failed: stages that begin now do not wait for it again."""
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            self.down.touch()

    def locked(self, name: str) -> FileLock:
        """A lock among the processes of this project, for what one of them makes for all."""
        make_folder(self._folder)
        return FileLock(self._folder / f"{name}.lock")

    def opened(self, run_id: str) -> None:
        """This process has opened a run."""
        self._of_run(run_id).write_text(str(os.getpid()), encoding="ascii")

    def closed(self, run_id: str) -> None:
        """The run has ended."""
        self._of_run(run_id).unlink(missing_ok=True)

    def left_open(self) -> Iterator[str]:
        """Runs that processes opened which have ended since."""
        for path in sorted(self._folder.glob("*.run")):
            with suppress(OSError, ValueError):  # another process has ended the run meanwhile, or it is being written
                if has_ended(int(path.read_text(encoding="ascii")), path.stat().st_mtime):
                    yield path.stem

    def _of_run(self, run_id: str) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder / f"{run_id}.run"
