"""Scores by seed -> means, intervals, paired differences, verdicts and detectable effects.

Pure functions. The intervals cover the spread over fine-tuning seeds alone: a pre-training run is one draw, and its
spread is not measured.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

ADJUSTMENT = "Holm"
"""Whose method `adjusted_p` is, for tables and sentences."""
POWER = 0.8
FEWEST_SEEDS = 3
"""That an interval needs. Between two values, a 95 % interval is 13 times as wide as the values lie apart."""
NO_SPREAD = 1e-12
Range = tuple[float, float]
Verdict = Literal["gain", "loss", "likely_gain", "likely_loss", "not_shown", "untested"]
ANYWHERE: Range = (-math.inf, math.inf)


@dataclass(frozen=True)
class Interval:
    """A mean and its t-interval.

    Attributes:
        low, high: None where the seeds have no usable spread: fewer than `FEWEST_SEEDS`, or all with the same value.
        sd: standard deviation with n - 1 in the denominator; None below `FEWEST_SEEDS` values.
    """

    mean: float
    low: float | None
    high: float | None
    sd: float | None
    n: int


@dataclass(frozen=True)
class Difference:
    """One arm minus another, paired by seed.

    Attributes:
        p: two-sided p-value of the paired t-test, for this comparison alone; None where there is no interval.
        detectable: the smallest difference that so many seeds show in four of five studies; None without an interval.
    """

    interval: Interval
    p: float | None
    detectable: float | None


def mean_interval(values: Sequence[float], confidence: float, within: Range = ANYWHERE) -> Interval:
    """Mean +- t(n-1) * sd / sqrt(n), cut off at the least and the largest possible mean.

    Student (1908), "The probable error of a mean", Biometrika 6(1). It assumes that scores are roughly normal over
    seeds; tests/comparison/test_statistics.py measures the coverage where they are and where they are skewed. The true
    mean lies within the range, so that the cut does not reduce the coverage.
    """
    from scipy import stats

    n = len(values)
    mean = math.fsum(values) / n
    if n < FEWEST_SEEDS:
        return Interval(mean, None, None, None, n)
    if max(values) - min(values) < NO_SPREAD:
        return Interval(mean, None, None, 0.0, n)
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    low, high = stats.t.interval(confidence, n - 1, loc=mean, scale=sd / math.sqrt(n))
    return Interval(mean, max(float(low), within[0]), min(float(high), within[1]), sd, n)


def paired_difference(
    arm: Mapping[int, float], other: Mapping[int, float], confidence: float, within: Range = ANYWHERE
) -> Difference | None:
    """`arm` minus `other` over the seeds that both have; None where they share no seed.

    The paired t-test: Student (1908), section IX. The same seed gives both arms the same order of examples and the
    same first classifier weights, which pairing takes out of the difference.

    Args:
        within: the least and the largest value of a single score.
    """
    from scipy import stats

    differences = [arm[seed] - other[seed] for seed in sorted(arm.keys() & other.keys())]
    if not differences:
        return None
    reach = within[1] - within[0]
    interval = mean_interval(differences, confidence, (-reach, reach))
    if interval.low is None or interval.sd is None:
        return Difference(interval, None, None)
    p = float(stats.ttest_1samp(differences, 0.0).pvalue)
    return Difference(interval, p, detectable(interval.sd, interval.n, confidence))


def adjusted_p(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for several tests, in the order of the argument.

    Holm (1979), "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6(2): the k-th smallest
    of m is multiplied by m - k + 1, and an adjusted value is never below that of a smaller p-value.
    """
    m = len(p_values)
    adjusted = [0.0] * m
    largest = 0.0
    for rank, index in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (m - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def verdict(answer: Difference | None, adjusted: float | None, confidence: float) -> Verdict:
    """What may be said of a difference.

    Args:
        adjusted: its p-value, adjusted for all the questions that were tested on the task.

    Returns:
        `gain` and `loss` where the adjusted p-value is below 1 - `confidence`, `likely_` where only its own is.
    """
    if answer is None or answer.p is None or adjusted is None:
        return "untested"
    up = answer.interval.mean > 0
    if adjusted < 1 - confidence:
        return "gain" if up else "loss"
    if answer.p < 1 - confidence:
        return "likely_gain" if up else "likely_loss"
    return "not_shown"


def power(difference: float, sd: float, n: int, confidence: float) -> float:
    """Chance that a paired t-test on n seeds shows a true mean difference, with its sign, if differences have this sd.

    The test statistic follows a non-central t with n - 1 degrees of freedom and non-centrality
    difference / (sd / sqrt(n)): Cohen (1988), "Statistical Power Analysis for the Behavioral Sciences", 2nd ed., ch. 2.
    """
    from scipy import stats

    critical = stats.t.ppf(0.5 + confidence / 2, n - 1)
    shift = difference * math.sqrt(n) / sd
    return float(stats.nct.sf(critical, n - 1, shift))


def detectable(sd: float, n: int, confidence: float) -> float:
    """The smallest true difference that n seeds would have shown with a power of 80 %, by solving `power` for it.

    The observed sd stands for the true one, which is uncertain with few seeds. It holds for a single comparison, before
    the adjustment for several comparisons.
    """
    from scipy import optimize

    scale = sd / math.sqrt(n)
    upper = scale
    while power(upper, sd, n, confidence) < POWER:
        upper *= 2
    return float(optimize.brentq(lambda difference: power(difference, sd, n, confidence) - POWER, 0.0, upper))
