"""Contenders in turn, round after round, so that whatever else the machine does meets all of them; ratios, not seconds.

A contender takes the number of a round and returns a `Speed`.
"""

import argparse
import gc
import logging
import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any
from unittest.mock import patch

import torch

from adaptbert.model.device import BF16, FLOAT32, chosen
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.variables import GRAPHS
from adaptbert.training.arguments import Measure, TrainingArguments
from adaptbert.training.graphs import ReplayedStep
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from benchmarks.machine import ISA, forget_most, keep, most_bytes, wait
from benchmarks.workload import OPTIM, SETTINGS, Documents, Setting

OURS, OTHER_PRECISION, OURS_GRAPHS = "ours", "ours, other precision", "ours, CUDA graphs"
EAGER, STATIC, GRAPH = "eager", "eager, static shapes", "graphs"
"""Modes of our runs: kernel by kernel, the same on batches of few shapes, and those as CUDA graphs."""

Results = dict[str, Any]
Tell = Callable[[Results], object]
"""Gets results so far."""


def ignore(results: Results) -> None:
    """A `Tell` of no one."""


def of_ours() -> dict[str, tuple[str, str]]:
    """Precision and mode of our contenders: what `auto` chooses on this machine; on a device also as CUDA graphs, on a
    processor also the other precision."""
    best = chosen("auto")
    if torch.cuda.is_available():
        return {OURS: (best, EAGER), OURS_GRAPHS: (best, GRAPH)}
    return {OURS: (best, EAGER), OTHER_PRECISION: (FLOAT32 if best == BF16 else BF16, EAGER)}


@dataclass(frozen=True)
class Budget:
    """How long is measured.

    Attributes:
        warm: steps of a run that are not counted.
        steps: steps of a run that are.
        ours: so many times as many of them in our runs, whose steps are short; not in the other precision, which can be
            twenty times as slow.
        apart: each contender in a process of its own: what one asks of the allocator does not serve another.
    """

    rounds: int
    warm: int
    steps: int
    ours: int
    apart: bool = True

    def stopwatch(self, precision: str) -> "Stopwatch":
        """Name of a run of ours in this precision."""
        return Stopwatch(self, self.ours if precision == chosen("auto") else 1)


BUDGETS = {"cpu": Budget(3, 2, 5, 4), "encoders": Budget(3, 2, 5, 2)}


@dataclass(frozen=True)
class Speed:
    """Speed of the steps that count; tokens without padding, seconds by the clock and of all cores, the most bytes at
    once in the whole run."""

    examples: int
    tokens: int
    seconds: float
    cpu_seconds: float
    memory: int


class Stopwatch:
    """Runs from the end of the warm steps to the end of the last."""

    def __init__(self, budget: Budget, more: int = 1) -> None:
        self.first, self.last = budget.warm, budget.warm + more * budget.steps
        self._moments: list[tuple[float, float]] = []
        gc.collect()
        forget_most()

    def look(self, step: int) -> Mapping[str, float]:
        """Call it after every step, or after `first` and `last`; a `training.Measure` that measures nothing."""
        if step in (self.first, self.last):
            wait()
            usage = resource.getrusage(resource.RUSAGE_SELF)
            self._moments.append((time.perf_counter(), usage.ru_utime + usage.ru_stime))
        return {}

    def speed(self, examples: int, tokens: int) -> Speed:
        """Speed of so many examples and tokens in between."""
        (began, cpu_began), (ended, cpu_ended) = self._moments
        return Speed(examples, tokens, ended - began, cpu_ended - cpu_began, most_bytes())


@cache
def _process(contender: str) -> ProcessPoolExecutor:
    """A process that lives as long as the benchmark."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), logging.disable, (logging.WARNING,))


def compared(
    contenders: Mapping[str, Callable[[int], Speed]], budget: Budget, units: Sequence[str], tell: Tell = ignore
) -> Results:
    """Median speeds, and the ratios of ours to each peer within a round: median, lowest, highest.

    A peer that fails is out, and said to have failed: what others take for fast may not run on every machine.

    Args:
        contenders: they pickle, if they are to run apart.
        units: fields of `Speed` that count the work, `examples` or `tokens`.
        tell: called with the results so far after every run.
    """
    speeds: dict[str, list[Speed]] = {}
    failed: dict[str, str] = {}
    for name, work in contenders.items() if budget.apart else ():
        _process(name).submit(callable, work)  # all import at once, before anything is measured
    for number in range(budget.rounds):
        for name in [name for name in contenders if name not in failed]:
            try:
                work = contenders[name]
                speed = _process(name).submit(work, number).result() if budget.apart else work(number)
            except Exception as error:
                if name == OURS:
                    raise
                failed[name] = f"{type(error).__name__}: {error}"[:500]
                print(f"{name} failed: {failed[name]}", flush=True)
                continue
            speeds.setdefault(name, []).append(speed)
            rate = speed.examples / speed.seconds
            print(f"round {number + 1} of {budget.rounds}: {name} {rate:,.0f} examples/s", flush=True)
            tell(_results(speeds, failed, units))
    return _results(speeds, failed, units)


def _results(speeds: Mapping[str, list[Speed]], failed: Mapping[str, str], units: Sequence[str]) -> Results:
    results: Results = {"precision": chosen("auto"), **({"failed": dict(failed)} if failed else {})}
    for unit in units:
        rates = {
            name: {
                "wall": [getattr(speed, unit) / speed.seconds for speed in runs],
                "cpu": [getattr(speed, unit) / speed.cpu_seconds for speed in runs],
            }
            for name, runs in speeds.items()
        }
        results[f"{unit}_per_second"] = {name: round(statistics.median(rate["wall"])) for name, rate in rates.items()}
        results[f"ratio_{unit}"] = {
            peer: {clock: ratios_of(rates[OURS][clock], rates[peer][clock]) for clock in ("wall", "cpu")}
            for peer in rates
            if peer != OURS
        }
    results["gib"] = {name: round(max(speed.memory for speed in runs) / 2**30, 2) for name, runs in speeds.items()}
    return results


def ratios_of(ours: list[float], theirs: list[float]) -> dict[str, float]:
    """Ratio of the first to the second, round by round, in the rounds that both have run."""
    return spread([mine / other for mine, other in zip(ours, theirs, strict=False)])


def spread(ratios: list[float]) -> dict[str, float]:
    values = {"median": statistics.median(ratios), "lowest": min(ratios), "highest": max(ratios)}
    return {name: round(value, 2) for name, value in values.items()}


Benchmark = Callable[[Setting, Budget], Results]
Batches = Callable[[int], Any]
Made = tuple[Any, Batches, str]
"""What is trained: the module, its batches, the name of its loss."""
Make = Callable[[Setting, Documents, int, int, bool], Made]
"""Arguments of a benchmark: setting, documents, steps, seed; whether batches have few shapes, for CUDA graphs."""


def train(
    make: Make,
    setting: Setting,
    documents: Documents,
    steps: int,
    seed: int,
    measure_at: dict[int, Measure],
    around: Callable[[Batches], Batches] = lambda batches: batches,
    precision: str = "auto",
    mode: str = EAGER,
    savepoints: Savepoints | None = None,
) -> tuple[Any, list[dict[str, float]]]:
    """`fit`, as every stage calls it; the module and the curve. `around` may wrap what makes the batches."""
    torch.manual_seed(seed)
    module, batches, loss = make(setting, documents, steps, seed, mode != EAGER and torch.cuda.is_available())
    plan = TrainingArguments(steps, 1, OPTIM.clip_norm, chosen(precision), seed, loss)
    recorded = ReplayedStep._record if mode == GRAPH else _not_recorded
    with (
        patch.dict(os.environ, {GRAPHS: str(mode != EAGER).lower()}),
        patch.object(ReplayedStep, "_record", recorded),
    ):
        return module, fit(module, around(batches), plan, Run(), measure_at, savepoints).curve


def _not_recorded(*_: Any) -> None:
    """Leaves all steps eager, as where a device cannot record them: the rate is a number of the device all the same."""
    raise RuntimeError("not asked for")


def ours(
    make: Make, setting: Setting, documents: Documents, budget: Budget, precision: str, mode: str, seed: int
) -> Speed:
    """Our run of a round."""
    stopwatch = budget.stopwatch(precision)
    points: dict[int, Measure] = dict.fromkeys((stopwatch.first, stopwatch.last), stopwatch.look)
    _, (first, last) = train(make, setting, documents, stopwatch.last, seed, points, precision=precision, mode=mode)
    examples = (stopwatch.last - stopwatch.first) * setting.documents
    return stopwatch.speed(examples, int(last["tokens"] - first["tokens"]))


STAND_IN = f"""A processor without instructions for bfloat16, or with shorter vectors, is stood in for by
{ISA}=AVX512_CORE, or by {ISA}=AVX2 ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2;
the results get a file of their own."""


def command(
    name: str,
    description: str | None,
    default: Mapping[str, Sequence[str]],
    measure: Benchmark,
    profile: Benchmark,
) -> None:
    """The command line of a benchmark of speed.

    Args:
        default: names of the settings, by set.
        measure: of a setting.
        profile: where the time of a step goes; with --profile.
    """
    parser = argparse.ArgumentParser(
        description=description, epilog=STAND_IN, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=default, default="cpu", help="sizes and length of a run")
    parser.add_argument("--settings", nargs="+", metavar="SETTING", help="some of the set; otherwise its usual ones")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--steps", type=int, help="of a peer's run that count")
    parser.add_argument("--profile", action="store_true", help="where our time goes, instead of the comparison")
    arguments = parser.parse_args()
    settings, budget = SETTINGS[arguments.set], BUDGETS[arguments.set]
    budget = replace(budget, rounds=arguments.rounds or budget.rounds, steps=arguments.steps or budget.steps)
    chosen = arguments.settings or default[arguments.set]
    if unknown := sorted(set(chosen) - set(settings)):
        parser.error(f"unknown {', '.join(unknown)}; there are {', '.join(settings)}")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    group, isa = "" if arguments.set == "cpu" else arguments.set, os.environ.get(ISA, "").lower()
    work, file = measure, "-".join(part for part in (name, group, isa) if part)
    if arguments.profile:
        work, file = profile, f"{file}-profile"
    table = {}
    for setting in chosen:
        table[setting] = work(settings[setting], budget)
        print(setting, table[setting], flush=True)
    keep(file, {"set": arguments.set, **asdict(budget), "settings": table})
