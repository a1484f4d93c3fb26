"""The chance that a difference is worth having is right as often as it says, and a large one is taken for less."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from adaptbert.statistics import intervals
from adaptbert.statistics.chance import truths
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.study import Floats
from adaptbert.statistics.variance import Variance

WORTH = 0.01
STUDIES, OF_STUDY = 300, 4


def difference(mean: float, se: float, df: float = 10) -> Difference:
    return intervals.difference(mean, Variance({"replicates": se**2}, df), 5, 3, 0.95)


def chance(own: Difference, least: float, others: list[Difference]) -> float:
    values, chances = truths(own, others)
    return float(chances[values >= least].sum())


def expected(own: Difference, others: list[Difference]) -> float:
    values, chances = truths(own, others)
    return float(chances @ values)


def test_a_difference_is_shrunk_by_what_the_others_tell() -> None:
    own, small, large = difference(0.02, 0.01), [difference(0.002, 0.005)] * 6, [difference(0.09, 0.01)] * 6
    chances = [chance(own, WORTH, others) for others in (small, [], large)]
    assert chances == sorted(chances)
    assert chance(own, -1.0, []) == pytest.approx(1.0)
    assert chance(own, WORTH, []) + chance(difference(-0.02, 0.01), -WORTH, []) == pytest.approx(1.0, abs=1e-3)
    assert 0 < expected(own, small) < expected(own, []) < expected(own, large) < own.mean


def test_one_that_is_far_larger_than_the_others_may_be_so() -> None:
    """Where all differences had one size, eight points among small ones would be luck."""
    small = [difference(mean, 0.009, 3) for mean in (0.001, 0.017, 0.015, 0.013, 0.003, 0.012)]
    large = [difference(0.079, 0.017, 4)]
    assert chance(difference(0.078, 0.017, 4), WORTH, [*small, *large]) > 0.75
    assert chance(small[1], WORTH, [*small[:1], *small[2:], *large]) < 0.6


@pytest.mark.parametrize("df", [2.5, 4.0])
def test_a_large_difference_among_small_ones_is_not_talked_away(df: float) -> None:
    """Few degrees of freedom have tails that explain anything as luck."""
    small = [difference(mean, 0.02, df) for mean in (0.001, -0.002, 0.003)]
    chances = [chance(difference(mean, 0.02, df), WORTH, small) for mean in (0.04, 0.06, 0.08, 0.12, 0.3, 0.43)]
    assert chances == sorted(chances)
    assert chances[3] > 0.6
    assert chance(difference(-0.43, 0.04, 3), WORTH, [difference(0.165, 0.03, 3), *small]) < 0.1, "a shown loss"


@pytest.mark.parametrize("size", [0.01, 0.03])
def test_chances_are_right_as_often_as_they_say(size: float) -> None:
    """True differences of two sizes, of which the standard error is estimated. By its t-distribution alone, what seems
    probable is so too seldom where true differences are small."""
    random = np.random.default_rng(3)
    truths = random.normal(0, size, (STUDIES, OF_STUDY))
    se = np.array([0.007, 0.01, 0.01, 0.014])
    seen = truths + random.normal(0, se, truths.shape)
    estimated = se * np.sqrt(random.chisquare(10, truths.shape) / 10)
    said = np.empty(truths.shape)
    for study in range(STUDIES):
        own = [difference(*each) for each in zip(seen[study], estimated[study], strict=True)]
        for n, each in enumerate(own):
            others = own[:n] + own[n + 1 :]
            said[study, n] = chance(each, WORTH, others)
    alone, worth = stats.t.cdf((seen - WORTH) / estimated, 10), truths >= WORTH
    assert off(alone, worth, 0.8, 0.95) < (-0.15 if size == 0.01 else 0.1)
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 1.0), (0.5, 0.8), (0.8, 1.0))[: 3 if size == 0.01 else None]:
        assert -0.12 < off(said, worth, low, high) < 0.16, f"{low} to {high}: large ones are rather taken for less"
    off_by, by_itself = np.square(said - worth).mean(), np.square(alone - worth).mean()
    assert off_by < by_itself + (0.01 if size == 0.03 else -0.01)


def off(said: Floats, worth: NDArray[np.bool_], low: float, high: float) -> float:
    """How much more often those with such a chance are worth having than is said of them."""
    among = (said >= low) & (said < high)
    assert among.sum() >= 40, "too few to say anything"
    return float(worth[among].mean() - said[among].mean())
