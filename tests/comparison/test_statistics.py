"""The statistics are held against simulated truth: what they promise must come true at the rate that they promise."""

import math

import numpy as np
import pytest

from adaptbert.comparison.statistics import adjusted_p, detectable, mean_interval, paired_difference, power

STUDIES = 2000


def standard_error(rate: float) -> float:
    return math.sqrt(rate * (1 - rate) / STUDIES)


@pytest.mark.parametrize(("seeds", "confidence"), [(3, 0.95), (5, 0.95), (10, 0.8)])
def test_the_interval_covers_the_true_mean_at_the_promised_rate(seeds: int, confidence: float) -> None:
    scores = np.random.default_rng(seeds).normal(0.6, 0.02, (STUDIES, seeds))
    intervals = [mean_interval(list(row), confidence) for row in scores]
    covered = np.mean([i.low <= 0.6 <= i.high for i in intervals if i.low is not None and i.high is not None])
    assert abs(covered - confidence) < 4 * standard_error(confidence)


def test_coverage_falls_only_a_little_when_a_seed_now_and_then_fails() -> None:
    random = np.random.default_rng(7)
    failed = random.random((STUDIES, 5)) < 0.05
    scores = np.where(failed, 0.5, 0.6) + random.normal(0, 0.02, failed.shape)
    truth = 0.95 * 0.6 + 0.05 * 0.5
    intervals = [mean_interval(list(row), 0.95) for row in scores]
    assert np.mean([i.low <= truth <= i.high for i in intervals if i.low is not None and i.high is not None]) > 0.88


def test_identical_arms_are_called_different_at_the_stated_rate_and_no_oftener() -> None:
    random = np.random.default_rng(11)
    called = 0
    for _ in range(STUDIES):
        arm, other = (dict(enumerate(random.normal(0.6, 0.02, 5))) for _ in range(2))
        difference = paired_difference(arm, other, 0.95)
        assert difference is not None
        assert difference.p is not None
        called += difference.p < 0.05
    assert abs(called / STUDIES - 0.05) < 4 * standard_error(0.05)


def test_six_questions_about_identical_arms_give_a_false_alarm_in_at_most_one_study_of_twenty() -> None:
    random = np.random.default_rng(13)
    alarms, unadjusted = 0, 0
    for _ in range(STUDIES):
        p_values = list(random.random(6))
        alarms += min(adjusted_p(p_values)) < 0.05
        unadjusted += min(p_values) < 0.05
    assert alarms / STUDIES < 0.05 + 4 * standard_error(0.05)
    assert unadjusted / STUDIES > 0.2


def test_the_detectable_difference_is_shown_in_four_of_five_studies() -> None:
    effect = detectable(0.02, 5, 0.95)
    differences = np.random.default_rng(17).normal(effect, 0.02, (STUDIES, 5))
    zeros = dict.fromkeys(range(5), 0.0)
    shown = [paired_difference(dict(enumerate(row)), zeros, 0.95) for row in differences]
    rate = np.mean([d.p < 0.05 for d in shown if d is not None and d.p is not None])
    assert abs(rate - 0.8) < 4 * standard_error(0.8)


def test_power_agrees_with_a_published_example() -> None:
    # Paired t-test, effect of half a standard deviation, 34 pairs, two-sided 5 %: 0.808 in Cohen's tables.
    assert power(0.5, 1.0, 34, 0.95) == pytest.approx(0.808, abs=0.001)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_the_detectable_difference_has_the_power_that_it_claims(n: int, confidence: float) -> None:
    assert power(detectable(0.013, n, confidence), 0.013, n, confidence) == pytest.approx(0.8, abs=1e-6)


def test_more_seeds_show_smaller_effects() -> None:
    effects = [detectable(0.01, n, 0.95) for n in (2, 3, 5, 10, 20)]
    assert effects == sorted(effects, reverse=True)


def test_pairing_takes_out_what_the_seed_does_to_both_arms() -> None:
    random = np.random.default_rng(19)
    luck = random.normal(0, 0.05, 5)
    arm = dict(enumerate(0.62 + luck + random.normal(0, 0.002, 5)))
    other = dict(enumerate(0.60 + luck + random.normal(0, 0.002, 5)))
    paired = paired_difference(arm, other, 0.95)
    assert paired is not None
    assert paired.interval.low is not None
    assert 0 < paired.interval.low < 0.02
    assert mean_interval(list(arm.values()), 0.95).low < 0.60  # type: ignore[operator]


def test_only_seeds_that_both_arms_have_are_paired() -> None:
    difference = paired_difference({1: 0.5, 2: 0.6, 9: 0.0}, {1: 0.4, 2: 0.55, 3: 0.9}, 0.95)
    assert difference is not None
    assert difference.interval.n == 2
    assert difference.interval.mean == pytest.approx(0.075)
    assert paired_difference({1: 0.5}, {2: 0.5}, 0.95) is None


@pytest.mark.parametrize("values", [[0.3], [0.1, 0.4], [0.1, 0.1, 0.1]])
def test_without_spread_and_below_three_seeds_no_interval_is_invented(values: list[float]) -> None:
    interval = mean_interval(values, 0.95)
    assert (interval.low, interval.high) == (None, None)
    difference = paired_difference(dict(enumerate(values)), dict.fromkeys(range(3), 0.0), 0.95)
    assert difference is not None
    assert (difference.p, difference.detectable) == (None, None)


def test_intervals_end_where_the_range_of_the_score_ends() -> None:
    scores = [0.001, 0.01, 0.2]
    uncut, cut = mean_interval(scores, 0.95), mean_interval(scores, 0.95, (0.0, 1.0))
    assert uncut.low is not None
    assert uncut.low < 0
    assert (cut.low, cut.high, cut.mean, cut.sd) == (0.0, uncut.high, uncut.mean, uncut.sd)
    assert mean_interval([0.999, 0.99, 0.7], 0.99, (0.0, 1.0)).high == 1.0
    wide = paired_difference({1: 0.9, 2: 0.5, 3: 0.1}, {1: 0.0, 2: 0.5, 3: 0.9}, 0.95, (0.0, 1.0))
    assert wide is not None
    assert (wide.interval.low, wide.interval.high) == (-1.0, 1.0)
    correlated = paired_difference({1: 0.9, 2: 0.5, 3: 0.1}, {1: 0.0, 2: 0.5, 3: 0.9}, 0.95, (-1.0, 1.0))
    assert correlated is not None
    assert correlated.interval.high == pytest.approx(2.0)
    assert correlated.p == wide.p, "the cut changes no test"


def test_holm_on_a_worked_example() -> None:
    assert adjusted_p([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjusted_p([0.9, 0.8]) == [1.0, 1.0]
    assert adjusted_p([]) == []
