"""Tokenising and reading as the number of lines grows: seconds a line must not, nor memory.

Generated lines, the tokenizer trained on some of them. Each step runs in a process of its own, watched with all that it
starts, several times a second. `growth` compares the seconds a line with those of the size before.

Of the peaks of memory, in MB of 10^6 bytes, `resident` is the sum of PSS: what lies in memory, a page that several
processes share counted once; pages of mapped files are among it, though the system may take them back. `anonymous` is
the sum of what it cannot take back: memory of these processes that no file holds.

    python -m benchmarks.scale [--lines 10000 100000 1000000] [--rounds 3]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.machine import keep
from benchmarks.text import table, tokenizer
from benchmarks.text_steps import SCALED

INTERVAL = 0.2
"""Seconds between two looks at the memory."""
PEAKS = ("peak_resident_mb", "peak_anonymous_mb")


def measure(folder: Path, lines: int, rounds: int) -> dict[str, Any]:
    """One size; the medians of the rounds, the highest peaks."""
    table(folder / "text.parquet", lines)
    measured: dict[str, Any] = {"bytes_of_table": (folder / "text.parquet").stat().st_size}
    for step in SCALED:
        runs = [watched(step, folder) for _ in range(rounds)]
        measured[step] = {
            key: round(max(run[key] for run in runs), 1)
            if key in PEAKS
            else round(statistics.median(run[key] for run in runs), 3)
            for key in runs[0]
        }
    measured["bytes_of_tokens"] = sum(path.stat().st_size for path in (folder / "tokenized").iterdir())
    measured["microseconds_per_line"] = round(measured["tokenise"]["seconds"] / lines * 1e6, 2)
    return measured


def watched(step: str, folder: Path) -> dict[str, float]:
    """What a step printed, and its peaks; raises CalledProcessError where it fails."""
    command = [sys.executable, "-m", "benchmarks.text_steps", step, str(folder)]
    looks = [(0.0, 0.0)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            sizes = [(0.0, 0.0), *map(_memory, _family(process.pid))]
            looks.append((sum(pss for pss, _ in sizes), sum(own for _, own in sizes)))
            time.sleep(INTERVAL)
        output = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    printed: dict[str, float] = json.loads(output)
    return printed | dict(zip(PEAKS, map(max, zip(*looks, strict=True)), strict=True))


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where text and tokens lie meanwhile; by default a temporary one")
    parser.add_argument("--name", default="scale")
    arguments = parser.parse_args()
    sizes: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
        folder = Path(temporary)
        tokenizer().save(folder / "tokenizer")
        before = None
        for lines in sorted(arguments.lines):
            measured = measure(folder, lines, arguments.rounds)
            if before is not None:
                measured["growth"] = round(measured["microseconds_per_line"] / before, 3)
            before = measured["microseconds_per_line"]
            sizes[str(lines)] = measured
            print(lines, measured, flush=True)
    keep(arguments.name, {"rounds": arguments.rounds, "lines": sizes})


if __name__ == "__main__":
    main()
