"""The interval of a mean, and what is read off a difference, are held against simulated truth."""

import math

import numpy as np
import pytest
from scipy import stats

from adaptbert.statistics import intervals
from adaptbert.statistics.intervals import ANYWHERE, Difference, Range, interval, mean_interval
from adaptbert.statistics.variance import Variance
from tests.support.known import known
from tests.support.rates import STUDIES, standard_error


def difference(mean: float, se: float = 0.01, df: float = 8, within: Range = ANYWHERE) -> Difference:
    return intervals.difference(mean, Variance({"seeds": se**2}, df), 5, 3, 0.95, within)


@pytest.mark.parametrize(("seeds", "confidence"), [(3, 0.95), (5, 0.95), (10, 0.8)])
def test_the_interval_covers_the_true_mean_at_the_promised_rate(seeds: int, confidence: float) -> None:
    scores = np.random.default_rng(seeds).normal(0.6, 0.02, (STUDIES, seeds))
    own = [mean_interval(list(row), confidence) for row in scores]
    covered = np.mean([known(each.low) <= 0.6 <= known(each.high) for each in own])
    assert abs(covered - confidence) < 4 * standard_error(confidence)


def test_coverage_falls_only_a_little_when_a_seed_now_and_then_fails() -> None:
    random = np.random.default_rng(7)
    failed = random.random((STUDIES, 5)) < 0.05
    scores = np.where(failed, 0.5, 0.6) + random.normal(0, 0.02, failed.shape)
    truth, own = 0.95 * 0.6 + 0.05 * 0.5, [mean_interval(list(row), 0.95) for row in scores]
    assert np.mean([known(each.low) <= truth <= known(each.high) for each in own]) > 0.88


def test_intervals_end_where_the_range_of_the_score_ends() -> None:
    scores = [0.001, 0.01, 0.2]
    uncut, cut = mean_interval(scores, 0.95), mean_interval(scores, 0.95, (0.0, 1.0))
    assert known(uncut.low) < 0
    assert (cut.low, cut.high, cut.mean) == (0.0, uncut.high, uncut.mean)
    wide, correlated = (difference(0.2, se=0.5, within=(-most, most)) for most in (1.0, 2.0))
    reach = 0.5 * stats.t.ppf(0.975, 8)
    assert (wide.low, wide.high) == (pytest.approx(0.2 - reach), 1.0)
    assert (correlated.high, correlated.p) == (pytest.approx(0.2 + reach), wide.p), "the cut changes no test"


def test_an_interval_is_as_wide_as_its_variance_and_names_the_sources() -> None:
    variance = Variance({"replicates": 0.0001, "rows": 0.0003}, 16.0)
    own = interval(0.5, variance, 0.95, (0.0, 1.0))
    assert own.sources == ("replicates", "rows")
    assert known(own.high) - 0.5 == pytest.approx(0.02 * stats.t.ppf(0.975, variance.df))


@pytest.mark.parametrize("values", [[0.3], [0.1, 0.4], [0.1, 0.1, 0.1]])
def test_without_spread_and_below_three_seeds_no_interval_is_invented(values: list[float]) -> None:
    own = mean_interval(values, 0.95)
    assert (own.low, own.high, own.mean) == (None, None, pytest.approx(sum(values) / len(values)))
    assert interval(0.3, None, 0.95).low is None


def test_a_difference_without_a_spread_is_not_testable() -> None:
    nothing = Variance({"rows": 0.0}, math.inf)
    cases = ((0.1, None, False), (0.0, nothing, True), (0.1, nothing, False))
    for mean, variance, identical in cases:
        each = intervals.difference(mean, variance, 5, 1, 0.95)
        assert (each.identical, each.testable, each.low, each.high, each.p) == (identical, False, None, None, None)


def test_equal_arms_differ_at_the_stated_rate_and_no_oftener() -> None:
    scores = np.random.default_rng(11).normal(0, 0.02, (STUDIES, 5))
    own = [difference(row.mean(), row.std(ddof=1) / math.sqrt(5), df=4) for row in scores]
    called = np.mean([known(each.p) < 0.05 for each in own])
    assert abs(called - 0.05) < 4 * standard_error(0.05)
    excluded = [not known(each.low) <= 0 <= known(each.high) for each in own]
    assert np.mean(excluded) == called, "test and interval agree"


def test_p_against_a_least_gain_is_two_sided_and_at_nothing_the_usual_p() -> None:
    gain = difference(0.02)
    assert gain.p_above(0.0) == pytest.approx(gain.p)
    assert gain.p_above(0.01) == pytest.approx(2 * stats.t.sf(1.0, 8))
    assert gain.p_above(0.02) == pytest.approx(1.0)
    assert gain.p_above(0.03) == 1.0, "a p-value ends at 1"


def test_two_differences_as_large_as_the_bound_are_called_none_at_the_stated_rate() -> None:
    """Two one-sided tests: at the bound itself they err in one study of twenty at most."""
    scores = np.random.default_rng(17).normal(0.01, 0.006, (STUDIES, 5))
    own = [difference(row.mean(), row.std(ddof=1) / math.sqrt(5), df=4).p_inside(0.01) for row in scores]
    assert np.mean([p < 0.05 for p in own]) < 0.05 + 4 * standard_error(0.05)
    assert difference(0.0, se=0.002).p_inside(0.01) == pytest.approx(stats.t.sf(5, 8))
    assert difference(-0.02, se=0.002).p_inside(0.01) == pytest.approx(stats.t.sf(-5, 8)), "both directions"


def test_the_interval_that_two_one_sided_tests_ask_for_is_narrower_and_ends_where_they_decide() -> None:
    for mean in (0.004, -0.004):
        each = difference(mean, se=0.002)
        low, high = each.inside(0.05)
        assert known(each.low) < low < high < known(each.high)
        for most, is_inside in ((1.01, True), (0.99, False)):
            assert (each.p_inside(most * max(-low, high)) < 0.05) == is_inside
