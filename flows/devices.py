"""CUDA devices of this machine, divided among stages that run side by side: each stage sees only its own.

A device is taken by locking a file of the machine, so that flows of one user do not share one by mistake; the lock ends
with the process of the flow.
"""

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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
        return max(1, len(self.ids) // self.slots)

    @contextmanager
    def taken(self) -> Iterator[dict[str, str]]:
        """The environment of a stage that sees its share, which nobody else gets in this block; waits for it."""
        if not self.ids:
            yield {}
            return
        with ExitStack() as locks:
            mine: list[str] = []
            while len(mine) < self.share:
                free = (device for device in self.ids if device not in mine and _locked(device, locks))
                if (device := next(free, None)) is None:
                    time.sleep(SECONDS_BETWEEN_TRIES)
                else:
                    mine.append(device)
            yield {VISIBLE: ",".join(mine)}


def cuda_ids() -> tuple[str, ...]:
    """The devices that stages would see; counted in another process, because torch takes long to import."""
    command = [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"]
    printed = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    count = int(printed) if printed.isdecimal() else 0
    named = [name for name in os.environ.get(VISIBLE, "").split(",") if name]
    return tuple(named or map(str, range(count))) if count else ()


def _locked(device: str, locks: ExitStack) -> bool:
    folder = Path(tempfile.gettempdir()) / f"adaptbert-devices-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = (folder / device.replace("/", "_")).open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    locks.enter_context(file)
    return True
