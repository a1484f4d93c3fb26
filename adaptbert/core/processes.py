"""Processes: the cores and the output of this one, whether another one has ended, and whether the parent has."""

import io
import math
import os
import sys
from contextlib import suppress
from pathlib import Path

GROUP = Path("/sys/fs/cgroup")
QUOTAS = (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"))
"""Quota and period of the control group of a container, as it sees them itself: of version 2, of version 1."""


def cores() -> int:
    """CPU cores that this process may use: of its affinity, and of the quota of its container, a part counted whole."""
    there = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return math.ceil(min(there, _quota()))


def _quota() -> float:
    """Cores' worth of time that a container may use; it sees all cores of the machine."""
    for files in QUOTAS:
        with suppress(OSError, ValueError):  # not there; "max" is no number, and stands for no quota
            quota, period = (int(part) for file in files for part in (GROUP / file).read_text("ascii").split())
            if quota > 0 and period > 0:
                return quota / period
    return math.inf


def escape_unprintable() -> None:
    """Sets stdout to print escapes for characters that its encoding lacks, as stderr does, instead of an error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def has_ended(pid: int, moment: float) -> bool:
    """Whether the process with this id has ended. The system reuses ids, after a restart the same ones.

    Args:
        moment: a time when it was alive, in seconds since the epoch.
    """
    import psutil

    clocks = 1.0  # seconds that the times of processes and of files may be apart
    try:
        process = psutil.Process(pid)
        return bool(process.status() == psutil.STATUS_ZOMBIE or process.create_time() > moment + clocks)
    except psutil.NoSuchProcess:
        return True


def is_orphan() -> bool:
    """Whether the process that started this one has ended.

    A process is born into the group of its parent; the process that adopts an orphan (init, mostly) is of another.
    """
    try:
        return os.getpgid(os.getppid()) != os.getpgrp()
    except ProcessLookupError:
        return True
