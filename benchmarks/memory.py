"""Peak memory of a command with all processes that it starts, looked at several times a second.

`resident` is the sum of PSS: what lies in memory, a page that several processes share counted once; pages of mapped
files are among it, though the system may take them back. `anonymous` is the sum of what it cannot take back: memory of
these processes that no file holds. Both in MB of 10^6 bytes.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

INTERVAL = 0.2  # seconds


@dataclass(frozen=True)
class Watched:
    """What a command printed, and its peaks."""

    output: str
    resident: float
    anonymous: float


def watch(module: str, arguments: Sequence[str]) -> Watched:
    """Run `python -m module`; raises CalledProcessError where it fails."""
    command = [sys.executable, "-m", module, *arguments]
    resident = anonymous = 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            sizes = [_memory(each) for each in _family(process.pid)]
            resident = max(resident, sum(pss for pss, _ in sizes))
            anonymous = max(anonymous, sum(own for _, own in sizes))
            time.sleep(INTERVAL)
        output = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Watched(output, resident, anonymous)


def _family(number: int) -> list[int]:
    with suppress(psutil.NoSuchProcess):
        return [number, *(child.pid for child in psutil.Process(number).children(recursive=True))]
    return []


def _memory(number: int) -> tuple[float, float]:
    """PSS and anonymous memory of a process; nothing where it has just ended."""
    with suppress(OSError):
        lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
        kilobytes = {line.split()[0]: int(line.split()[1]) for line in lines[1:]}
        return kilobytes["Pss:"] * 1024 / 1e6, kilobytes["Anonymous:"] * 1024 / 1e6
    return 0.0, 0.0
