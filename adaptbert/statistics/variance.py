"""Mean squares -> what the variances behind them may be, and what an estimate with such a variance is worth.

Two or three replicates of one arm say little about how far its replicates lie apart, and arms may scatter unequally. So
every arm has a variance of its own, and the arms of a task have a common scale: the hierarchical model of Smyth (2004),
"Linear models and empirical Bayes methods for assessing differential expression in microarray experiments", with the
scale uncertain as well. What is known of a variance is held as `DRAWS` values that it may have. A difference is judged
over all of them, which is a generalised p-value: Tsui & Weerahandi (1989), "Generalized p-values in significance
testing of hypotheses in the presence of nuisance parameters", JASA 84(406).

Mean squares may be those of one study or of many, so that the same rule judges one and, for its power, a hundred that
might have been.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

ALIKE = 1.25
"""Degrees of freedom with which the common scale speaks for each arm: the fewer, the less alike arms are taken to be.
With 2 an arm that scatters three times as far as the others errs in over 7 % of studies; with 1 arms that scatter alike
lose power (docs/decisions/0047-arms-that-scatter-unequally.md)."""
NOTHING = 1e-24
"""A sum of squares below which scores are equal but for the arithmetic."""
Floats = NDArray[np.floating[Any]]
Sources = Mapping[str, Floats]
"""Source of the spread -> what its share of a variance may be, (..., `DRAWS`)."""
DRAWS = 512
"""Values of a variance that is not known; a power of Sobol's two."""
SCALE, FIRST, SECOND, SCALE_OF_SEEDS, PAIR, ROWS = range(6)
"""Columns of Sobol's points: sources of spread that are independent of one another."""


@cache
def over_chi_squared(df: float, column: int) -> NDArray[np.float64]:
    """Degrees of freedom over chi-squared values: a variance over its mean square."""
    return np.asarray(df / scipy.special.chdtri(df, _evenly()[:, column]))


@cache
def _evenly() -> NDArray[np.float64]:
    """Sobol's points, of which each column has one value in the middle of every interval of 1 / `DRAWS`, the same in
    every run: Owen (1998), "Scrambling Sobol' and Niederreiter-Xing points", J. Complexity 14(4)."""
    points = scipy.stats.qmc.Sobol(ROWS + 1, rng=0).random(DRAWS)
    return np.asarray((np.floor(points * DRAWS) + 0.5) / DRAWS)


def moderated(own: Floats, df: int, scale: Floats | None, column: int) -> Floats:
    """What the variance behind a mean square may be, (..., `DRAWS`).

    Args:
        own: the mean square, with so many degrees of freedom.
        scale: that it has in common with others, (..., `DRAWS`); None: there are no others.
    """
    if scale is None:
        return own[..., None] * over_chi_squared(df, column)
    together = df + ALIKE
    return (df * own[..., None] + ALIKE * scale) / together * over_chi_squared(together, column)


def central(squares: Floats, df: Sequence[int]) -> Floats:
    """The most probable of what the variances behind mean squares may be, (mean squares,)."""
    scale = np.exp(np.log(np.maximum(common_scale(squares, df), NOTHING)).mean())
    degrees = np.array(df)
    return np.asarray((degrees * squares + ALIKE * scale) / (degrees + ALIKE))


STEPS = np.linspace(-12.0, 10.0, 80)
"""Logarithms of the common scale beside the mean of all mean squares."""


def common_scale(squares: Floats, df: Sequence[int], column: int = SCALE) -> Floats:
    """What the common scale of some mean squares may be, (..., `DRAWS`), if nothing was known of its logarithm.

    A mean square over the scale follows an F distribution with its own and `ALIKE` degrees of freedom.

    Args:
        squares: (..., mean squares).
        df: of each; one without any says nothing.
    """
    known = [place for place, own in enumerate(df) if own]
    squares, degrees = squares[..., known], np.array(df)[known]
    mean = (squares @ degrees) / degrees.sum()
    ratios = squares / np.where(mean > NOTHING, mean, 1.0)[..., None]
    densities = np.zeros((*squares.shape[:-1], len(STEPS)))
    for place, own in enumerate(degrees):
        over_scale = ratios[..., place, None] * np.exp(-STEPS)
        densities = densities - own / 2 * STEPS - (own + ALIKE) / 2 * np.log1p(own / ALIKE * over_scale)
    weights = np.exp(densities - densities.max(-1, keepdims=True))
    cumulated = np.cumsum(weights, -1)
    evenly = _evenly()[:, column]
    shares = (cumulated - weights / 2) / cumulated[..., -1:]
    flat = shares.reshape(-1, len(STEPS))
    logs = np.stack([np.interp(evenly, own, STEPS) for own in flat]).reshape(*shares.shape[:-1], DRAWS)
    return np.where(mean > NOTHING, mean, 0.0)[..., None] * np.exp(logs)


FITTED_AT = 0.05, 0.005
"""Two-sided levels: of one question, and of one of many."""
_DF = np.geomspace(0.5, 1e6, 400)


def as_student(variance: Floats) -> tuple[Floats, Floats]:
    """Standard error and degrees of freedom of Student's t which, at `FITTED_AT`, has the quantiles of a normal
    deviation whose variance may be any of these, (..., `DRAWS`)."""
    usual, far = (margin(variance, level) for level in FITTED_AT)
    of_t = [scipy.special.stdtrit(_DF, 1 - level / 2) for level in FITTED_AT]
    ratio = np.divide(far, usual, out=np.ones_like(usual), where=usual > 0)
    df = np.exp(np.interp(-np.log(ratio), -np.log(of_t[1] / of_t[0]), np.log(_DF)))
    return usual / scipy.special.stdtrit(df, 1 - FITTED_AT[0] / 2), df


def margin(variance: Floats, level: float) -> Floats:
    """What a normal deviation whose variance may be any of these exceeds, in either direction, with this probability.

    By halving an interval that holds it, on a logarithmic scale; the last step is a straight line.
    """
    se = np.sqrt(np.maximum(variance, NOTHING**2))
    low, high = (np.log(end * float(scipy.special.ndtri(1 - level / 2))) for end in (se.min(-1), se.max(-1)))

    def beyond(logs: Floats) -> Floats:
        return np.asarray(2 * scipy.special.ndtr(-np.exp(logs)[..., None] / se).mean(-1))

    for _ in range(8):
        middle = (low + high) / 2
        is_low = beyond(middle) > level
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    at_low, at_high = beyond(low), beyond(high)
    step = np.where(at_low > at_high, at_low - level, 0.0) / np.where(at_low > at_high, at_low - at_high, 1.0)
    return np.asarray(np.exp(low + step * (high - low)))


@dataclass(frozen=True)
class Variance:
    """Variance of a mean or a difference, as of an estimate with so many degrees of freedom.

    Attributes:
        parts: source of the spread -> its share.
    """

    parts: Mapping[str, float]
    df: float

    @property
    def total(self) -> float:
        return sum(self.parts.values())


def variance_of(sources: Sources) -> Variance:
    """What is left of all that a variance may be: the shares of the sources are as their medians."""
    se, df = as_student(np.sum([*sources.values()], 0))
    medians = {source: float(np.median(share)) for source, share in sources.items()}
    whole = sum(medians.values()) or 1.0
    return Variance({source: float(se) ** 2 * median / whole for source, median in medians.items()}, float(df))


def median_of(sources: Sources) -> float:
    """The median of all that a variance may be."""
    return float(np.median(np.sum([*sources.values()], 0))) if sources else 0.0
