"""Means and differences with their standard errors -> intervals and p-values.

`import scipy` alone is cheap: its parts are loaded where they are used first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy

from adaptbert.statistics.variance import Variance

FEWEST_SEEDS = 3
"""Fewest seeds of an interval. Of two values, the 95 % interval is 13 times as wide as they lie apart."""
NO_SPREAD = 1e-12
MOST_DF = 1e6
Range = tuple[float, float]
ANYWHERE: Range = (-math.inf, math.inf)


@dataclass(frozen=True)
class Interval:
    """A mean and its t-interval.

    Attributes:
        low, high: None where there is no usable spread: fewer than `FEWEST_SEEDS` seeds, or equal scores everywhere.
        sources: what the interval covers: some of `replicates`, `seeds`, `rows`.
    """

    mean: float
    low: float | None
    high: float | None
    sources: tuple[str, ...] = ("seeds",)


@dataclass(frozen=True)
class Difference:
    """The mean of one arm minus that of another.

    Attributes:
        seeds: that both arms have.
        replicates: the fewest of a trained checkpoint of the two; 0 where neither has one of its own.
        se, df: the standard error and its degrees of freedom; 0 below `FEWEST_SEEDS` seeds.
        low, high: None where there is no usable spread: fewer than `FEWEST_SEEDS` seeds, or equal scores everywhere.
        p: two-sided, of the hypothesis that there is no difference; for this question alone.
        variance: source of the spread -> its share; None below `FEWEST_SEEDS` seeds.
    """

    mean: float
    seeds: int
    replicates: int
    se: float
    df: float
    low: float | None
    high: float | None
    p: float | None
    variance: dict[str, float] | None

    @property
    def testable(self) -> bool:
        return self.p is not None

    @property
    def identical(self) -> bool:
        """Whether all runs of both arms have the same score, on every part of the test rows."""
        return self.variance is not None and not self.testable and abs(self.mean) <= NO_SPREAD

    def p_above(self, least: float) -> float:
        """p-value of the hypothesis that the difference is at most `least`; two-sided, so that at 0 it is `p`. Like
        those below for a difference that is testable."""
        return min(1.0, 2 * float(scipy.special.stdtr(self.df, (least - self.mean) / self.se)))

    def p_inside(self, most: float) -> float:
        """p-value of the hypothesis that the difference is larger than `most` in either direction: two one-sided tests.

        Schuirmann (1987), "A comparison of the two one-sided tests procedure ...", J. Pharmacokinet. Biopharm. 15(6).
        """
        return float(scipy.special.stdtr(self.df, (abs(self.mean) - most) / self.se))

    def inside(self, level: float) -> Range:
        """The interval that lies within ± `most` where `p_inside(most)` is below the level: of 1 - 2 x level."""
        margin = float(scipy.special.stdtrit(self.df, 1 - level)) * self.se
        return self.mean - margin, self.mean + margin


def difference(
    mean: float, variance: Variance | None, seeds: int, replicates: int, confidence: float, within: Range = ANYWHERE
) -> Difference:
    """A difference with its interval, cut off at the least and the largest possible one; without a variance where there
    are fewer than `FEWEST_SEEDS` seeds."""
    if variance is None:
        return Difference(mean, seeds, replicates, 0.0, 0.0, None, None, None, None)
    se, df, parts = math.sqrt(variance.total), min(variance.df, MOST_DF), dict(variance.parts)
    low, high = _ends(mean, variance, confidence, within)
    p = None if low is None else 2 * float(scipy.special.stdtr(df, -abs(mean) / se))
    return Difference(mean, seeds, replicates, se, df, low, high, p, parts)


def interval(mean: float, variance: Variance | None, confidence: float, within: Range = ANYWHERE) -> Interval:
    """A mean with its interval, cut off at the least and the largest possible one; `variance` as above."""
    low, high = _ends(mean, variance, confidence, within)
    if variance is None or low is None:
        return Interval(mean, None, None)
    return Interval(mean, low, high, tuple(variance.parts))


def _ends(mean: float, variance: Variance | None, confidence: float, within: Range) -> Range | tuple[None, None]:
    """Mean +- t(df) * standard error; the cut changes no test."""
    if variance is None or variance.total <= NO_SPREAD**2:
        return None, None
    margin = float(scipy.special.stdtrit(min(variance.df, MOST_DF), 0.5 + confidence / 2)) * math.sqrt(variance.total)
    return max(mean - margin, within[0]), min(mean + margin, within[1])


def mean_interval(values: Sequence[float], confidence: float, within: Range = ANYWHERE) -> Interval:
    """The mean of independent values.

    Student (1908), "The probable error of a mean", Biometrika 6(1). It assumes that values are roughly normal;
    tests/statistics/test_intervals.py measures the coverage where they are and where they are skewed.
    """
    n, mean, variance = len(values), math.fsum(values) / len(values), None
    if n >= FEWEST_SEEDS:
        variance = Variance({"seeds": math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n}, n - 1)
    return interval(mean, variance, confidence, within)
