"""Tokenising and reading as the number of lines grows: seconds a line must not, nor memory.

Generated lines, the tokenizer trained on some of them. Each step runs in a process of its own, watched with all that it
starts (benchmarks.memory). `growth` compares the seconds a line with those of the size before.

    python -m benchmarks.scale [--lines 10000 100000 1000000] [--rounds 3]
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machine import keep
from benchmarks.memory import watch
from benchmarks.text import table, tokenizer


def measure(folder: Path, lines: int, rounds: int) -> dict[str, Any]:
    """One size; the medians of the rounds, the highest peaks."""
    table(folder / "text.parquet", lines)
    measured: dict[str, Any] = {"bytes_of_table": (folder / "text.parquet").stat().st_size}
    for step in ("tokenise", "read"):
        seen = [watch("benchmarks.scale_steps", [step, str(folder)]) for _ in range(rounds)]
        printed = [json.loads(each.output) for each in seen]
        measured[step] = {
            **{key: round(statistics.median(each[key] for each in printed), 3) for key in printed[0]},
            "peak_resident_mb": round(max(each.resident for each in seen), 1),
            "peak_anonymous_mb": round(max(each.anonymous for each in seen), 1),
        }
    measured["bytes_of_tokens"] = sum(path.stat().st_size for path in (folder / "tokenized").iterdir())
    measured["microseconds_per_line"] = round(measured["tokenise"]["seconds"] / lines * 1e6, 2)
    return measured


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
