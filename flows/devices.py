"""CUDA devices of this machine, divided among stages that run side by side: each stage sees only its own.

A device is taken by locking a file in the user's cache folder, so that flows of one user do not share one by mistake,
also of several projects; the lock ends with the process of the flow.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from filelock import FileLock, Timeout
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.settings import PREFECT_API_URL

GPU = "gpu"
"""The limit of Prefect's server, and the key in `meta:` of a stage in dvc.yaml."""
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

    @classmethod
    def here(cls, jobs: int) -> "Devices":
        """For as many stages side by side as the limit `gpu` has slots.

        One slot unless somebody set more: `prefect gcl update gpu --limit 4`. A missing limit would not limit anything.
        Without a CUDA device there are `jobs` slots: the stages share the cores.
        """
        ids = cuda_ids()
        with get_client(sync_client=True) as client:
            with suppress(ObjectNotFound):
                return cls(ids, client.read_global_concurrency_limit_by_name(GPU).limit)
            slots = 1 if ids else jobs
            if has_server():
                with suppress(ObjectAlreadyExists):  # another flow was quicker
                    client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=GPU, limit=slots))
        return cls(ids, slots)

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
        files = {device: cache_folder() / "devices" / device.replace("/", "_") for device in self.ids}
        waits = f"waits for {self.share} free devices of {', '.join(self.ids)}: other flows have them"
        with ExitStack() as locks:
            while True:
                free = (device for device, file in files.items() if locked(file, locks))
                mine = list(islice(free, self.share))
                if len(mine) == self.share:
                    break
                locks.close()  # whoever keeps a part while it waits for the rest may wait for ever
                if waits:
                    say(waits)
                waits = ""
                time.sleep(SECONDS_BETWEEN_TRIES)
            yield {VISIBLE: ",".join(mine)}


def has_server() -> bool:
    """Whether a server outlives this flow.

    The temporary one that a flow brings ends with it, on Ctrl-C before the flow has given its slots back: they would
    stay taken in its database, and the next flow would wait for ever.
    """
    return PREFECT_API_URL.value() is not None


def cuda_ids() -> tuple[str, ...]:
    """The devices that stages would see; counted in another process, because torch takes long to import."""
    command = [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"]
    printed = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    count = int(printed) if printed.isdecimal() else 0
    named = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    return tuple(named or map(str, range(count))) if count else ()


def cache_folder() -> Path:
    """Of this user, for all projects."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adaptbert"


def locked(path: Path, locks: ExitStack) -> bool:
    """Lock a file for as long as `locks` is open; False if somebody else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        locks.enter_context(FileLock(path, timeout=0, thread_local=False))  # a generator may end in another thread
    except Timeout:
        return False
    return True
