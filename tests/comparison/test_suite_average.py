"""The mean over tasks is taken seed by seed, of arms that every task has."""

import pytest

from adaptbert.comparison.statistics import mean_interval
from adaptbert.comparison.suite_average import suite_averages

SCORES = {
    "easy": {"general": {1: 0.9, 2: 0.8}, "domain": {1: 0.92, 2: 0.90, 3: 0.1}, "extra": {1: 0.5, 2: 0.5}},
    "hard": {"general": {1: 0.1, 2: 0.2}, "domain": {1: 0.2, 2: 0.3}, "extra": {7: 0.5}},
}
WITHIN = {"easy": (0.0, 1.0), "hard": (0.0, 1.0), "third": (-1.0, 1.0)}


def test_seeds_are_paired_and_parts_add_up() -> None:
    general, domain = suite_averages(SCORES, 0.95, WITHIN)
    assert (general.arm, domain.arm) == ("general", "domain")
    # What one task gains in a seed another loses: the spread of the mean is smaller than that of either part.
    assert general.scores == {1: pytest.approx(0.5), 2: pytest.approx(0.5)}
    assert domain.scores == {1: pytest.approx(0.56), 2: pytest.approx(0.6)}
    assert domain.interval == mean_interval(list(domain.scores.values()), 0.95)
    assert domain.parts == {"easy": pytest.approx(0.91), "hard": pytest.approx(0.25)}, "seed 3 is of one task only"


def test_arms_without_a_common_seed_have_no_mean() -> None:
    assert "extra" not in {average.arm for average in suite_averages(SCORES, 0.95, WITHIN)}
    holed = {**SCORES, "third": {"general": {1: 0.3, 2: 0.3}}}
    assert [average.arm for average in suite_averages(holed, 0.95, WITHIN)] == ["general"]


def test_one_task_is_no_suite() -> None:
    assert suite_averages({"easy": SCORES["easy"]}, 0.95, WITHIN) == []
    assert suite_averages({}, 0.95, {}) == []


def test_the_mean_has_the_range_of_its_parts() -> None:
    scores = {1: 0.01, 2: 0.02, 3: 0.9}
    tasks = {task: {"domain": scores} for task in ("easy", "third")}
    (average,) = suite_averages(tasks, 0.99, WITHIN)
    assert average.interval.low == -0.5, "the mean of 0 and -1"
    assert average.interval.high == 1.0
