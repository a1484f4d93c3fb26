"""A verdict follows from the interval of a difference against 0 and against the smallest gain worth having."""

import pytest

from adaptbert.statistics import intervals
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.spread import Variance
from adaptbert.statistics.verdicts import verdicts
from tests.support.known import known

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
    ],
)
def test_by_the_interval(mean: float, se: float, verdict: str) -> None:
    assert verdicts([difference(mean, se)], WORTH, 0.95) == [verdict]


def test_without_an_interval() -> None:
    few = intervals.difference(0.02, None, 2, 3, 0.95)
    same = intervals.difference(0.0, Variance({"replicates": 0.0, "rows": 0.0}, []), 5, 3, 0.95)
    constant = intervals.difference(0.02, Variance({"replicates": 0.0}, []), 5, 3, 0.95)
    assert verdicts([few, None, same, constant], WORTH, 0.95) == ["untested", "untested", "no_difference", "untested"]


def test_a_question_that_cannot_be_tested_is_one_that_was_asked() -> None:
    """A cell that failed makes no other question easier to answer."""
    clear = intervals.difference(0.02, Variance({"seeds": 0.009**2}, [(0.009**2, 1e6)]), 3, 3, 0.95)
    assert verdicts([clear], WORTH, 0.95) == ["gain"]
    assert verdicts([clear, None], WORTH, 0.95) == ["no_worse", "untested"]


def test_several_questions_need_more_evidence() -> None:
    """p = .04 by itself; two equal ones give .08."""
    alone = difference(0.0219, 0.01)
    assert alone.p == pytest.approx(0.04, abs=0.001)
    assert verdicts([alone], WORTH, 0.95) == ["gain"]
    assert verdicts([alone, alone], WORTH, 0.95) == ["no_worse", "no_worse"]
    clear = difference(0.1, 0.01)
    assert verdicts([alone, clear], WORTH, 0.95) == ["gain", "worth_it"]


@pytest.mark.parametrize("mean", [-0.02, -0.004, 0.0, 0.008, 0.03])
def test_the_p_values_agree_with_the_interval(mean: float) -> None:
    each = difference(mean, 0.006)
    assert (known(each.p) < 0.05) == (known(each.low) > 0 or known(each.high) < 0)
    assert (each.p_above(WORTH) or 0) >= known(each.p) - 1e-12 or mean < 0
    assert ((each.p_above(WORTH) or 0) < 0.05) == (known(each.low) > WORTH)
