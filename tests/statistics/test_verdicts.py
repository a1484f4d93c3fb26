"""Verdicts follow from intervals, and over several questions or tasks the promised rate of errors is kept."""

import numpy as np
import pytest

from adaptbert.statistics import intervals
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.spread import Variance
from adaptbert.statistics.verdicts import adjusted_p, verdicts
from tests.support.known import known
from tests.support.rates import STUDIES, standard_error

WORTH = 0.01


def difference(mean: float, se: float, df: float = 20) -> Difference:
    return intervals.difference(mean, Variance({"replicates": se**2}, [(se**2, df)]), 5, 3, 0.95)


@pytest.mark.parametrize(
    ("mean", "se", "verdict"),
    [
        (0.030, 0.005, "worth_it"),
        (0.015, 0.005, "gain"),  # above 0, and above .01 as well as below
        (0.005, 0.001, "small_gain"),
        (-0.015, 0.005, "loss"),
        (-0.002, 0.0005, "loss"),
        (0.0, 0.004, "no_difference"),
        (0.006, 0.004, "no_worse"),  # neither above 0 nor within .01
        (0.0, 0.010, "undecided"),
        (-0.006, 0.004, "undecided"),
        (0.0, 0.0, "no_difference"),
        (0.02, 0.0, "untested"),
    ],
)
def test_by_the_interval(mean: float, se: float, verdict: str) -> None:
    assert verdicts([difference(mean, se)], WORTH, 0.95) == [verdict]


def test_several_questions_need_more_evidence_and_one_that_failed_is_one_that_was_asked() -> None:
    alone, clear = difference(0.0219, 0.01), difference(0.1, 0.01)
    assert alone.p == pytest.approx(0.04, abs=0.001)
    assert verdicts([alone], WORTH, 0.95) == ["gain"]
    assert verdicts([alone, alone], WORTH, 0.95) == ["no_worse", "no_worse"], "p = .08"
    assert verdicts([alone, clear], WORTH, 0.95) == ["gain", "worth_it"]
    few = intervals.difference(0.02, None, 2, 3, 0.95)
    for untested in (None, few):
        assert verdicts([alone, untested], WORTH, 0.95) == ["no_worse", "untested"]


@pytest.mark.parametrize("mean", [-0.02, -0.004, 0.0, 0.008, 0.03])
def test_the_p_values_agree_with_the_interval(mean: float) -> None:
    each = difference(mean, 0.006)
    assert (known(each.p) < 0.05) == (known(each.low) > 0 or known(each.high) < 0)
    assert known(each.p_above(WORTH)) >= known(each.p) - 1e-12 or mean < 0
    assert (known(each.p_above(WORTH)) < 0.05) == (known(each.low) > WORTH)


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.9, 0.8], [1.0, 1.0]),
        ([0.03], [0.03]),
        ([], []),
    ],
)
def test_holm_on_worked_examples(p_values: list[float], adjusted: list[float]) -> None:
    assert adjusted_p(p_values) == pytest.approx(adjusted)


def test_six_questions_about_identical_arms_give_a_false_alarm_in_at_most_one_study_of_twenty() -> None:
    studies = np.random.default_rng(13).random((STUDIES, 6))
    alarms = np.mean([min(adjusted_p(list(p_values))) < 0.05 for p_values in studies])
    assert alarms < 0.05 + 4 * standard_error(0.05)
    assert np.mean(studies.min(1) < 0.05) > 0.2, "unadjusted"
