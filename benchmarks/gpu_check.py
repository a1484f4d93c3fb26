"""All that a GPU has to show, in one command: what is right, where the time goes, how fast it is beside the peer.

    python -m benchmarks.gpu_check --out DIR              # where there is a CUDA device; some 40 minutes
    python -m benchmarks.gpu_check --out DIR --minutes 9  # as many parts as fit; the same command goes on from there
    python -m benchmarks.gpu_check --out DIR --smoke      # every part, tiny, on a processor

Each part is a process of its own with a time limit, and writes DIR/<part>.json with each figure; a finished part is not
run again, and a part that fails stops no other. DIR/summary.md has the figures beside the goals. The exit code is 1 if
something is not right; what is slow is no failure.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.gpu_parts import FULL, PARTS, RIGHT, SMOKE
from benchmarks.machine import machine

FAILED = "failed"
UNFINISHED = "unfinished"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--minutes", type=float, default=60.0, help="no part begins that may end later")
    parser.add_argument("--rounds", type=int, help="of contenders in turn; fewer where a device is lent for minutes")
    parser.add_argument("--smoke", action="store_true", help="every part tiny, also without a device")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.part:
        scale = SMOKE if arguments.smoke else FULL
        if arguments.rounds:
            scale = replace(scale, budget=replace(scale.budget, rounds=arguments.rounds))
        for values in PARTS[arguments.part].work(scale):
            keep(arguments.out, arguments.part, values | {UNFINISHED: True})
        keep(arguments.out, arguments.part, values)
        return
    options = ["--smoke"] * arguments.smoke
    if arguments.rounds:
        options += ["--rounds", str(arguments.rounds)]
    over = time.monotonic() + 60 * arguments.minutes
    for name in arguments.only:
        if (
            UNFINISHED in (read(arguments.out, name) or {UNFINISHED: True})
            and time.monotonic() + 60 * PARTS[name].minutes <= over
        ):
            run(name, arguments.out, options)
    (arguments.out / "summary.md").write_text(summary(arguments.out), encoding="utf-8")
    print(f"written: {arguments.out / 'summary.md'}")
    sys.exit(int(any(wrong(read(arguments.out, name)) for name in RIGHT)))


def run(name: str, out: Path, options: list[str]) -> None:
    """One part; what it prints is shown, and kept where it fails."""
    command = [sys.executable, "-m", "benchmarks.gpu_check", "--out", str(out), "--part", name, *options]
    began = time.monotonic()
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120 * PARTS[name].minutes
        )
        failed, printed = done.returncode != 0, done.stdout
    except subprocess.TimeoutExpired as error:
        came = (error.output or b"").decode()  # bytes, whatever `text` says
        failed, printed = True, f"{came}\nit took more than {2 * PARTS[name].minutes:g} minutes"
    print(f"{name}: {'failed' if failed else 'done'} after {time.monotonic() - began:.0f} s", flush=True)
    if failed:
        keep(out, name, {**(read(out, name) or {}), FAILED: printed.splitlines()[-20:]})


def keep(out: Path, name: str, values: dict[str, Any]) -> None:
    """Write the file of a part."""
    text = json.dumps({"machine": machine(), **values}, indent=2) + "\n"
    (out / f"{name}.json").write_text(text, encoding="utf-8")


def read(out: Path, name: str) -> dict[str, Any] | None:
    """The file of a part; None where it was not run."""
    path = out / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def wrong(values: dict[str, Any] | None) -> bool:
    """Whether a part failed, or found something that is not right."""
    return values is not None and (FAILED in values or not all(values.get("right", {}).values()))


def summary(out: Path) -> str:
    """The figures of all parts, beside the goals where there are any."""
    lines = ["# GPU check", ""]
    for name, part in PARTS.items():
        values = read(out, name)
        lines += [f"## {name}: {part.title}", ""]
        if values is None:
            lines += ["Not run.", ""]
            continue
        if name == next(iter(PARTS)):
            lines += [", ".join(f"{key} {value}" for key, value in values["machine"].items()), ""]
        if FAILED in values:
            lines += ["**Failed.**", "", "```", *values.pop(FAILED), "```", ""]
        lines += [f"- {key}: {value}" for key, value in values.items() if key not in ("machine", "goals")]
        lines += [f"- goal: {goal}" for goal in part.goals] + [""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
