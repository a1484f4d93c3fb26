"""How often verdicts err: simulated studies of which the truth is known, judged by what `compare` judges with.

In each world, for two to five draws and three or five seeds, with one, two and four tasks: how often any gain or loss
of any question is wrong, whatever is true of the others; whether intervals cover the truth; how often the recipe's true
gain is shown, and the one that the page calls detectable; how often arms that differ are called equivalent. Beside it
the rule with a part left out, and the one before: the spread of all arms pooled.

    python -m benchmarks.verdict [--studies 2000]
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from adaptbert.config.schema.comparison import ORDER
from adaptbert.statistics.intervals import FEWEST_SEEDS, Difference
from adaptbert.statistics.power import Components, Power
from adaptbert.statistics.spread import Layout, Spread
from adaptbert.statistics.study import RESAMPLES
from adaptbert.statistics.variance import ROWS, Sources, as_student, over_chi_squared
from adaptbert.statistics.verdicts import adjusted_p, judge
from benchmarks.machine import keep
from benchmarks.simulated_studies import ONCE, QUESTIONS, Simulator, World

Floats = NDArray[np.floating[Any]]
CONFIDENCE = 0.95
WORTH = 0.01
TASKS = (1, 2, 4)
DESIGNS = tuple(product((2, 3, 5), (3, 5)))
"""Draws and seeds."""
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
RECIPE = ("general", "general_long", "domain", "domain_task")
BASE = World(2, 3, draw=1.0, rows=0.6, arms=RECIPE, seed=1.2, rest=1.0, seed_by_arm=0.3)
WORLDS: Mapping[str, World] = {
    "base": BASE,
    "draws 1.4": replace(BASE, draw=1.4),
    "draws 2": replace(BASE, draw=2.0),
    **{
        f"{arm} scatters {times:g} times": replace(BASE, scatter={arm: times})
        for arm, times in (
            ("domain_task", 1.5),
            ("domain_task", 2.0),
            ("domain_task", 3.0),
            ("domain", 3.0),
            ("general_long", 3.0),
        )
    },
    "domain_task inherits and adds 1.4": replace(BASE, inherited=1.4),
    **{f"runs of {arm} 3 times": replace(BASE, scatter_of_runs={arm: 3.0}) for arm in ("general", "domain_task")},
    "a seed does 1 to a kind": replace(BASE, seed_by_kind=1.0),
    "a seed does 2 to each arm": replace(BASE, seed_by_arm=2.0),
    "hardly any draws": replace(BASE, draw=0.2),
    "no rows": replace(BASE, rows=0.0),
    "rows 1.2": replace(BASE, rows=1.2),
    "luck of a search 0.5": replace(BASE, luck=0.5),
    "5 % of runs fail": replace(BASE, failures=0.05),
}
SABOTAGED: Mapping[str, World] = {
    "one search for all draws of an arm": replace(BASE, luck=0.5, one_search=True),
    "failed runs counted": replace(BASE, failures=0.05, restarts=False),
}
"""Worlds in which the product leaves a part out."""


@dataclass(frozen=True)
class Differences:
    """One question in many tasks.

    Attributes:
        mean, se, df: as of `Difference`, (tasks,).
    """

    mean: Floats
    se: Floats
    df: Floats

    def p(self, effect: float = 0.0) -> Floats:
        """Two-sided p-values if the arm were better by so much: a true effect moves scores, and no spread."""
        return np.asarray(2 * scipy.special.stdtr(self.df, -np.abs(self.mean + effect) / self.se))

    def half_widths(self) -> Floats:
        return np.asarray(scipy.special.stdtrit(self.df, 0.5 + CONFIDENCE / 2) * self.se)

    def single(self, task: int, effect: float) -> Difference:
        """One of them, lifted, as the product knows it."""
        mean, se, df = (float(each[task]) for each in (self.mean + effect, self.se, self.df))
        return Difference(mean, 3, 2, se, df, mean - se, mean + se, float(self.p(effect)[task]), {})


@dataclass(frozen=True)
class Rule:
    """How the questions of a study are judged.

    Attributes:
        sources: what the variance of a difference between runs may be.
        adjusted: p-values of the questions of each task -> adjusted for all.
        rows: the share of the variance due to test rows that is told of.
    """

    sources: Callable[[Spread, str, str], Sources] = Spread.of_difference
    adjusted: Callable[[Sequence[Sequence[float]]], Sequence[Sequence[float]]] = adjusted_p
    rows: float = 1.0


def pooled(spread: Spread, arm: str, other: str) -> Sources:
    """All arms have one variance between draws, as before."""
    squares, layout = spread.mean_squares(arm, other), spread.layout(arm, other)
    df = np.array(layout.df_between)
    between = (squares.between @ df / df.sum())[..., None] * over_chi_squared(int(df.sum()), 1)
    of_arms = between * sum(1 / count for count in layout.replicates if count)
    return {**spread.of_difference(arm, other), "replicates": of_arms}


def draws_as_seeds(spread: Spread, arm: str, other: str) -> Sources:
    """Each draw and seed is a value of its own."""
    first, second = (spread.arms[name] for name in (arm, other))
    paired = (first - second).reshape(len(first), -1)
    return {"seeds": (paired.var(-1, ddof=1) / paired.shape[-1])[:, None] * over_chi_squared(paired.shape[-1] - 1, 1)}


TODAY = "today"
RULES: Mapping[str, Rule] = {
    TODAY: Rule(),
    "pooled": Rule(pooled),
    "draws as seeds": Rule(draws_as_seeds),
    "no rows": Rule(rows=0.0),
    "groups ignored": Rule(rows=0.25),
    "no first question": Rule(adjusted=lambda tasks: tasks),
}
AT_ONCE = 500
"""Tasks whose variances are held at once."""


def differences(world: World, tasks: int, seed: int, rule: Rule = RULES[TODAY]) -> dict[str, Differences]:
    """The questions of so many tasks, in which all arms are equal."""
    simulator, found = Simulator(seed), dict[str, list[tuple[Floats, ...]]]()
    for first in range(0, tasks, AT_ONCE):
        arms, told = simulator.studies(world, min(AT_ONCE, tasks - first))
        gaps = np.any([np.isnan(scores).any(1) for scores in arms.values()], 0)
        for missing in np.unique(gaps.sum(1)):
            those = gaps.sum(1) == missing
            kept = [np.flatnonzero(~gap) for gap in gaps[those]]
            there = {
                arm: np.stack([own[:, seeds] for own, seeds in zip(scores[those], kept, strict=True)])
                for arm, scores in arms.items()
            }
            for question in ORDER:
                found.setdefault(question, []).append(_of(there, QUESTIONS[question], rule, told[those] * rule.rows))
    return {question: Differences(*map(np.concatenate, zip(*parts, strict=True))) for question, parts in found.items()}


def _of(arms: Mapping[str, Floats], pair: tuple[str, str], rule: Rule, of_rows: Floats) -> tuple[Floats, ...]:
    """Mean, standard error and degrees of freedom of one question in studies that have the same number of seeds."""
    seeds, (arm, other) = next(iter(arms.values())).shape[-1], pair
    mean = arms[arm].mean((1, 2)) - arms[other].mean((1, 2))
    if seeds < FEWEST_SEEDS:
        return mean, np.full(len(mean), np.inf), np.ones(len(mean))
    spread = Spread(arms, {name for name in ONCE if name in arms and arms[name].shape[1] == 1}, range(seeds))
    sources = {**rule.sources(spread, arm, other), "rows": of_rows[:, None] * over_chi_squared(RESAMPLES - 1, ROWS)}
    return mean, *as_student(np.sum([*sources.values()], 0))


def wrong(found: Mapping[str, Differences], tasks: int, truth: Mapping[str, float], rule: Rule = RULES[TODAY]) -> float:
    """The share of studies of so many tasks in which any gain or loss is wrong."""
    pairs = [QUESTIONS[question] for question in ORDER]
    effects = np.array([truth.get(arm, 0.0) - truth.get(other, 0.0) for arm, other in pairs])
    p = np.stack([found[name].p(effect) for name, effect in zip(ORDER, effects, strict=True)], -1)
    means = np.stack([found[name].mean for name in ORDER], -1) + effects
    whole = len(p) // tasks * tasks
    by_study = p[:whole].reshape(-1, tasks, len(ORDER)), means[:whole].reshape(-1, tasks, len(ORDER))
    errs = [_errs(*study, effects, rule) for study in zip(*by_study, strict=True)]
    return sum(errs) / len(errs)


def _errs(p: Floats, means: Floats, effects: Floats, rule: Rule) -> bool:
    """Whether any question of these tasks is called a gain or a loss that it is not; (tasks, questions)."""
    is_wrong = means * effects <= 0
    if not (is_wrong & (p < 1 - CONFIDENCE)).any():
        return False
    return bool((is_wrong & (np.array(rule.adjusted(p.tolist())) < 1 - CONFIDENCE)).any())


def coverage(found: Mapping[str, Differences]) -> tuple[float, float]:
    """The share of intervals that hold the truth: the smallest and the largest of all questions."""
    shares = [float(np.mean(each.p() >= 1 - CONFIDENCE)) for each in found.values()]
    return min(shares), max(shares)


def shown(found: Mapping[str, Differences], effect: float, tasks: int = 1) -> float:
    """The share of tasks that show this true gain of the recipe, where they are one of so many."""
    recipe = found[ORDER[0]]
    return float(np.mean((recipe.p(effect) < (1 - CONFIDENCE) / tasks) & (recipe.mean + effect > 0)))


def promised_power(world: World, found: Mapping[str, Differences]) -> dict[str, float]:
    """The difference that the page would call detectable if it knew the spreads, in points, and the share of tasks that
    show it. The page estimates spreads from one study."""
    arm, other = QUESTIONS[ORDER[0]]
    layout = Layout((world.draws, 0), world.seeds, (world.draws,) * (len(world.arms) - 2))
    assert (arm, other, world.inherited) == ("domain_task", "general", None)
    order = [arm, other, *(name for name in world.arms if name not in (arm, other))]
    draws = [(world.draw / 100 * world.scatter.get(name, 1.0)) ** 2 for name in order]
    seed = (world.seed_by_arm / 100) ** 2
    kind = (world.seed_by_kind / 100) ** 2
    truth = Components(np.array(draws), (world.rest / 100) ** 2, seed + kind, seed + kind / 2)
    level = 1 - CONFIDENCE
    effect = Power(truth, layout, ((world.rows / 100) ** 2, RESAMPLES - 1), level).detectable
    assert effect is not None
    return {"detectable": round(100 * effect, 2), "shown": round(shown(found, effect), 4)}


def called(found: Mapping[str, Differences], tasks: int = 2000) -> dict[str, float]:
    """Share of tasks in which arms that differ by just what is worth having are called equivalent, or a gain of at
    least that."""
    recipe = found[ORDER[0]]
    singles = [recipe.single(task, WORTH) for task in range(min(tasks, len(recipe.mean)))]
    judged = [judge([[each]], WORTH, CONFIDENCE)[0][0] for each in singles]
    return {
        "equivalent": round(sum(each.verdict == "equivalent" for each in judged) / len(judged), 4),
        "at_least": round(sum(each.at_least for each in judged) / len(judged), 4),
    }


def measure(studies: int) -> dict[str, Any]:
    """All worlds and designs by the rule of today and by the one before; some with a part left out."""
    results = {}
    for number, ((name, world), (draws, seeds)) in enumerate(product({**WORLDS, **SABOTAGED}.items(), DESIGNS)):
        began, world = time.monotonic(), replace(world, draws=draws, seeds=seeds)
        rules = RULES if name in ("base", "rows 1.2", "draws 2") else {each: RULES[each] for each in (TODAY, "pooled")}
        values: dict[str, Any] = {}
        for rule_name, rule in rules.items():
            # What a rule with a part left out does wrong is coarse.
            found = differences(world, max(TASKS) * (studies if rule_name == TODAY else studies // 4), number, rule)
            values[rule_name] = _measured(found, rule)
        plain = not (world.scatter_of_runs or world.luck or world.failures) and world.inherited is None
        if plain:
            values["power"] = promised_power(world, differences(world, max(TASKS) * studies, number))
        results[f"{name}, {draws} x {seeds}"] = values
        worst = {rule: values[rule]["wrong"] for rule in (TODAY, "pooled")}
        print(f"{name}, {draws} x {seeds}: {worst}, {time.monotonic() - began:.0f} s", flush=True)
    return results


def _measured(found: Mapping[str, Differences], rule: Rule) -> dict[str, Any]:
    """`wrong`: tasks -> the largest share of studies that err, of all truths; `shown`: points and tasks."""
    errs = {
        tasks: {truth: round(wrong(found, tasks, effects, rule), 4) for truth, effects in TRUTHS.items()}
        for tasks in TASKS
    }
    widths = found[ORDER[0]].half_widths()
    widths = widths[np.isfinite(widths)]
    return {
        "wrong": {tasks: max(own.values()) for tasks, own in errs.items()},
        "by_truth": errs,
        "covered": [round(each, 4) for each in coverage(found)],
        "shown": {
            f"{gain} points, 1 of {tasks}": round(shown(found, gain / 100, tasks), 4)
            for gain, tasks in product((2, 5), TASKS)
        },
        "half_width": {share: round(100 * float(np.quantile(widths, share)), 2) for share in (0.5, 0.95, 0.99)},
        "called": called(found),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=2000, help="of four tasks (2000)")
    arguments = parser.parse_args()
    keep("verdict", {"studies": arguments.studies, "worlds": measure(arguments.studies)})
