"""Differences of a study -> how large each one truly is, as far as its runs and the other differences tell.

Taken by its t-distribution alone, a difference that is probably worth having is so too seldom: of many small ones,
those that came out large are the lucky ones. So true differences are taken to be normal around 0, of a size that the
other differences of the study tell: Efron & Morris (1973), "Stein's estimation rule and its competitors - an empirical
Bayes approach", JASA 68(341). No verdict depends on it. tests/statistics/test_chance.py measures how often it is right.
"""

from collections.abc import Sequence

import numpy as np
import scipy

from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.study import Floats

SIZES = np.array([0.01, 0.03, 0.09])
"""Standard deviations that true differences may have, equally likely beforehand."""
POINTS = 1024


def chance(difference: Difference, least: float, others: Sequence[Difference]) -> float:
    """Chance that the true difference is at least `least`.

    Args:
        difference: one that is testable, as are the others.
        others: of the same study, which tell how large differences are in it.
    """
    truths, weights = _plausible(difference, others)
    return float(weights[truths >= least].sum())


def shrunk(difference: Difference, others: Sequence[Difference]) -> float:
    """The true difference on average, which lies between 0 and the one that was seen; arguments as above."""
    truths, weights = _plausible(difference, others)
    return float(truths @ weights)


def _plausible(difference: Difference, others: Sequence[Difference]) -> tuple[Floats, Floats]:
    """Values that the true difference may have, and their weights."""
    truths = _by_itself(difference)
    of_sizes = sum(
        (scipy.special.logsumexp(_log_density(_by_itself(each)), 1) for each in others), np.zeros(len(SIZES))
    )
    weights = scipy.special.logsumexp(of_sizes[:, None] + _log_density(truths), 0)
    return truths, scipy.special.softmax(weights)


def _by_itself(difference: Difference) -> Floats:
    """Values that are equally likely by this difference alone."""
    evenly = (np.arange(POINTS) + 0.5) / POINTS
    return np.asarray(difference.mean + difference.se * scipy.special.stdtrit(difference.df, evenly))


def _log_density(truths: Floats) -> Floats:
    """Of each size, (sizes, values)."""
    return np.asarray(-0.5 * np.square(truths / SIZES[:, None]) - np.log(SIZES[:, None]))
