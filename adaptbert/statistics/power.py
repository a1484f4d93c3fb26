"""Power of the rule that calls a difference shown, the smallest difference that is shown in four of five studies, and
how many replicates and seeds would show another one.

The rule is a t-test of which the standard error and the degrees of freedom are themselves estimated, from mean squares
with few degrees of freedom. A formula with fixed degrees of freedom promised 80 % where 58 to 73 % of simulated studies
showed the difference (benchmarks/verdict.py); here the rule is applied to a thousand studies that might have been.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from adaptbert.statistics.intervals import MOST_DF, NO_SPREAD
from adaptbert.statistics.spread import Layout, MeanSquares, Spread, of_difference, satterthwaite

POWER = 0.8
SURE = 0.9
"""Confidence of the range in which a true spread lies."""
STUDIES = 1024
"""Studies that might have been; a power of Sobol's two."""
MOST_REPLICATES, MOST_SEEDS = 12, 20
"""Largest design that is considered."""


class Power:
    """Power of a two-sided test of the difference of two arms.

    Args:
        expected: the true spread, as the mean squares that are expected of this layout.
        rows: variance of the difference that is due to the test rows, and its degrees of freedom.
        level: of the test. Under Holm's rule over m questions it is that of the first step, (1 - confidence) / m: the
            others may all be without an effect.
    """

    def __init__(self, expected: MeanSquares, layout: Layout, rows: tuple[float, float], level: float) -> None:
        parts, _ = of_difference(expected, layout)
        self.se = math.sqrt(max(0.0, float(sum(parts.values()))) + rows[0])
        parts, terms = of_difference(_might_have_been(expected, layout), layout)
        total = sum(parts.values()) + rows[0]
        df = np.minimum(satterthwaite(total, [*terms, rows]), MOST_DF)
        self._margins = scipy.stats.t.ppf(1 - level / 2, df) * np.sqrt(total)

    def of(self, difference: float) -> float:
        """Chance that this true difference is shown, with its sign.

        In normal data the difference is independent of the mean squares; it exceeds each of the margins with the
        chance that a normal deviation does.
        """
        return float(scipy.stats.norm.sf((self._margins - difference) / self.se).mean())

    @property
    def detectable(self) -> float | None:
        """The true difference that is shown with a power of 80 %; None without a spread, or where even an endless
        one would not be."""
        if self.se <= NO_SPREAD or np.isfinite(self._margins).mean() <= POWER:
            return None
        upper = self.se
        while self.of(upper) < POWER:
            upper *= 2
        return float(scipy.optimize.brentq(lambda difference: self.of(difference) - POWER, 0.0, upper))


def spread_range(df: float) -> tuple[float, float]:
    """The true standard error lies between these multiples of the estimated one, with a chance of 90 %.

    (df x estimate^2 / truth^2 follows a chi-squared distribution with df degrees of freedom.)
    """
    low, high = scipy.stats.chi2.ppf([0.5 - SURE / 2, 0.5 + SURE / 2], df)
    return math.sqrt(df / float(high)), math.sqrt(df / float(low))


def _might_have_been(expected: MeanSquares, layout: Layout) -> MeanSquares:
    """A mean square of normal data is its expectation times a chi-squared variable over its degrees of freedom.

    The pair's own is one part of `seed x arm`; the other part, of the contrasts that are none of this pair, is
    independent of it.
    """
    of_all, of_pair = layout.df_seed_by_arm, layout.df_seed_by_pair
    pair = expected.seed_by_pair * _chi_squared(2, of_pair)
    others = np.maximum(0.0, of_all * expected.seed_by_arm - of_pair * expected.seed_by_pair)
    return MeanSquares(
        expected.between * _chi_squared(0, layout.df_between),
        expected.rest * _chi_squared(1, layout.df_rest),
        (of_pair * pair + others * _chi_squared(3, of_all - of_pair)) / of_all,
        pair,
    )


@cache
def _chi_squared(mean_square: int, df: int) -> NDArray[np.float64]:
    """Values over their degrees of freedom, in each study; the four are independent. Sobol's points are even, and the
    same in every run: Owen (1998), "Scrambling Sobol' and Niederreiter-Xing points", J. Complexity 14(4)."""
    if not df:
        return np.ones(STUDIES)
    return np.asarray(scipy.stats.chi2.ppf(_evenly()[:, mean_square], df) / df)


@cache
def _evenly() -> NDArray[np.float64]:
    return np.asarray(scipy.stats.qmc.Sobol(4, rng=0).random(STUDIES))


class QuestionSpread:
    """The spread of the difference of two arms, taken apart so that other numbers of replicates and seeds can be tried.

    Args:
        spread: that the difference is judged by.
        rows: variance of the difference that is due to the test rows, and its degrees of freedom.
        level: of the test.
    """

    def __init__(self, spread: Spread, arm: str, other: str, rows: tuple[float, float], level: float) -> None:
        self.spread = spread
        self.squares = spread.mean_squares(arm, other)
        self.layout = spread.layout(arm, other)
        self.rows, self._level = rows, level

    @cached_property
    def power(self) -> Power:
        """Power of the study as it is."""
        return Power(self._expected(self.layout), self.layout, self.rows, self._level)

    def detectable(self, replicates: int, seeds: int) -> float | None:
        """The difference that such a design shows with a power of 80 %; None where the spread of replicates is not
        known."""
        if not self.layout.df_between:
            return None
        trained = sum(self.spread.replicates(arm) > 0 for arm in self.spread.arms)
        pooled = (replicates,) * trained + (1,) * (len(self.spread.arms) - trained)
        first, second = (replicates if count else 0 for count in self.layout.replicates)
        other = Layout((first, second), seeds, pooled)
        return Power(self._expected(other), other, self.rows, self._level).detectable if other.df_between else None

    @property
    def of_rows_alone(self) -> float:
        """What not even endless replicates and seeds could show, because the test rows are what they are."""
        variance, df = self.rows
        if not variance:
            return 0.0
        return float(sum(scipy.stats.t.ppf([1 - self._level / 2, POWER], min(df, MOST_DF)))) * math.sqrt(variance)

    def _expected(self, layout: Layout) -> MeanSquares:
        """The mean squares of another layout, if the variances of replicate, seed x arm and rest are as estimated."""
        squares, now = self.squares, self.layout
        if not now.df_between:
            return squares
        replicate = max(0.0, squares.between - squares.rest / now.seeds)
        rest = squares.rest
        of_arms = max(0.0, squares.seed_by_arm - rest * now.rest_in_means)
        of_pair = max(0.0, squares.seed_by_pair - rest * now.rest_in_pair)
        return MeanSquares(
            replicate + rest / layout.seeds,
            rest,
            of_arms + rest * layout.rest_in_means,
            of_pair + rest * layout.rest_in_pair,
        )


@dataclass(frozen=True)
class Design:
    """Fewest replicates and seeds that would show a gain that is just worth having in four of five studies.

    Attributes:
        tflop: what it costs beyond what is there.
    """

    replicates: int
    seeds: int
    tflop: float


def cheapest(question: QuestionSpread, min_gain: float, price: Callable[[int, int], float]) -> Design | None:
    """The cheapest design with at least the replicates and seeds that are there; None where none of those considered
    suffices.

    Args:
        price: replicates and seeds -> TFLOP beyond what is there.
    """
    spread = question.spread
    most, now = max(map(spread.replicates, spread.arms), default=1), len(spread.seeds)
    designs = [
        Design(count, seeds, price(count, seeds))
        for count in range(max(1, most), MOST_REPLICATES + 1)
        for seeds in range(now, max(now, MOST_SEEDS) + 1)
    ]
    for design in sorted(designs, key=lambda design: (design.tflop, design.replicates + design.seeds)):
        least = question.detectable(design.replicates, design.seeds)
        if least is not None and least <= min_gain:
            return design
    return None
