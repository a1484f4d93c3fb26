"""The mean over tasks is taken run by run, of arms that every task has; its interval holds the test rows of all."""

from collections.abc import Mapping

import numpy as np
import pytest

from adaptbert.comparison.statistics.intervals import mean_interval
from adaptbert.comparison.statistics.spread import Runs
from adaptbert.comparison.statistics.study import ArmRuns, TaskStudy, of_arms
from adaptbert.comparison.suite_average import SuiteAverage, suite_averages

SCORES: dict[str, dict[str, Runs]] = {
    "easy": {"general": {0: {1: 0.9, 2: 0.8}}, "domain": {1: {1: 0.92, 2: 0.90, 3: 0.1}}, "extra": {0: {1: 0.5}}},
    "hard": {"general": {0: {1: 0.1, 2: 0.2}}, "domain": {1: {1: 0.2, 2: 0.3}}, "extra": {0: {7: 0.5}}},
}
GROUPS = 100


def tasks_of(scores: Mapping[str, Mapping[str, Runs]], rows: float | None = None) -> dict[str, TaskStudy]:
    """Args:
    rows: sd of a score over resampled test rows, of every arm; None: there are no predictions.
    """
    random, tasks = np.random.default_rng(0), {}
    for task, arms in scores.items():
        resampled = None if rows is None else [random.normal(0.5, rows, (1, 1000))]
        own = {arm: ArmRuns(runs, resampled) for arm, runs in arms.items()}
        tasks[task] = TaskStudy(own, of_arms(own, GROUPS, 0.95, (0.0, 1.0)), GROUPS, 0.1)
    return tasks


def averages(
    scores: Mapping[str, Mapping[str, Runs]], rows: float | None = None, ends: tuple[float, float] = (0.0, 1.0)
) -> list[SuiteAverage]:
    return suite_averages("small", tasks_of(scores, rows), ends, 0.95)


def test_seeds_are_paired_and_parts_add_up() -> None:
    general, domain = averages(SCORES)
    assert [(each.start, each.arm) for each in (general, domain)] == [("small", "general"), ("small", "domain")]
    # What one task gains in a seed another loses: the spread of the mean is smaller than that of either part.
    assert general.scores == {1: pytest.approx(0.5), 2: pytest.approx(0.5)}
    assert domain.scores == {1: pytest.approx(0.56), 2: pytest.approx(0.6)}
    assert domain.interval.mean == pytest.approx(0.58)
    assert domain.interval.low is None, "two seeds that both tasks have"
    assert domain.parts == {"easy": pytest.approx(0.91), "hard": pytest.approx(0.25)}, "seed 3 is of one task only"


def test_arms_without_a_common_seed_have_no_mean() -> None:
    assert "extra" not in {average.arm for average in averages(SCORES)}
    holed = {**SCORES, "third": {"general": {0: {1: 0.3, 2: 0.3}}}}
    assert [average.arm for average in averages(holed)] == ["general"]


def test_one_task_is_no_suite() -> None:
    assert averages({"easy": SCORES["easy"]}) == []
    assert averages({}) == []


def test_the_mean_has_the_range_of_its_parts() -> None:
    scores = {0: {1: 0.01, 2: 0.02, 3: 0.9}}
    (average,) = averages({task: {"domain": scores} for task in ("easy", "third")}, ends=(-0.5, 1.0))
    assert average.interval.low == -0.5, "the mean of 0 and -1"
    assert average.interval.high == 1.0


def test_the_interval_is_over_draws_seeds_and_the_test_rows_of_all_tasks() -> None:
    seeds = {1: 0.60, 2: 0.62, 3: 0.61}
    once = {task: {"domain": {1: seeds}} for task in ("easy", "hard")}
    (of_seeds,) = averages(once)
    assert of_seeds.interval.sources == ("seeds",)
    assert of_seeds.interval.low == pytest.approx(mean_interval(list(seeds.values()), 0.95).low)
    (with_rows,) = averages(once, rows=0.02)
    assert set(with_rows.interval.sources) == {"seeds", "rows"}
    # Rows of different tasks are drawn independently, so that two tasks have less spread than one.
    (alone,) = [task.study.mean("domain") for task in tasks_of({"easy": once["easy"]}, rows=0.02).values()]
    low, others = with_rows.interval.low, (of_seeds.interval.low, alone.low)
    assert low is not None
    assert others[0] is not None
    assert others[1] is not None
    assert others[1] < low < others[0]
    second = {seed: score + 0.02 for seed, score in seeds.items()}
    (drawn,) = averages({task: {"domain": {1: seeds, 2: second}} for task in ("easy", "hard")})
    assert set(drawn.interval.sources) == {"draws", "seeds"}
    assert drawn.interval.n == 3
    assert drawn.scores == {seed: pytest.approx(score + 0.01) for seed, score in seeds.items()}


def test_a_draw_that_one_task_lacks_is_in_no_mean() -> None:
    seeds = {1: 0.60, 2: 0.62, 3: 0.61}
    tasks = {"easy": {"domain": {1: seeds, 2: dict.fromkeys(seeds, 0.9)}}, "hard": {"domain": {1: seeds}}}
    (average,) = averages(tasks)
    assert average.scores == {seed: pytest.approx(score) for seed, score in seeds.items()}
    assert average.parts == {"easy": pytest.approx(0.61), "hard": pytest.approx(0.61)}
