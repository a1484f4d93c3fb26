"""Training on a machine with other work: documents a second by how long threads spin before they sleep; rounds in turn.

A step has hundreds of parallel loops, and after each the threads wait for the last of them. GNU OpenMP lets them spin
for about a millisecond: cheap where each thread has a core, and ruinous where another process is on one of the cores,
because the spinning thread holds the core that the late one needs.

    python -m benchmarks.busy
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from adaptbert.runtime.libraries import SPINS
from benchmarks import masked_lm
from benchmarks.machine import keep
from benchmarks.rounds import Budget, Stopwatch
from benchmarks.workload import SETTINGS, Documents

WAYS: dict[str, dict[str, str]] = {
    "GNU OpenMP's default": {},
    "at once to sleep": {"OMP_WAIT_POLICY": "PASSIVE"},
    "1,000 spins": {"GOMP_SPINCOUNT": "1000"},
    "4,000 spins (ours)": {"GOMP_SPINCOUNT": SPINS},
    "one thread": {"OMP_NUM_THREADS": "1"},
}
SECONDS = 30.0
"""Longest time of a run: the slowest is cut off."""


def train(name: str, steps: int) -> None:
    """Train in this process; print the documents that count, and their seconds."""
    setting, began = SETTINGS["cpu"][name], [0.0]
    budget = Budget(1, 3, steps, 1)
    stopwatch, tokens = Stopwatch(budget), [0.0, 0.0]
    documents = Documents(setting, (budget.warm + steps) * setting.documents)

    def look(step: int) -> dict[str, float]:
        stopwatch.look(step)
        if step == budget.warm:
            began[0] = time.perf_counter()
        if step > budget.warm and time.perf_counter() - began[0] > SECONDS:
            tokens[:] = [(step - budget.warm) * setting.documents, time.perf_counter() - began[0]]
            print(json.dumps(tokens))
            sys.exit()
        return {}

    masked_lm.train(setting, documents, stopwatch.last, 0, dict.fromkeys(range(1, stopwatch.last + 1), look))
    print(json.dumps([steps * setting.documents, time.perf_counter() - began[0]]))


BURN = "while True: pass"


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many other processes, each of which wants a core.

    Each has a session of its own, as the work of another user has: Linux shares the processor among sessions first.
    """
    burners = [subprocess.Popen([sys.executable, "-c", BURN], start_new_session=True) for _ in range(processes)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def documents_per_second(way: dict[str, str], setting: str, steps: int) -> float:
    """Of a training process with these variables."""
    command = [sys.executable, "-m", "benchmarks.busy", "--train", "--setting", setting, "--steps", str(steps)]
    plain = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    env = {**plain, "OMP_NUM_THREADS": str(torch.get_num_threads()), **way}
    printed = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    documents, seconds = json.loads(printed.stdout.splitlines()[-1])
    return float(documents) / float(seconds)


def measure(setting: str, rounds: int, steps: int) -> dict[str, Any]:
    """Median documents a second, alone and beside one process, and the lowest and highest."""
    speeds: dict[str, dict[str, list[float]]] = {name: {"alone": [], "beside one process": []} for name in WAYS}
    for _ in range(rounds):
        for name, way in WAYS.items():
            for count, place in enumerate(speeds[name]):
                with busy(count):
                    speeds[name][place].append(documents_per_second(way, setting, steps))
    return {
        name: {
            place: {
                "median": round(statistics.median(each), 1),
                "lowest": round(min(each), 1),
                "highest": round(max(each), 1),
            }
            for place, each in places.items()
        }
        for name, places in speeds.items()
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setting", choices=SETTINGS["cpu"], default="mini-short-30k", metavar="SETTING")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        train(arguments.setting, arguments.steps)
    else:
        ways = measure(arguments.setting, arguments.rounds, arguments.steps)
        keep("busy", {"setting": arguments.setting, "rounds": arguments.rounds, "ways": ways})
