"""CUDA devices of this machine, divided among stages that run side by side: each stage sees only its own.

A device has slots, because a small model leaves it idle for most of a step (docs/decisions/0049). Whoever wants some
draws a ticket, a file in the user's cache folder, and locks it until it has given them back. So all flows of a user are
served in the order of their tickets, and what a process had that was killed is free again.
"""

import fcntl
import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from adaptbert.core.processes import cores
from adaptbert.flow import process
from adaptbert.runtime.variables import DEVICES, STAGES, value_of

VISIBLE = "CUDA_VISIBLE_DEVICES"
MOST_SLOTS, CORES = 8, 2
"""Slots of a device where nobody says otherwise, so far as each has so many cores: of a stage itself, and of the
processes that make its batches."""
SECONDS_BETWEEN_TRIES = 1.0


@dataclass(frozen=True)
class Device:
    """A CUDA device of this machine.

    Attributes:
        uuid: by which all flows know it.
        name: in CUDA_VISIBLE_DEVICES, where it may have several.
    """

    uuid: str
    name: str = field(compare=False)


class Devices:
    """The devices of this machine, and what each stage takes of them.

    Args:
        memory: device -> bytes that stages can use, 0 if not known; where there is none, nothing is taken.
        needs: stage -> how many devices, and bytes of each; any other has devices to itself.

    Attributes:
        ids: the devices.
        slots: of each: ADAPTBERT_STAGES_PER_DEVICE, else as many as cores can feed.
    """

    def __init__(self, memory: Mapping[Device, int], needs: Mapping[str, tuple[int, int]]) -> None:
        self.ids, self._needs, self._memory = tuple(memory), needs, min(memory.values(), default=0)
        self.slots = int(value_of(STAGES) or max(1, min(MOST_SLOTS, cores() // CORES // max(1, len(memory)))))

    @classmethod
    def seen(cls, say: Callable[[str], None]) -> "Devices":
        """The devices that stages would see; asked in other processes, because torch takes long to import.

        Args:
            say: told where it is not known what stages need.
        """
        if not (memory := cuda_memory()):
            return cls({}, {})
        printed = process.run(sys.executable, "-m", "adaptbert.planning.memory")
        process.check()
        if printed.returncode or not all(memory.values()):
            reason = printed.stderr.strip().rpartition("\n")[2] if printed.returncode else "no device says what is free"
            say(f"stages share a device only if {STAGES} says so, because what they need is not known: {reason}")
        return cls(memory, {} if printed.returncode else json.loads(printed.stdout))

    def share(self, stage: str) -> tuple[int, int]:
        """The devices of a stage, and the slots of each: as many devices as ADAPTBERT_DEVICES says, else as many as can
        share a step; of each as many slots as have the memory that it needs."""
        devices, needed = self._needs.get(stage, (int(value_of(DEVICES) or len(self.ids)), 0))
        many = 1 if value_of(STAGES) else self.slots
        if needed and self._memory:
            many = min(self.slots, math.ceil(needed * self.slots / self._memory))
        return min(devices, len(self.ids)), many

    def parts(self, stages: Iterable[str]) -> dict[str, Fraction]:
        """Stage -> its part of all devices together."""
        whole = self.slots * len(self.ids)
        return {stage: Fraction(math.prod(self.share(stage)), whole) for stage in stages if whole}

    @contextmanager
    def taken(
        self, stage: str, say: Callable[[str], None] = print, is_over: Callable[[], bool] = lambda: False
    ) -> Iterator[dict[str, str]]:
        """The environment of a stage that sees its devices, of which nobody else gets its slots in this block; waits
        for them.

        Args:
            say: called once where it has to wait.
            is_over: ends the wait without a device.

        Raises:
            StageFailed: a signal came meanwhile.
        """
        if not self.ids:
            yield {}
            return
        count, many = self.share(stage)
        what = f"{many} of {self.slots} slots of {count} device{'' if count == 1 else 's'}"
        names = {each.uuid: each.name for each in self.ids}
        waits = f"waits for {what}: other stages have, or wait for, {', '.join(names.values())}"
        with _ticket([*names]) as ticket:
            while not (mine := _served(ticket, [*names], count, Fraction(many, self.slots))) and not is_over():
                if waits:
                    say(waits)
                waits = ""
                process.check()
                time.sleep(SECONDS_BETWEEN_TRIES)
            yield {VISIBLE: ",".join(names[each] for each in mine)}


def cuda_memory() -> dict[Device, int]:
    """Device -> the bytes that are free there, with those of stages that the user's flows run now; 0 if not known."""
    first, *lines = process.run(sys.executable, "-m", "adaptbert.runtime.cuda_memory").stdout.split("\n")
    count, *uuids = first.split() or ["0"]
    named = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    # CUDA leaves out a name that is none, and those behind it.
    names = (named or [*map(str, range(int(count)))])[: int(count)]
    # A part of a device may have the UUID of the whole; it has one name.
    known = [name if name.startswith("MIG-") else uuid for name, uuid in zip(names, uuids or names, strict=False)]
    devices = [*map(Device, known, names)]
    sizes = [tuple(map(int, line.split())) for line in lines if line]
    if len(sizes) < len(devices):
        return dict.fromkeys(devices, 0)
    with _desk():
        parts = _parts()
    sized = zip(devices, sizes, strict=False)
    return {device: min(total, int(free + parts[device.uuid] * total)) for device, (free, total) in sized}


# ---- tickets


def _served(ticket: Path, ids: Sequence[str], count: int, part: Fraction) -> list[str]:
    """The devices of a ticket whose turn it is, noted on it; none where it has to wait.

    One that came before and waits for any of these devices goes first, so that many small stages never keep a large one
    waiting.
    """
    with _desk():
        before = {other: each for other, each in _tickets().items() if other < ticket and not any(each.values())}
        if any(wanted.keys() & {*ids} and not _is_stopped(other) for other, wanted in before.items()):
            return []
        parts = _parts()
        mine = sorted((each for each in ids if parts[each] + part <= 1), key=parts.__getitem__)[:count]
        if len(mine) < count:
            return []
        ticket.write_text(json.dumps(dict.fromkeys(mine, str(part))), encoding="utf-8")
    return sorted(mine, key=ids.index)


@contextmanager
def _ticket(ids: Sequence[str]) -> Iterator[Path]:
    """A ticket for some of these devices, of which it has none yet; it is valid in this block, while this process
    lives."""
    with ExitStack() as held:
        with _desk():
            number = max([int(each.name[:12]) for each in _tickets()], default=0) + 1
            path = _folder() / f"{number:012}.{os.getpid()}.ticket"
            file = held.enter_context(path.open("w", encoding="utf-8"))
            fcntl.flock(file, fcntl.LOCK_EX)
            held.callback(path.unlink, missing_ok=True)
            path.write_text(json.dumps(dict.fromkeys(ids, "0")), encoding="utf-8")
        yield path


def _tickets() -> dict[Path, dict[str, Fraction]]:
    """The tickets of processes that live, in their order -> the part of each device that they have, or 0 of each that
    they wait for; those of others are removed."""
    tickets = {}
    for path in sorted(_folder().glob(f"{'[0-9]' * 12}.*.ticket")):
        # Else it was given back meanwhile, or is nobody's.
        with suppress(FileNotFoundError, IsADirectoryError), path.open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                parts = json.loads(file.read() or "{}")  # nothing stands on one for which the disk was full
                tickets[path] = {device: Fraction(part) for device, part in parts.items()}
            else:
                path.unlink()
    return tickets


def _is_stopped(ticket: Path) -> bool:
    """Whether its process is stopped, as by Ctrl-Z: until it goes on, from the same place, it is in nobody's way."""
    with suppress(psutil.Error):  # it runs in another container
        return bool(psutil.Process(int(ticket.name.split(".")[1])).status() == psutil.STATUS_STOPPED)
    return False


def _parts() -> "Counter[str]":
    """Device -> the part of it that stages have."""
    parts = Counter[str]()
    for ticket in _tickets().values():
        parts.update(ticket)
    return parts


@contextmanager
def _desk() -> Iterator[None]:
    """In this block this process alone reads and writes tickets, which takes a moment; raises what `locked` raises."""
    with ExitStack() as held:
        locked(_folder() / "lock", held, waits=True)
        yield


def _folder() -> Path:
    folder = cache_folder() / "tickets"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def cache_folder() -> Path:
    """Folder of this user, for all projects."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adaptbert"


def locked(path: Path, locks: ExitStack, *, waits: bool = False) -> bool:
    """Lock a file for as long as `locks` is open; False if somebody else has it.

    Args:
        waits: until nobody has it.

    Raises:
        StageFailed: a signal came while it waited for another process, which may be stopped.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=-1 if waits else 0, thread_local=False)  # a generator may end in another thread
    try:
        locks.enter_context(lock.acquire(cancel_check=process.received))
    except Timeout:
        process.check()
        return False
    return True
