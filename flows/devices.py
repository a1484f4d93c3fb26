"""CUDA devices of this machine, divided among stages that run side by side: each stage sees only its own.

A device is taken by locking a file in the user's cache folder, so that flows of one user do not share one by mistake,
also of several projects; the lock ends with the process of the flow.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from filelock import FileLock, Timeout

from flows import process

VISIBLE = "CUDA_VISIBLE_DEVICES"
DEVICES = "ADAPTBERT_DEVICES"
SECONDS_BETWEEN_TRIES = 1.0


@contextmanager
def taken(ids: Sequence[str], say: Callable[[str], None] = print) -> Iterator[dict[str, str]]:
    """The environment of a stage that sees devices which nobody else gets in this block; waits for them.

    It has as many as ADAPTBERT_DEVICES says, by default all.

    Args:
        ids: those of this machine; none: nothing is taken.
        say: called once where it has to wait.

    Raises:
        StageFailed: a signal came meanwhile.
    """
    if not ids:
        yield {}
        return
    needed = share(ids)
    what = "a free device" if needed == 1 else f"{needed} free devices"
    waits = f"waits for {what}: other stages have {', '.join(ids)}"
    with ExitStack() as locks:
        while True:
            files = (cache_folder() / "devices" / device.replace("/", "_") for device in ids)
            free = (device for device, file in zip(ids, files, strict=True) if locked(file, locks))
            mine = list(islice(free, needed))
            if len(mine) == needed:
                break
            locks.close()  # a stage that keeps a part while it waits for the rest may wait for ever
            if waits:
                say(waits)
            waits = ""
            process.check()
            time.sleep(SECONDS_BETWEEN_TRIES)
        yield {VISIBLE: ",".join(mine)}


def share(ids: Sequence[str]) -> int:
    """How many of these devices a stage has."""
    number = os.environ.get(DEVICES, "")
    is_number = re.fullmatch("[1-9][0-9]{0,3}", number)  # the stage itself refuses what is none
    return min(int(number), len(ids)) if is_number else len(ids)


def cuda_ids() -> tuple[str, ...]:
    """The devices that stages would see; counted in another process, because torch takes long to import."""
    command = [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"]
    printed = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    count = int(printed) if printed.isdecimal() else 0
    named = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    return tuple(named or map(str, range(count))) if count else ()


def cache_folder() -> Path:
    """Folder of this user, for all projects."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adaptbert"


def locked(path: Path, locks: ExitStack) -> bool:
    """Lock a file for as long as `locks` is open; False if somebody else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        locks.enter_context(FileLock(path, timeout=0, thread_local=False))  # a generator may end in another thread
    except Timeout:
        return False
    return True
