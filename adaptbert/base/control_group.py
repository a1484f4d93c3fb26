"""The control group of this process (Linux): how many cores' worth of time it may use, and how often it was held back.

A container with a CPU quota sees all cores of the machine; only its control group says what it may use of them
(kernel.org: Control Group v2, "CPU"; CFS Bandwidth Control for version 1).
"""

from collections.abc import Iterator
from contextlib import suppress
from math import inf
from pathlib import Path

GROUPS = Path("/proc/self/cgroup")
HIERARCHIES = Path("/sys/fs/cgroup")


def processor_limit() -> float:
    """Cores' worth of time that the group, and those above it, leave to this process; infinite without a limit."""
    return min((limit for folder in _folders() if (limit := _limit(folder)) > 0), default=inf)


def times_throttled() -> int:
    """How often the limits of the group, and of those above it, have held processes back."""
    return sum(_throttled(folder) for folder in _folders())


def _folders() -> Iterator[Path]:
    """Of the group of this process and those above it, the nearest first; inside of a container some do not exist."""
    with suppress(OSError, ValueError):
        for line in GROUPS.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers or "cpu" in controllers.split(","):  # version 2 has no names
                below = Path(path.lstrip("/"))
                yield from (HIERARCHIES / controllers / part for part in (below, *below.parents))


def _limit(folder: Path) -> float:
    """Of one group alone, 0 where it sets none."""
    with suppress(OSError, ValueError, ArithmeticError):  # "max" is no number, and stands for no limit
        newer = folder / "cpu.max"
        if newer.is_file():
            quota, period = newer.read_text(encoding="ascii").split()
        else:
            quota, period = (
                (folder / f"cpu.cfs_{part}_us").read_text(encoding="ascii") for part in ("quota", "period")
            )
        return int(quota) / int(period)
    return 0.0


def _throttled(folder: Path) -> int:
    """By one group alone; the root has no such line."""
    with suppress(OSError, ValueError):
        lines = (folder / "cpu.stat").read_text(encoding="ascii").splitlines()
        return int(dict(line.split() for line in lines).get("nr_throttled", 0))
    return 0
