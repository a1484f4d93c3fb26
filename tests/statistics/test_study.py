"""A study: what a mean and a difference rest on, which arms are pooled, and what is missing."""

from collections.abc import Mapping

import numpy as np
import pytest

from adaptbert.statistics.rows import RowScores, RowSpread
from adaptbert.statistics.spread import MADE_ONCE, Runs
from adaptbert.statistics.study import ArmRuns, Study, of_arms
from benchmarks.simulated_studies import Simulator, World
from tests.support.known import known

UNIT = (0.0, 1.0)


def study(world: World, seed: int = 1) -> Study:
    return Simulator(seed).study(world).study()


def test_an_interval_names_its_sources() -> None:
    once, repeated = (study(World(draws, 3, 0.5, 0.7)) for draws in (1, 3))
    assert once.mean("domain").sources == ("seeds", "rows")
    assert repeated.mean("domain").sources == ("seeds", "replicates", "rows")
    assert repeated.mean("general").sources == ("seeds", "rows")
    assert study(World(3, 3, 0.5, 0)).mean("domain").sources == ("seeds", "replicates")


def test_a_difference_counts_its_draws() -> None:
    several = study(World(3, 3, 0.5, 0.7))
    pairs = {("domain", "general_long"): 3, ("domain", "general"): 3, ("general", "scratch"): 0}
    for (arm, other), draws in pairs.items():
        difference = known(several.difference(arm, other))
        assert (difference.replicates, difference.seeds) == (draws, 3)
        assert "rows" in known(difference.variance)


def test_missing_arms_and_seeds() -> None:
    runs: dict[str, Runs] = {
        "a": {1: {1: 0.5, 2: 0.6, 3: 0.7}, 2: {1: 0.5, 2: 0.6, 3: 0.6}},
        "b": {1: {1: 0.4, 2: 0.5, 3: 0.7}},  # a draw is missing
        "c": {1: {8: 0.4, 9: 0.5}},
        "d": {1: {2: 0.4, 3: 0.5}},
        "e": {},
    }
    small = Study(runs, None, 0.95, UNIT)
    assert small.difference("a", "e") is None
    assert small.difference("a", "c") is None
    without_interval = known(small.difference("a", "d"))
    assert (without_interval.seeds, without_interval.variance, without_interval.p) == (2, None, None)
    assert without_interval.mean == pytest.approx(np.mean([0.6, 0.6, 0.7, 0.6]) - 0.45)
    one_of_two = known(small.difference("a", "b"))
    assert one_of_two.replicates == 1
    assert small.mean("c").low is None


def test_arms_that_are_alike_are_equal() -> None:
    scores = {1: {1: 0.5, 2: 0.6, 3: 0.7}, 2: {1: 0.5, 2: 0.6, 3: 0.6}}
    rows = RowSpread({arm: RowScores(np.linspace(0.5, 0.6, 1000), 0.0) for arm in ("a", "b")}, 100)
    difference = known(Study({"a": scores, "b": scores}, rows, 0.95, UNIT).difference("a", "b"))
    assert difference.mean == 0
    assert difference.p == 1
    constant = {1: {1: 0.5, 2: 0.5, 3: 0.5}}
    same = known(Study({"a": constant, "b": constant}, None, 0.95, UNIT).difference("a", "b"))
    assert same.identical


def test_runs_that_score_alike_and_answer_differently_are_not_equal() -> None:
    """The spread between runs is 0, so that the test rows are all that an interval can rest on."""
    random, alike = np.random.default_rng(5), {draw: dict.fromkeys((1, 2, 3), 0.5) for draw in (1, 2)}
    cells = {arm: [0.5 + random.normal(0, 0.02, (3, 1000)) for _ in alike] for arm in ("a", "b")}
    arms = {arm: ArmRuns(alike, own) for arm, own in cells.items()}
    difference = known(of_arms(arms, 500, 0.95, UNIT).difference("a", "b"))
    assert not difference.identical
    assert difference.se == pytest.approx(0.02 * (2 / 6) ** 0.5, rel=0.1)


def test_an_arm_that_scatters_is_judged_by_itself() -> None:
    world = World(3, 5, 0.5, 0, scatter={"scratch": 8.0})
    wide = study(world)
    assert wide.scattered == {"scratch"}
    assert "scratch" not in wide.spread("domain", "general_long").arms
    assert set(wide.spread("general", "scratch").arms) == {"general", "scratch"}
    calm = study(World(3, 5, 0.5, 0))
    assert calm.scattered == set()
    narrow, spoilt = (known(each.difference("domain", "general_long")) for each in (calm, wide))
    assert spoilt.se < 2 * narrow.se


def test_an_interval_ends_where_the_range_of_the_score_ends() -> None:
    runs: Mapping[str, Runs] = {
        "a": {MADE_ONCE: {1: 0.9, 2: 0.5, 3: 0.1}},
        "b": {MADE_ONCE: {1: 0.0, 2: 0.5, 3: 0.9}},
    }
    wide = Study(runs, None, 0.95, UNIT)
    difference = known(wide.difference("a", "b"))
    assert (difference.low, difference.high) == (-1.0, 1.0)
    mean = wide.mean("a")
    assert (mean.low, mean.high) == (0.0, 1.0)


def test_a_baseline_is_compared_row_by_row() -> None:
    random = np.random.default_rng(4)
    rows, own = random.normal(0, 0.02, 1000), random.normal(0, 0.002, 1000)
    scores: Runs = {MADE_ONCE: {1: 0.60, 2: 0.61, 3: 0.62}}
    arms = of_arms({"a": ArmRuns(scores, [np.array([0.61 + rows])])}, 500, 0.95, UNIT)
    same_labels = dict.fromkeys((1, 2, 3), 0.55)
    paired = known(arms.beside_baseline("a", same_labels, 0.55 + rows + own))
    apart = known(arms.beside_baseline("a", same_labels, 0.55 - rows))
    assert paired.mean == pytest.approx(0.06)
    assert paired.se < apart.se / 3
    alone = arms.of_baseline(same_labels, 0.55 + rows)
    assert 0.55 - known(alone.low) == pytest.approx(1.96 * 0.02, rel=0.1)
    assert arms.beside_baseline("b", same_labels, rows) is None
