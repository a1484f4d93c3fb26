"""Power of the rule that calls a difference shown, and the smallest difference that is shown in four of five studies.

The rule is a t-test of which the standard error and the degrees of freedom are themselves estimated, from mean squares
with few degrees of freedom. A formula with fixed degrees of freedom promised 80 % where 58 to 73 % of simulated studies
showed the difference (benchmarks/verdict.py); here the rule is applied to a thousand studies that might have been.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from adaptbert.statistics.intervals import MOST_DF, NO_SPREAD
from adaptbert.statistics.mean_squares import Layout, MeanSquares, of_difference, satterthwaite

POWER = 0.8
SURE = 0.9
"""Of the range in which a true spread lies."""
STUDIES = 1024
"""That might have been; a power of Sobol's two."""


class Power:
    """Of a two-sided test of the difference of two arms.

    Args:
        expected: the true spread, as the mean squares that are expected of this layout.
        rows: variance of the difference that is due to the test rows, and its degrees of freedom.
        level: of the test. Under Holm's rule over m questions it is that of the first step, (1 - confidence) / m: the
            others may all be without an effect.
    """

    def __init__(self, expected: MeanSquares, layout: Layout, rows: tuple[float, float], level: float) -> None:
        from scipy import stats

        parts, _ = of_difference(expected, layout)
        self.se = math.sqrt(max(0.0, float(sum(parts.values()))) + rows[0])
        parts, terms = of_difference(_might_have_been(expected, layout), layout)
        total = sum(parts.values()) + rows[0]
        df = np.minimum(satterthwaite(total, [*terms, rows]), MOST_DF)
        self._margins = stats.t.ppf(1 - level / 2, df) * np.sqrt(total)

    def of(self, difference: float) -> float:
        """Chance that this true difference is shown, with its sign.

        In normal data the difference is independent of the mean squares; it exceeds each of the margins with the
        chance that a normal deviation does.
        """
        from scipy import stats

        return float(stats.norm.sf((self._margins - difference) / self.se).mean())

    @property
    def detectable(self) -> float | None:
        """The true difference that is shown with a power of 80 %; None without a spread, or where even an endless
        one would not be."""
        from scipy import optimize

        if self.se <= NO_SPREAD or np.isfinite(self._margins).mean() <= POWER:
            return None
        upper = self.se
        while self.of(upper) < POWER:
            upper *= 2
        return float(optimize.brentq(lambda difference: self.of(difference) - POWER, 0.0, upper))


def spread_range(df: float) -> tuple[float, float]:
    """The true standard error lies between these multiples of the estimated one, with a chance of 90 %.

    (df x estimate^2 / truth^2 follows a chi-squared distribution with df degrees of freedom.)
    """
    from scipy import stats

    low, high = stats.chi2.ppf([0.5 - SURE / 2, 0.5 + SURE / 2], df)
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
    """Over its degrees of freedom, in each study; the four are independent. Sobol's points are even, and the same in
    every run: Owen (1998), "Scrambling Sobol' and Niederreiter-Xing points", J. Complexity 14(4)."""
    from scipy import stats

    if not df:
        return np.ones(STUDIES)
    return np.asarray(stats.chi2.ppf(_evenly()[:, mean_square], df) / df)


@cache
def _evenly() -> NDArray[np.float64]:
    from scipy.stats import qmc

    return np.asarray(qmc.Sobol(4, rng=0).random(STUDIES))
