"""Differences of a study -> how large each one truly is, as far as its runs and the other differences tell.

By its t-distribution alone, what is probably worth having is so too seldom: of many small differences, those that came
out large are the lucky ones. So true ones are taken to be normal around 0, of a size that the others tell: Efron &
Morris (1973), "Stein's estimation rule and its competitors", JASA 68(341). No verdict depends on it.
"""

from collections.abc import Sequence

import numpy as np
import scipy

from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.study import Floats
from adaptbert.statistics.variance import NOTHING

SIZES = np.array([[0.01], [0.03], [0.09], [0.27]])
"""Standard deviations that true differences may have, equally likely beforehand."""
UNLIKE = 0.2
"""Chance beforehand that a difference is of a size of its own, whatever the others tell. Without it, and the largest
size, one of 12 points among three of none, with 2.5 degrees of freedom, was called the less likely the larger it was,
and a loss of 43 points was likely to be a gain (37 in 100)."""
EVENLY = (np.arange(512) + 0.5) / 512


def chance(difference: Difference, least: float, others: Sequence[Difference]) -> float:
    """Chance that the true difference is at least `least`; `others`: of the same study, all of them testable."""
    truths, log_density = _by_itself(difference)
    of_sizes = [scipy.special.logsumexp(_by_itself(each)[1], 1, keepdims=True) for each in others]
    by_others = scipy.special.softmax(sum(of_sizes, np.zeros_like(SIZES)), 0)
    of_its_size = np.log((1 - UNLIKE) * by_others + UNLIKE / len(SIZES))
    weights = scipy.special.softmax(scipy.special.logsumexp(log_density + of_its_size, 0))
    return float(weights[truths >= least].sum())


def _by_itself(difference: Difference) -> tuple[Floats, Floats]:
    """Values that the truth may have, and the logarithm of the weight of each, for each size.

    They lie densely where the t-distribution does and where those of the sizes do: the tail of the one, where the
    others have their peak, may decide.
    """
    mean, se, df = difference.mean, difference.se, difference.df
    own, of_sizes = mean + se * scipy.special.stdtrit(df, EVENLY), SIZES * scipy.special.ndtri(EVENLY)
    truths = np.sort([*own, *of_sizes.flat])
    by_t = np.log(np.maximum(np.gradient(truths), NOTHING)) - (df + 1) / 2 * np.log1p(((truths - mean) / se) ** 2 / df)
    return truths, by_t - 0.5 * np.square(truths / SIZES) - np.log(SIZES)
