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

SIZES = np.array([[0.01], [0.03], [0.09]])
"""Standard deviations that true differences may have, equally likely beforehand."""
EVENLY = (np.arange(512) + 0.5) / 512


def chance(difference: Difference, least: float, others: Sequence[Difference]) -> float:
    """Chance that the true difference is at least `least`; `others`: of the same study, all of them testable."""
    truths, log_density = _by_itself(difference)
    of_sizes = [scipy.special.logsumexp(_by_itself(each)[1], 1, keepdims=True) for each in others]
    weights = scipy.special.softmax(scipy.special.logsumexp(sum(of_sizes, log_density), 0))
    return float(weights[truths >= least].sum())


def _by_itself(difference: Difference) -> tuple[Floats, Floats]:
    """Values that are equally likely by this difference alone, and the logarithm of their density for each size."""
    truths = np.asarray(difference.mean + difference.se * scipy.special.stdtrit(difference.df, EVENLY))
    return truths, -0.5 * np.square(truths / SIZES) - np.log(SIZES)
