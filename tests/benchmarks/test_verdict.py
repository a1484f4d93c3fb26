"""Wrong gains and losses are as seldom as is promised, and the rule with a part left out errs more often."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from adaptbert.config.schema.comparison import ORDER
from adaptbert.statistics.spread import Spread
from adaptbert.statistics.study import ArmRuns, Study
from adaptbert.statistics.variance import as_student
from benchmarks.simulated_studies import ONCE, QUESTIONS, Simulator, World
from benchmarks.verdict import BASE, RULES, TRUTHS, WORLDS, called, coverage, differences, promised_power, wrong

TASKS = 1000
MOST, NOISE = 0.07, 0.025
"""How often a study may err, and three times the standard error of a share of 7 % in so many studies."""


def most_wrong(world: World, rule: str = "today", tasks: int = 1) -> float:
    found = differences(world, TASKS, 5, RULES[rule])
    return max(wrong(found, tasks, truth, RULES[rule]) for truth in TRUTHS.values())


@pytest.mark.parametrize("name", ["base", "domain_task scatters 3 times", "runs of general 3 times"])
@pytest.mark.parametrize("tasks", [1, 4])
def test_a_study_errs_at_the_stated_rate_whatever_is_true(name: str, tasks: int) -> None:
    assert most_wrong(replace(WORLDS[name], draws=2, seeds=5), tasks=tasks) <= MOST + NOISE * tasks**0.5


def test_intervals_cover_the_truth_at_the_stated_rate() -> None:
    for world in (BASE, replace(BASE, draws=3, seed_by_kind=1.0), replace(BASE, draws=5, seeds=5, draw=0.2)):
        assert coverage(differences(world, TASKS, 5))[0] >= 0.94


@pytest.mark.parametrize(
    ("sabotage", "name"),
    [
        ("pooled", "domain_task scatters 3 times"),
        ("draws as seeds", "draws 2"),
        ("no rows", "rows 1.2"),
        ("no first question", "rows 1.2"),
    ],
)
def test_a_part_that_is_left_out_is_noticed(sabotage: str, name: str) -> None:
    world, tasks = replace(WORLDS[name], draws=2, seeds=5), 1
    if name == "rows 1.2":
        world, tasks = replace(world, draws=5, draw=0.2), 4
    assert most_wrong(world, sabotage, tasks) > MOST + 2 * NOISE


@pytest.mark.parametrize("name", ["base", "hardly any draws", "domain_task scatters 3 times"])
def test_what_is_called_detectable_is_shown_in_four_of_five_studies(name: str) -> None:
    """Where the spreads are known: the page estimates them."""
    for draws, seeds in ((2, 5), (5, 3)):
        world = replace(WORLDS[name], draws=draws, seeds=seeds)
        assert promised_power(world, differences(world, TASKS, 7))["shown"] == pytest.approx(0.8, abs=0.05)


def test_arms_that_differ_are_seldom_called_equivalent() -> None:
    shares = called(differences(World(5, 5, draw=0.2, rows=0.2), 500, 8))
    assert shares["equivalent"] <= 0.05 + NOISE
    assert shares["at_least"] <= 0.05 + NOISE, "a gain that is just worth having is not called larger"


@pytest.mark.parametrize("draws", [2, 3])
def test_hardly_any_interval_is_without_bounds(draws: int) -> None:
    widths = differences(replace(BASE, draws=draws, draw=0.0), 500, 10)[ORDER[0]].half_widths()
    assert np.quantile(widths, 0.99) < 4 * np.quantile(widths, 0.5)


def test_many_studies_at_once_are_judged_as_one_is() -> None:
    """Without test rows, which one study resamples and many are told of."""
    world = replace(BASE, draws=3, seeds=5)
    arms = Simulator(11).scores(world, 3)
    at_once = Spread(arms, ONCE, range(world.seeds))
    for question, number in product(ORDER, range(3)):
        se, df = as_student(np.sum([*at_once.of_difference(*QUESTIONS[question]).values()], 0))
        runs = {
            arm: {int(arm not in ONCE) + draw: dict(enumerate(row)) for draw, row in enumerate(scores[number])}
            for arm, scores in arms.items()
        }
        one = Study({arm: ArmRuns(own) for arm, own in runs.items()}, 100, 0.95, (0, 1)).difference(
            *QUESTIONS[question]
        )
        assert one is not None
        assert (one.se, one.df) == pytest.approx((se[number], df[number]))
