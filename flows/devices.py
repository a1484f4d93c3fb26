"""CUDA devices of this machine, divided among stages that run side by side: each stage sees only its own.

A device is taken by locking a file in the user's cache folder, so that flows of one user do not share one by mistake,
also of several projects; the lock ends with the process of the flow.
"""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

VISIBLE = "CUDA_VISIBLE_DEVICES"
SECONDS_BETWEEN_TRIES = 1.0


@dataclass(frozen=True)
class Devices:
    """The devices of this machine.

    Attributes:
        ids: as CUDA_VISIBLE_DEVICES names them; none where there is no CUDA.
        slots: stages that may train side by side.
    """

    ids: tuple[str, ...]
    slots: int

    @property
    def share(self) -> int:
        """Devices of each stage."""
        return max(1, len(self.ids) // max(1, self.slots))

    @contextmanager
    def taken(self, say: Callable[[str], None] = print) -> Iterator[dict[str, str]]:
        """The environment of a stage that sees its share, which nobody else gets in this block; waits for it.

        Args:
            say: told once where it has to wait.
        """
        if not self.ids:
            yield {}
            return
        with ExitStack() as locks:
            while len(mine := self._try(locks)) < self.share:
                locks.close()  # whoever keeps a part while it waits for the rest may wait for ever
                say(f"waits for {self.share} free devices of {', '.join(self.ids)}: other flows have them")
                say = _nothing
                time.sleep(SECONDS_BETWEEN_TRIES)
            yield {VISIBLE: ",".join(mine)}

    def _try(self, locks: ExitStack) -> list[str]:
        """Lock as many free devices as make a share; fewer where there are fewer."""
        files = {device: cache_folder() / "devices" / device.replace("/", "_") for device in self.ids}
        return list(islice((device for device, file in files.items() if locked(file, locks)), self.share))


def cuda_ids() -> tuple[str, ...]:
    """The devices that stages would see; counted in another process, because torch takes long to import."""
    command = [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"]
    printed = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    count = int(printed) if printed.isdecimal() else 0
    named = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    return tuple(named or map(str, range(count))) if count else ()


def _nothing(_text: str) -> None:
    """Says no more."""


def cache_folder() -> Path:
    """Of this user, for all projects."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adaptbert"


def locked(path: Path, locks: ExitStack) -> bool:
    """Lock a file for as long as `locks` is open; False if somebody else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    locks.enter_context(file)
    return True
