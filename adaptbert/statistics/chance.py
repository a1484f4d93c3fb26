"""Differences of a study -> how large each one truly is, as far as its runs and the other differences tell.

By its t-distribution alone, what is probably worth having is so too seldom: of many small differences, those that came
out large are the lucky ones. So a true difference is taken to be normal around 0, of one of several sizes, whose shares
the others tell: Stephens (2017), "False discovery rates: a new deal", Biostatistics 18(2). One that is far larger than
the others may be so. No verdict depends on it.
"""

from collections.abc import Sequence

import numpy as np
import scipy

from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.study import Floats
from adaptbert.statistics.variance import NOTHING

SIZES = np.array([[0.01], [0.03], [0.09], [0.27]])
"""Standard deviations that true differences may have; beforehand, together they count as one other difference."""
EVENLY = (np.arange(512) + 0.5) / 512
ROUNDS = 30
"""Rounds of expectation and maximization; further ones change no chance by a hundredth."""


def truths(difference: Difference, others: Sequence[Difference]) -> tuple[Floats, Floats]:
    """Values that the true difference may have, and their probabilities; `others`: of the same study, all testable."""
    values, log_density = _by_itself(difference)
    of_others = [scipy.special.softmax(scipy.special.logsumexp(_by_itself(each)[1], 1)) for each in others]
    shares = np.full(len(SIZES), 1 / len(SIZES))
    for _ in range(ROUNDS):
        belonging = sum(((shares * each) / (shares @ each) for each in of_others), np.full(len(SIZES), 1 / len(SIZES)))
        shares = belonging / belonging.sum()
    return values, scipy.special.softmax(scipy.special.logsumexp(log_density + np.log(shares)[:, None], 0))


def _by_itself(difference: Difference) -> tuple[Floats, Floats]:
    """Values that the truth may have, and the logarithm of the weight of each, for each size.

    They lie densely where the t-distribution does and where those of the sizes do: the tail of the one, where the
    others have their peak, may decide.
    """
    mean, se, df = difference.mean, difference.se, difference.df
    own, of_sizes = mean + se * scipy.special.stdtrit(df, EVENLY), SIZES * scipy.special.ndtri(EVENLY)
    values = np.sort([*own, *of_sizes.flat])
    by_t = np.log(np.maximum(np.gradient(values), NOTHING)) - (df + 1) / 2 * np.log1p(((values - mean) / se) ** 2 / df)
    return values, by_t - 0.5 * np.square(values / SIZES) - np.log(SIZES)
