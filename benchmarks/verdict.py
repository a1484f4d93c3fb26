"""How often verdicts err: simulated studies of which the truth is known, judged by what `compare` judges with.

For each number of draws and seeds and each spread: how often equal arms are called different, whether intervals cover
the truth, how often a true difference of the size that the page names is shown, how often arms that differ are called
equal. Beside it the rule with a part left out.

    python -m benchmarks.verdict [--studies 2000]
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from adaptbert.statistics import intervals
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.power import Power
from adaptbert.statistics.spread import MeanSquares, Variance
from adaptbert.statistics.study import Study
from adaptbert.statistics.verdicts import adjusted_p, verdicts
from benchmarks.machine import keep
from benchmarks.simulated_studies import ONCE, PRIMARY, QUESTIONS, Simulated, Simulator, World

CONFIDENCE = 0.95
WORTH = 0.01
DRAWS, SEEDS = (2, 3, 5), (3, 5)
SPREADS = tuple(product((0.0, 0.5, 1.0), (0.0, 0.7, 1.2)))
"""Standard deviations between draws, and of a difference due to the test rows, in points."""


@dataclass(frozen=True)
class Rule:
    """How the questions of a study are judged.

    Attributes:
        p_values: question -> its p-value, and whether its 95 % interval covers a true difference of 0.
        adjusted: whether the primary questions are adjusted for together.
    """

    p_values: Callable[[Simulated], Mapping[str, tuple[float, bool]]]
    adjusted: bool = True

    def shown(self, p_values: Mapping[str, tuple[float, bool]]) -> bool:
        """Whether a primary question is called a gain or a loss."""
        own = [p_values[question][0] for question in PRIMARY]
        return min(adjusted_p(own) if self.adjusted else own) < 1 - CONFIDENCE


def of_today(simulated: Simulated) -> dict[str, tuple[float, bool]]:
    return _of(simulated.study(CONFIDENCE))


def without_rows(simulated: Simulated) -> dict[str, tuple[float, bool]]:
    return _of(replace(simulated, resampled=None).study(CONFIDENCE))


def draws_as_seeds(simulated: Simulated) -> dict[str, tuple[float, bool]]:
    """Each draw and seed is a value of its own; arms that are made once are repeated for every draw."""
    most = max(len(runs) for runs in simulated.runs.values())
    flat = {}
    for arm, runs in simulated.runs.items():
        draws = list(runs.values()) * (most if arm in ONCE else 1)
        flat[arm] = {0: {(100 * draw + seed): score for draw, own in enumerate(draws) for seed, score in own.items()}}
    return _of(replace(simulated, runs=flat).study(CONFIDENCE))


def _of(study: Study) -> dict[str, tuple[float, bool]]:
    differences = {name: study.difference(arm, other) for name, (arm, other) in QUESTIONS.items()}
    return {name: (_p(each), _covers(each, 0.0)) for name, each in differences.items()}


def _p(difference: Difference | None) -> float:
    assert difference is not None
    assert difference.p is not None
    return difference.p


def _covers(difference: Difference | None, truth: float) -> bool:
    assert difference is not None
    assert difference.low is not None
    assert difference.high is not None
    return difference.low <= truth <= difference.high


TODAY, FEWER = "today", 5
"""Other rules are tried on a fifth of the studies: what they do wrong is coarse."""
RULES: Mapping[str, Rule] = {
    TODAY: Rule(of_today),
    "draws as seeds": Rule(draws_as_seeds),
    "no rows": Rule(without_rows),
    "no Holm": Rule(of_today, adjusted=False),
}


def equal_arms(world: World, studies: int, seed: int, rules: Mapping[str, Rule]) -> dict[str, dict[str, float]]:
    """Rule -> shares of studies of equal arms.

    Returns:
        For each rule: `question`, the share in which a question by itself is called different, the largest over all
        questions; `any`, in which one of those judged together is; `covered`, in which its interval covers 0, the
        smallest over all questions.
    """
    simulator = Simulator(seed)
    different = {rule: dict.fromkeys(QUESTIONS, 0) for rule in rules}
    covered = {rule: dict.fromkeys(QUESTIONS, 0) for rule in rules}
    together = dict.fromkeys(rules, 0)
    for _ in range(studies):
        simulated = simulator.study(world)
        for name, rule in rules.items():
            answers = rule.p_values(simulated)
            together[name] += rule.shown(answers)
            for question, (p, covers) in answers.items():
                different[name][question] += p < 1 - CONFIDENCE
                covered[name][question] += covers
    return {
        name: {
            "question": round(max(different[name].values()) / studies, 4),
            **{question: round(different[name][question] / studies, 4) for question in PRIMARY},
            "any": round(together[name] / studies, 4),
            "covered": round(min(covered[name].values()) / studies, 4),
            "most_covered": round(max(covered[name].values()) / studies, 4),
        }
        for name in rules
    }


def promised_power(world: World, studies: int, seed: int) -> dict[str, float]:
    """The difference that the page would call detectable where the spreads are estimated rightly, and the share of
    studies with this true difference that show it.

    The page takes mean squares from one study, so that it says more or less than this; on average it takes these.
    """
    simulator, (arm, other) = Simulator(seed), QUESTIONS[PRIMARY[0]]
    level = (1 - CONFIDENCE) / len(PRIMARY)
    simulated = [simulator.study(world).study(CONFIDENCE) for _ in range(studies)]
    estimated = [study.question(arm, other, level) for study in simulated]
    layout = max((each.layout for each in estimated), key=lambda layout: len(layout.pooled))
    pooled = [each for each in estimated if each.layout == layout]  # without studies in which an arm looks scattered
    squares = MeanSquares(*np.mean([astuple(each.squares) for each in pooled], 0))
    share, df = np.mean([each.rows for each in pooled], 0)
    effect = Power(squares, layout, (share, df), level).detectable
    assert effect is not None
    shown = 0
    for study in simulated:
        first, *others = [study.difference(*QUESTIONS[question]) for question in PRIMARY]
        shown += adjusted_p([_p(_lifted(first, effect)), *map(_p, others)])[0] < 1 - CONFIDENCE
    return {"detectable": round(100 * effect, 2), "shown": round(shown / studies, 4)}


def domain_text(world: World, studies: int, seed: int) -> list[Difference]:
    """The first primary question, of equal arms."""
    simulator, pair = Simulator(seed), QUESTIONS[PRIMARY[0]]
    differences = (simulator.study(world).study(CONFIDENCE).difference(*pair) for _ in range(studies))
    return [each for each in differences if each is not None]


def half_widths(differences: Sequence[Difference]) -> dict[str, float]:
    """Of the intervals, in points: those that half, 95 % and 99 % of studies have at most."""
    widths = [100 * ((each.high or 0.0) - (each.low or 0.0)) / 2 for each in differences]
    shares = {"half": 0.5, "95 %": 0.95, "99 %": 0.99}
    return {name: round(float(np.quantile(widths, share)), 2) for name, share in shares.items()}


def called_equal(differences: Sequence[Difference]) -> dict[str, float]:
    """Share of studies in which arms that differ by what is worth having are called equal, or not worse."""
    wrong = {
        "no_difference": (WORTH, {"no_difference"}),
        "no_worse": (-WORTH, {"no_worse", "no_difference"}),
        "worth_it": (WORTH, {"worth_it"}),
    }
    shares = {}
    for name, (effect, names) in wrong.items():
        judged = [verdicts([_lifted(each, effect)], WORTH, CONFIDENCE)[0] for each in differences]
        shares[name] = round(sum(verdict in names for verdict in judged) / len(differences), 4)
    return shares


def _lifted(difference: Difference | None, effect: float) -> Difference:
    """As if the arm were better by so much: a true effect moves the scores of an arm alike, and no spread."""
    assert difference is not None
    variance = Variance({"spread": difference.se**2}, [(difference.se**2, difference.df)])
    mean, seeds, replicates = difference.mean + effect, difference.seeds, difference.replicates
    return intervals.difference(mean, variance, seeds, replicates, CONFIDENCE)


def worlds() -> Iterator[tuple[str, World]]:
    """By name; one draw is there to show why it gets no verdict."""
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
        others = {rule: each for rule, each in RULES.items() if rule != TODAY}
        values: dict[str, Any] = {
            "equal_arms": equal_arms(world, studies, number, {TODAY: RULES[TODAY]})
            | equal_arms(world, studies // FEWER, number, others)
        }
        if world.draws > 1:
            values["power"] = promised_power(world, studies, 1000 + number)
            differences = domain_text(world, studies, 2000 + number)
            values["called"] = called_equal(differences)
            values["half_width"] = half_widths(differences)
        results[name] = values
        print(f"{name}: {values['equal_arms'][TODAY]}, {time.monotonic() - began:.0f} s", flush=True)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=2000, help="of each kind (2000)")
    arguments = parser.parse_args()
    keep("verdict", {"studies": arguments.studies, "worlds": measure(arguments.studies)})
