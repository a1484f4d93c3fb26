"""Power of the rule that calls a difference shown, the smallest difference that is shown in four of five studies, and
how many replicates and seeds would show another one.

The rule is a t-test of which the standard error and the degrees of freedom are themselves estimated, from mean squares
with few degrees of freedom. A formula with fixed degrees of freedom promised 80 % where 58 to 73 % of simulated studies
showed the difference (benchmarks/verdict.py); here the rule is applied to hundreds of studies that might have been.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import numpy as np
import scipy

from adaptbert.statistics.intervals import MOST_DF, NO_SPREAD
from adaptbert.statistics.spread import Layout, MeanSquares, Spread, of_difference
from adaptbert.statistics.variance import ROWS, Floats, central, margin, over_chi_squared

POWER = 0.8
SURE = 0.9
"""Confidence of the range in which a true spread lies."""
STUDIES = 128
"""Studies that might have been; a power of Sobol's two."""
THINNED = 4
"""One of so many values that a variance may have, in their order, is tried."""
MOST_REPLICATES, MOST_SEEDS = 12, 20
"""Largest design that is considered."""


@dataclass(frozen=True)
class Components:
    """Variances by source: the spread as it is, or is taken to be.

    Attributes:
        replicate: of a replicate of every arm, the two that are compared first; (arms,). Those of arms that are trained
            once do not count.
        rest: of a single run.
        pair, others: of what a seed does to one arm and not to another, as in `MeanSquares`.
    """

    replicate: Floats
    rest: float
    pair: float
    others: float

    @classmethod
    def of(cls, spread: Spread, arm: str, other: str) -> Self:
        """The variances behind the mean squares of a study, as far as they can be told."""
        layout, squares, rest = spread.layout(arm, other), spread.mean_squares(arm, other), spread.rest
        (in_pair, in_others), between = _rest_in_means(layout), squares.between
        if any(layout.df_between):  # without replicates there is no rest to be told
            between = central(between, layout.df_between) - rest / layout.seeds
        of_pair, of_others = float(squares.pair) - rest * in_pair, float(squares.others) - rest * in_others
        return cls(np.maximum(0.0, between), rest, max(0.0, of_pair), max(0.0, of_others))

    def of_difference(self, layout: Layout) -> float:
        """Variance of the difference of two means over replicates and seeds."""
        counts, (rest, _) = layout.replicates, _rest_in_means(layout)
        of_replicates = sum(float(own) / count for own, count in zip(self.replicate, counts, strict=False) if count)
        return of_replicates + 2 * (self.pair + self.rest * rest) / layout.seeds

    def in_studies(self, layout: Layout) -> MeanSquares:
        """Mean squares of studies that might have been: of normal data, each is its expectation times a chi-squared
        variable over its degrees of freedom."""
        in_pair, in_others = _rest_in_means(layout)
        of_seeds = self.pair + self.rest * in_pair, self.others + self.rest * in_others
        expected = [*(self.replicate + self.rest / layout.seeds), *of_seeds]
        df = [*layout.df_between, layout.seeds - 1, layout.df_others]
        points = scipy.stats.qmc.Sobol(len(df), rng=0).random(STUDIES).T
        *found, pair, others = [
            own * (scipy.special.chdtri(of, point) / of if of else np.ones(STUDIES))
            for own, of, point in zip(expected, df, points, strict=True)
        ]
        return MeanSquares(np.stack(found, -1), pair, others)


def _rest_in_means(layout: Layout) -> tuple[float, float]:
    """The share of the rest that is left in the mean of a seed over the replicates of an arm: as a mean over the two
    that are compared, and over all contrasts of arms beside theirs."""
    shares = [1 / max(1, count) for count in (*layout.replicates, *layout.others)]
    in_pair = sum(shares[:2]) / 2
    in_all = (len(shares) - 1) * sum(shares) / len(shares)
    return in_pair, (in_all - in_pair) / max(1, len(shares) - 2)


@dataclass(frozen=True)
class Power:
    """Power of a two-sided test of the difference of two arms.

    Attributes:
        spread: the true one.
        rows: variance of the difference that is due to the test rows, and its degrees of freedom.
        level: of the test. Under Holm's rule over m questions it is that of the first step, (1 - confidence) / m: the
            others may all be without an effect.
    """

    spread: Components
    layout: Layout
    rows: tuple[float, float]
    level: float

    def repeated(self, replicates: int, seeds: int) -> "Power":
        """Power of the same study with other numbers."""
        return replace(self, layout=self.layout.repeated(replicates, seeds))

    @cached_property
    def _se(self) -> float:
        return math.sqrt(self.spread.of_difference(self.layout) + self.rows[0])

    @cached_property
    def _margins(self) -> Floats:
        """What a difference exceeds where it is shown, in studies that might have been."""
        sources = of_difference(self.spread.in_studies(self.layout), self.layout)
        of_rows = self.rows[0] * over_chi_squared(self.rows[1], ROWS)
        variance = np.sort(np.sum([*sources.values()], 0) + of_rows)[..., THINNED // 2 :: THINNED]
        return margin(variance, self.level)

    def of(self, difference: float) -> float:
        """Chance that this true difference is shown, with its sign.

        In normal data the difference is independent of the mean squares; it exceeds each of the margins with the
        chance that a normal deviation does.
        """
        return float(scipy.stats.norm.sf((self._margins - difference) / self._se).mean())

    @property
    def detectable(self) -> float | None:
        """The true difference that is shown with a power of 80 %; None without a spread, or where even an endless
        one would not be."""
        if self._se <= NO_SPREAD or np.isfinite(self._margins).mean() <= POWER:
            return None
        upper = self._se
        while self.of(upper) < POWER:
            upper *= 2
        return float(scipy.optimize.brentq(lambda difference: self.of(difference) - POWER, 0.0, upper))

    @property
    def of_rows_alone(self) -> float:
        """What not even endless replicates and seeds could show, because the test rows are what they are."""
        variance, df = self.rows
        return float(sum(scipy.stats.t.ppf([1 - self.level / 2, POWER], min(df, MOST_DF)))) * math.sqrt(variance)

    @property
    def now(self) -> tuple[int, int]:
        """The most replicates of an arm, and the seeds."""
        return max(1, *self.layout.replicates, *self.layout.others), self.layout.seeds

    def cheapest(self, difference: float, price: Callable[[int, int], float]) -> tuple[int, int] | None:
        """The cheapest replicates and seeds that show this difference, with at least those that are there; None where
        none of those considered do, or the spread of replicates is not known."""
        if not any(self.layout.df_between):
            return None
        replicates, seeds = range(self.now[0], MOST_REPLICATES + 1), self.now[1]
        return cheapest(lambda *numbers: self.repeated(*numbers).of(difference), price, replicates, seeds)


@dataclass(frozen=True)
class Design:
    """Fewest replicates and seeds that would show a gain that is just worth having in four of five studies.

    Attributes:
        tflop: what a study with them costs.
    """

    replicates: int
    seeds: int
    tflop: float


def spread_range(df: float) -> tuple[float, float]:
    """The true standard error lies between these multiples of the estimated one, with a chance of 90 %.

    (df x estimate^2 / truth^2 follows a chi-squared distribution with df degrees of freedom.)
    """
    low, high = scipy.stats.chi2.ppf([0.5 - SURE / 2, 0.5 + SURE / 2], df)
    return math.sqrt(df / float(high)), math.sqrt(df / float(low))


def cheapest(
    power: Callable[[int, int], float], price: Callable[[int, int], float], replicates: Sequence[int], seeds: int
) -> tuple[int, int] | None:
    """Replicates, of these, and at least so many seeds that have a power of 80 % and the lowest price; None where none
    of those considered have it.

    Args:
        power: of replicates and seeds; more of them have more.
    """
    designs, every = list[tuple[int, int]](), range(seeds, max(seeds, MOST_SEEDS) + 1)
    if not replicates or power(replicates[-1], every[-1]) < POWER:
        return None
    for count in replicates:
        fewest = bisect_left(every, POWER, key=partial(power, count))
        designs += [(count, number) for number in every[fewest : fewest + 1]]
    return min(designs, key=lambda design: (price(*design), sum(design)))
