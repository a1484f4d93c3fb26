"""What DVC itself costs as starts and draws multiply the stages: seconds of `dvc status` and of `dvc repro`, dvc.lock.

The graph of the project (its dvc.yaml with all deps, params and outputs) for the demonstration with more starts and
draws, where a stand-in that takes no time runs in the place of every stage. The processor time of the stand-ins is
subtracted.

    python -m benchmarks.ladder [--sizes 1x1 2x3] [--rounds 3]
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from adaptbert.runtime.params import params_file as params
from benchmarks.machine import keep
from tests.support.ladder_graph import LadderGraph, ladder_graph
from tests.support.project import ROOT

STAND_INS = 20
"""Runs of a stand-in that its processor time is the mean of."""


def recipe(starts: int, draws: int) -> dict[str, Any]:
    """The demonstration with so many starts and draws; it has six arms and two tasks."""
    document: dict[str, Any] = params.read(ROOT / "presets/demo.yaml")
    (start,) = document["ladder"]["starts"].values()
    document["ladder"] |= {"draws": draws, "starts": {f"start_{number}": start for number in range(1, starts + 1)}}
    return document


def measure(folder: Path, starts: int, draws: int, rounds: int) -> dict[str, Any]:
    """One size; medians of the rounds."""
    project = ladder_graph(folder, recipe(starts, draws), with_code=True)
    seconds, processor = timed(lambda: project.repro())
    lock = (project.root / "dvc.lock").read_text(encoding="utf-8")
    stages = lock.count("\n    cmd: ")
    status, again = (
        statistics.median(timed(partial(up_to_date, project, *words))[0] for _ in range(rounds))
        for words in (["status"], ["repro"])
    )
    own = processor - stages * stand_in(project)
    return {
        "stages": stages,
        "lines_of_lock": len(lock.splitlines()),
        "status_seconds": round(status, 2),
        "repro_of_nothing_seconds": round(again, 2),
        "repro_processor_seconds": round(own, 1),
        "processor_seconds_per_stage": round(own / stages, 2),
        "repro_seconds": round(seconds, 1),
    }


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and those of the processor in processes that ended meanwhile."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def up_to_date(project: LadderGraph, *words: str) -> None:
    """Run DVC where there is nothing to do."""
    done = project.run("dvc", *words)
    assert "Data and pipelines are up to date." in done.stdout, done.stdout


def stand_in(project: LadderGraph) -> float:
    """Processor seconds of what runs in the place of a stage."""
    command = [sys.executable, "-S", "stand_in.py"]
    environment = {**os.environ, "DVC_STAGE": "finetune@section-domain-start_1-1"}

    def several() -> None:
        for _ in range(STAND_INS):
            subprocess.run(command, cwd=project.root, env=environment, check=True)

    return timed(several)[1] / STAND_INS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["1x1", "2x3"], help="starts x draws")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--name", default="ladder")
    arguments = parser.parse_args()
    sizes: dict[str, Any] = {}
    for size in arguments.sizes:
        starts, draws = map(int, size.split("x"))
        with tempfile.TemporaryDirectory() as temporary:
            sizes[size] = measure(Path(temporary) / "project", starts, draws, arguments.rounds)
        print(size, sizes[size], flush=True)
    keep(arguments.name, {"rounds": arguments.rounds, "sizes": sizes})


if __name__ == "__main__":
    main()
