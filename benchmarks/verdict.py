"""How often verdicts err: simulated studies of which the truth is known, judged by what `compare` judges with.

For each number of draws and seeds and each spread, with two tasks: how often any gain or loss of any question is wrong,
whatever is true of the others; whether intervals cover the truth; how often a true difference of the size that the page
names is shown, and how often the first question shows it; how often arms that differ are called equivalent. Beside it
the rule with a part left out, and the one before: Holm's method over two questions of each task.

    python -m benchmarks.verdict [--studies 2000]
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from adaptbert.config.schema.comparison import ORDER
from adaptbert.statistics import intervals
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.power import Power
from adaptbert.statistics.spread import MeanSquares, Variance
from adaptbert.statistics.study import Study
from adaptbert.statistics.verdicts import adjusted_p, judge
from benchmarks.machine import keep
from benchmarks.simulated_studies import ONCE, QUESTIONS, Simulated, Simulator, World

CONFIDENCE = 0.95
WORTH = 0.01
TASKS = 2
DRAWS, SEEDS = (2, 3, 5), (3, 5)
SPREADS = tuple(product((0.0, 0.5, 1.0), (0.0, 0.7, 1.2)))
"""Standard deviations between draws, and of a difference due to the test rows, in points."""
LARGE, SMALL = 0.1, 0.02
"""True differences of scores: one that every study shows, and one that some do."""
TRUTHS: Mapping[str, Mapping[str, float]] = {
    "all equal": {},
    "only more training": {"general_long": LARGE, "domain": LARGE, "domain_task": LARGE},
    "only domain text": {"domain": LARGE, "domain_task": LARGE},
    "only task text": {"domain_task": LARGE},
    "a small gain of the domain text": {"domain": SMALL, "domain_task": SMALL},
    "steps that cancel": {"domain": SMALL},
}
"""What is true of all tasks -> arm -> how much it is better than the others."""
Answers = Mapping[str, Difference]
"""Question -> the difference of its arms."""


@dataclass(frozen=True)
class Rule:
    """How the questions of a study are judged.

    Attributes:
        differences: of one task.
        adjusted: p-values of the questions of each task -> adjusted for all.
        asked: these questions.
    """

    differences: Callable[[Simulated], Answers]
    adjusted: Callable[[Sequence[Sequence[float]]], Sequence[Sequence[float]]] = adjusted_p
    asked: Sequence[str] = ORDER


def of_today(simulated: Simulated) -> Answers:
    return _of(simulated.study(CONFIDENCE))


def without_rows(simulated: Simulated) -> Answers:
    return _of(replace(simulated, resampled=None).study(CONFIDENCE))


def draws_as_seeds(simulated: Simulated) -> Answers:
    """Each draw and seed is a value of its own; arms that are made once are repeated for every draw."""
    most = max(len(runs) for runs in simulated.runs.values())
    flat = {}
    for arm, runs in simulated.runs.items():
        draws = list(runs.values()) * (most if arm in ONCE else 1)
        flat[arm] = {0: {(100 * draw + seed): score for draw, own in enumerate(draws) for seed, score in own.items()}}
    return _of(replace(simulated, runs=flat).study(CONFIDENCE))


def _of(study: Study) -> Answers:
    differences = {name: study.difference(arm, other) for name, (arm, other) in QUESTIONS.items()}
    return {name: each for name, each in differences.items() if each is not None}


def holm(tasks: Sequence[Sequence[float]]) -> Sequence[Sequence[float]]:
    """Holm's adjustment over all questions of all tasks, none of which comes first."""
    adjusted = iter(adjusted_p([[p] for own in tasks for p in own]))
    return [[next(adjusted)[0] for _ in own] for own in tasks]


TODAY, FEWER = "today", 5
"""Other rules are tried on a fifth of the studies: what they do wrong is coarse."""
RULES: Mapping[str, Rule] = {
    TODAY: Rule(of_today),
    "before": Rule(of_today, holm, ("domain_text", "task_transfer")),
    "draws as seeds": Rule(draws_as_seeds),
    "no rows": Rule(without_rows),
    "no first question": Rule(of_today, lambda tasks: tasks),
}


def errors(world: World, studies: int, seed: int, rule: Rule) -> dict[str, Any]:
    """For studies of two tasks: how often any gain or loss is wrong, for each truth.

    A true difference moves the scores of an arm and no spread, so the studies of all truths are the same ones, lifted.

    Returns:
        `any`: truth -> the share of studies in which a gain or a loss is wrong; `covered`, `most_covered`: in which the
        interval covers the truth, the smallest and the largest share over all questions.
    """
    simulator = Simulator(seed)
    tasks = [rule.differences(simulator.study(world)) for _ in range(TASKS * studies)]
    wrong = dict.fromkeys(TRUTHS, 0)
    for first in range(0, len(tasks), TASKS):
        for name, truth in TRUTHS.items():
            wrong[name] += is_wrong(tasks[first : first + TASKS], truth, rule)
    covered = [
        sum(_covers(task[question], 0.0) for task in tasks) / len(tasks)
        for question in QUESTIONS
        if question in tasks[0]
    ]
    return {
        "any": {name: round(count / studies, 4) for name, count in wrong.items()},
        "covered": round(min(covered), 4),
        "most_covered": round(max(covered), 4),
    }


def is_wrong(tasks: Sequence[Answers], truth: Mapping[str, float], rule: Rule) -> bool:
    """Whether any question of these tasks is called a gain or a loss that it is not."""
    effects = [_effect(question, truth) for question in rule.asked]
    lifted = [[_lifted(task[name], effect) for name, effect in zip(rule.asked, effects, strict=True)] for task in tasks]
    adjusted = rule.adjusted([[_p(each) for each in own] for own in lifted])
    return any(
        p < 1 - CONFIDENCE and each.mean * effect <= 0
        for own, of_task in zip(lifted, adjusted, strict=True)
        for each, p, effect in zip(own, of_task, effects, strict=True)
    )


def _effect(question: str, truth: Mapping[str, float]) -> float:
    arm, other = QUESTIONS[question]
    return truth.get(arm, 0.0) - truth.get(other, 0.0)


def _p(difference: Difference) -> float:
    assert difference.p is not None
    return difference.p


def _covers(difference: Difference, truth: float) -> bool:
    assert difference.low is not None
    assert difference.high is not None
    return difference.low <= truth <= difference.high


def promised_power(world: World, studies: int, seed: int) -> dict[str, float]:
    """The difference that the page would call detectable where the spreads are estimated rightly, and the share of
    studies with this true difference that show it.

    The page takes mean squares from one study, so that it says more or less than this; on average it takes these.

    Returns:
        `detectable`, in points, of the first question; `shown`: the share of studies that show it there; `before`: that
        show it in the first question of the rule before.
    """
    simulator, (arm, other) = Simulator(seed), QUESTIONS[ORDER[0]]
    level = (1 - CONFIDENCE) / TASKS
    simulated = [simulator.study(world).study(CONFIDENCE) for _ in range(studies)]
    estimated = [study.question(arm, other, level) for study in simulated]
    layout = max((each.layout for each in estimated), key=lambda layout: len(layout.pooled))
    pooled = [each for each in estimated if each.layout == layout]  # without studies in which an arm looks scattered
    squares = MeanSquares(*np.mean([astuple(each.squares) for each in pooled], 0))
    share, df = np.mean([each.rows for each in pooled], 0)
    effect = Power(squares, layout, (share, df), level).detectable
    assert effect is not None
    tasks = [_of(study) for study in simulated]
    shown = {name: _shown(tasks, effect, RULES[name]) for name in (TODAY, "before")}
    return {"detectable": round(100 * effect, 2), "shown": shown[TODAY], "before": shown["before"]}


def _shown(tasks: Sequence[Answers], effect: float, rule: Rule) -> float:
    """The share of studies in which the first question shows this effect of one task; nothing else is true."""
    shown = 0
    for one, other in zip(tasks, [*tasks[1:], tasks[0]], strict=True):
        own = [_p(_lifted(one[rule.asked[0]], effect)), *(_p(one[name]) for name in rule.asked[1:])]
        shown += rule.adjusted([own, [_p(other[name]) for name in rule.asked]])[0][0] < 1 - CONFIDENCE
    return round(shown / len(tasks), 4)


def first_question(world: World, studies: int, seed: int) -> list[Difference]:
    """Study of equal arms."""
    simulator = Simulator(seed)
    return [_of(simulator.study(world).study(CONFIDENCE))[ORDER[0]] for _ in range(studies)]


def half_widths(differences: Sequence[Difference]) -> dict[str, float]:
    """Widths of the intervals, in points, that half, 95 % and 99 % of studies have at most."""
    widths = [100 * ((each.high or 0.0) - (each.low or 0.0)) / 2 for each in differences]
    shares = {"half": 0.5, "95 %": 0.95, "99 %": 0.99}
    return {name: round(float(np.quantile(widths, share)), 2) for name, share in shares.items()}


def called(differences: Sequence[Difference]) -> dict[str, float]:
    """Share of studies in which arms that differ by just what is worth having are called equivalent, or a gain of at
    least that."""
    judged = [judge([[_lifted(each, WORTH)]], WORTH, CONFIDENCE)[0][0] for each in differences]
    return {
        "equivalent": round(sum(each.verdict == "equivalent" for each in judged) / len(judged), 4),
        "at_least": round(sum(each.at_least for each in judged) / len(judged), 4),
    }


def _lifted(difference: Difference, effect: float) -> Difference:
    """The difference if the arm were better by so much: a true effect moves the scores of an arm, and no spread."""
    variance = Variance({"spread": difference.se**2}, [(difference.se**2, difference.df)])
    mean, seeds, replicates = difference.mean + effect, difference.seeds, difference.replicates
    return intervals.difference(mean, variance, seeds, replicates, CONFIDENCE)


def worlds() -> Iterator[tuple[str, World]]:
    """Worlds by name; one draw is there to show why it gets no verdict."""
    for draws, seeds, (draw, rows) in product((1, *DRAWS), SEEDS, SPREADS):
        yield f"{draws} x {seeds}, draw {draw:g}, rows {rows:g}", World(draws, seeds, draw, rows)
    for draws, seeds in product(DRAWS, SEEDS):
        yield f"{draws} x {seeds}, draw 0.5, rows 0.7, seed x arm 0.5", World(draws, seeds, 0.5, 0.7, seed_by_arm=0.5)
        wide = World(draws, seeds, 0.5, 0.7, scatter={"general_long": 2.0})
        yield f"{draws} x {seeds}, draw 0.5, rows 0.7, one arm twice as far apart", wide
        for of_kind in (0.55, 1.0):
            kinds = World(draws, seeds, 0.5, 0.7, seed_by_kind=of_kind)
            yield f"{draws} x {seeds}, draw 0.5, rows 0.7, seed x kind {of_kind:g}", kinds
        runs = World(draws, seeds, 0.5, 0.7, rows_of_run=1.2)
        yield f"{draws} x {seeds}, draw 0.5, rows 0.7, rows x run 1.2", runs


def measure(studies: int) -> dict[str, Any]:
    """All worlds."""
    results = {}
    for number, (name, world) in enumerate(worlds()):
        began = time.monotonic()
        values: dict[str, Any] = {
            "errors": {
                rule: errors(world, studies if rule == TODAY else studies // FEWER, number, each)
                for rule, each in RULES.items()
            }
        }
        if world.draws > 1:
            values["power"] = promised_power(world, studies, 1000 + number)
            differences = first_question(world, studies, 2000 + number)
            values["called"] = called(differences)
            values["half_width"] = half_widths(differences)
        results[name] = values
        print(f"{name}: {values['errors'][TODAY]}, {time.monotonic() - began:.0f} s", flush=True)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=2000, help="of each kind (2000)")
    arguments = parser.parse_args()
    keep("verdict", {"studies": arguments.studies, "worlds": measure(arguments.studies)})
