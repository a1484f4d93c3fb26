"""CUDA devices of this machine, divided among stages that run side by side: each stage sees only its own.

A device has slots, because a small model leaves it idle for most of a step (docs/decisions/0049). Whoever wants some
draws a ticket, a file in the user's cache folder, and locks it until it has given them back. So all flows of a user are
served in the order of their tickets, and what a process had that was killed is free again.
"""

import fcntl
import json
import math
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from adaptbert.codes import Code
from adaptbert.core.processes import cores
from adaptbert.errors import BadParams
from adaptbert.flow import process

VISIBLE = "CUDA_VISIBLE_DEVICES"
DEVICES, STAGES = "ADAPTBERT_DEVICES", "ADAPTBERT_STAGES_PER_DEVICE"
MOST_SLOTS, CORES = 8, 2
"""Slots of a device where nobody says otherwise, so far as each has so many cores: of a stage itself, and of the
processes that make its batches."""
SECONDS_BETWEEN_TRIES = 1.0


class Share(NamedTuple):
    """A stage's share: so many slots of each of so many devices."""

    devices: int
    slots: int


class Devices:
    """The devices of this machine, and what each stage takes of them.

    Args:
        memory: device, as `CUDA_VISIBLE_DEVICES` names it -> bytes that stages can use, 0 if not known; where there is
            none, nothing is taken.
        needs: stage -> parts of an optimizer step, and bytes of a device; any other has devices to itself.

    Attributes:
        ids: the devices.
        slots: of each.
    """

    def __init__(self, memory: Mapping[str, int], needs: Mapping[str, tuple[int, int]]) -> None:
        self.ids, self.slots = tuple(memory), slots(len(memory))
        self._needs, self._memory = needs, min(memory.values(), default=0)

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

    def share(self, stage: str) -> Share:
        """The share of a stage: as many devices as ADAPTBERT_DEVICES says, by default one for each part of a step;
        of each as many slots as have the memory that it needs."""
        (parts, needed), number = self._needs.get(stage, (len(self.ids), 0)), os.environ.get(DEVICES, "")
        is_number = re.fullmatch("[1-9][0-9]{0,3}", number)  # the stage itself refuses what is none
        devices = min(int(number) if is_number else parts, len(self.ids))
        many = 1 if os.environ.get(STAGES) else self.slots
        if needed and self._memory:
            many = min(self.slots, math.ceil(needed * self.slots / self._memory))
        return Share(devices, many)

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
        waits = f"waits for {what}: other stages have, or wait for, {', '.join(self.ids)}"
        with _ticket(self.ids) as ticket:
            while not (mine := _served(ticket, self.ids, count, Fraction(many, self.slots))) and not is_over():
                if waits:
                    say(waits)
                waits = ""
                process.check()
                time.sleep(SECONDS_BETWEEN_TRIES)
            yield {VISIBLE: ",".join(mine)}


def slots(devices: int) -> int:
    """Slots of each of so many devices: ADAPTBERT_STAGES_PER_DEVICE, else as many as cores can feed."""
    written = os.environ.get(STAGES, "")
    if not written:
        return max(1, min(MOST_SLOTS, cores() // CORES // max(1, devices)))
    if not re.fullmatch("[1-9]|1[0-6]", written):
        problem = f"expected a number of stages, 1 to 16, found {written!r}"
        raise BadParams(Code.MACHINES, STAGES, problem, "write e.g. 4, or 1 for a device to each")
    return int(written)


def cuda_memory() -> dict[str, int]:
    """Device -> the bytes that are free there, with those of stages that the user's flows run now; 0 if not known."""
    count, *lines = process.run(sys.executable, "-m", "adaptbert.runtime.cuda_memory").stdout.split("\n")
    named = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    present = int(count) if count.isdecimal() else 0
    ids = (named or [*map(str, range(present))])[:present]  # CUDA leaves out a name that is none, and those behind it
    sizes = [tuple(map(int, line.split())) for line in lines if line]
    if len(sizes) < len(ids):
        return dict.fromkeys(ids, 0)
    with _desk():
        parts = _parts()
    return {name: min(total, int(free + parts[name] * total)) for name, (free, total) in zip(ids, sizes, strict=False)}


# ---- tickets


def _served(ticket: Path, ids: Sequence[str], count: int, part: Fraction) -> list[str]:
    """The devices of a ticket whose turn it is, noted on it; none where it has to wait.

    One that came before and waits for any of these devices goes first, so that many small stages never keep a large one
    waiting.
    """
    with _desk():
        before = (each for other, each in _tickets().items() if other < ticket and not any(each.values()))
        if any(wanted.keys() & {*ids} for wanted in before):
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
            path = _folder() / f"{max([int(each.name) for each in _tickets()], default=0) + 1:012}"
            file = held.enter_context(path.open("w", encoding="utf-8"))
            fcntl.flock(file, fcntl.LOCK_EX)
            held.callback(path.unlink, missing_ok=True)
            path.write_text(json.dumps(dict.fromkeys(ids, "0")), encoding="utf-8")
        yield path


def _tickets() -> dict[Path, dict[str, Fraction]]:
    """The tickets of processes that live, in their order -> the part of each device that they have, or 0 of each that
    they wait for; those of others are removed."""
    tickets = {}
    for path in sorted(_folder().glob("[0-9]*")):
        with suppress(FileNotFoundError), path.open(encoding="utf-8") as file:  # else it was given back meanwhile
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                parts = json.loads(file.read() or "{}")  # nothing stands on one for which the disk was full
                tickets[path] = {device: Fraction(part) for device, part in parts.items()}
            else:
                path.unlink()
    return tickets


def _parts() -> "Counter[str]":
    """Device -> the part of it that stages have."""
    parts = Counter[str]()
    for ticket in _tickets().values():
        parts.update(ticket)
    return parts


def _desk() -> FileLock:
    """The lock of all tickets: who holds it reads and writes them, for a moment."""
    return FileLock(_folder() / "lock", thread_local=False)


def _folder() -> Path:
    folder = cache_folder() / "tickets"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


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
