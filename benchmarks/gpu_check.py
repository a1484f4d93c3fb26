"""All that a GPU has to show, in fifteen minutes: what is right, where the time goes, how fast it is beside the peer.

    python -m benchmarks.gpu_check --out DIR --minutes 8  # as many parts as fit; the same command goes on from there
    python -m benchmarks.gpu_check --out DIR              # all of them, where there is a CUDA device
    python -m benchmarks.gpu_check --out DIR --smoke      # every part, tiny, on a processor

Each part is a process of its own with a time limit, and writes its figures into DIR/gpu_check.json as soon as it has
them; a finished part is not run again, and one that failed stops no other: it is tried again when all others were.
DIR/summary.md has the speeds beside the goals, DIR/printed.txt what the parts said. The exit code is 1 if something is
not right; what is slow is no failure.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from adaptbert.core.files import read_json
from benchmarks.gpu_parts import FULL, PARTS, RIGHT, SMOKE
from benchmarks.machine import machine
from benchmarks.table import targets

FAILED = "failed"
UNFINISHED = "unfinished"
PATIENCE = 300
"""Seconds of a part of a smoke test, on whatever processor."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--minutes", type=float, default=60.0, help="no part begins that may end later")
    parser.add_argument("--rounds", type=int, help="of contenders in turn; otherwise one")
    parser.add_argument("--smoke", action="store_true", help="every part tiny, also without a device")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.part:
        scale = SMOKE if arguments.smoke else FULL
        if arguments.rounds:
            scale = replace(scale, budget=replace(scale.budget, rounds=arguments.rounds))
        before = read(arguments.out).get(arguments.part, {})  # where it was ended, its figures so far
        values = {name: value for name, value in before.items() if name not in (FAILED, UNFINISHED)}

        def tell(so_far: dict[str, Any]) -> None:
            for name, value in so_far.items():
                values[name] = {**values.get(name, {}), **value} if isinstance(value, dict) else value
            keep(arguments.out, arguments.part, values | {UNFINISHED: True})

        PARTS[arguments.part][0](scale, tell)
        keep(arguments.out, arguments.part, values)
        return
    if not (arguments.smoke or torch.cuda.is_available()):
        parser.error("there is no CUDA device; --smoke runs every part, tiny, on a processor")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and no part goes on alone
    options = ["--smoke"] * arguments.smoke
    if arguments.rounds:
        options += ["--rounds", str(arguments.rounds)]
    over = time.monotonic() + 60 * arguments.minutes
    before = read(arguments.out)
    for name in sorted(arguments.only, key=lambda name: FAILED in before.get(name, {})):
        _, seconds = PARTS[name]
        if UNFINISHED in before.get(name, {UNFINISHED: True}) and time.monotonic() + seconds <= over:
            limit = PATIENCE if arguments.smoke else min(2 * seconds, over - time.monotonic())
            run(name, arguments.out, options, limit)
            write_summary(arguments.out)
    write_summary(arguments.out)
    print(f"written: {arguments.out / 'summary.md'}")
    sys.exit(int(any(wrong(read(arguments.out).get(name, {})) for name in RIGHT)))


def run(name: str, out: Path, options: list[str], limit: float = PATIENCE) -> None:
    """One part, in so many seconds at most; what it prints last is kept where it fails."""
    command = [sys.executable, "-m", "benchmarks.gpu_check", "--out", str(out), "--part", name, *options]
    began = time.monotonic()
    # A group of its own, so that no process that it started is left on the device.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            printed, _ = process.communicate(timeout=limit)
            failed = process.returncode != 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed, failed = f"{process.communicate()[0]}\nit took more than {limit:.0f} seconds", True
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    with (out / "printed.txt").open("a", encoding="utf-8") as file:
        print(f"== {name}\n{printed}", file=file)
    print(f"{name}: {'failed' if failed else 'done'} after {time.monotonic() - began:.0f} s", flush=True)
    if failed:
        so_far = read(out).get(name, {}) | {UNFINISHED: True}
        keep(out, name, so_far | {FAILED: printed.splitlines()[-20:]})


def keep(out: Path, name: str, values: dict[str, Any]) -> None:
    """Write the figures of a part; a part that is ended while it writes leaves those of before."""
    text = json.dumps({"machine": machine(), **read(out), name: values}, indent=2) + "\n"
    new = out / "gpu_check.part"
    new.write_text(text, encoding="utf-8")
    new.replace(out / "gpu_check.json")


def read(out: Path) -> dict[str, Any]:
    """The figures of all parts so far."""
    path = out / "gpu_check.json"
    return read_json(path) if path.is_file() else {}


def wrong(values: dict[str, Any]) -> bool:
    """Whether a part failed, or found something that is not right."""
    return FAILED in values or not all(values.get("right", {}).values())


def write_summary(out: Path) -> None:
    """The table of goals, then what is right and what failed; all figures are in the file of results."""
    results = read(out)
    lines = ["# GPU check", "", targets(results), ""]
    for name in PARTS:
        values = results.get(name, {})
        state = "Done." if name in results else "Not run."
        lines += [f"## {name}", "", "**Failed.**" if FAILED in values else state, ""]
        lines += [f"- {what}: {is_right}" for what, is_right in values.get("right", {}).items()]
        lines += [f"      {line}" for line in values.get(FAILED, [])] + [""]
    (out / "summary.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
