"""Answers to the test rows -> how far a score would lie off with other test rows: a paired bootstrap.

All runs are scored on the same resampled rows, and the whole metric is computed anew each time, so that what rows do
to all arms alike leaves a difference. Efron & Tibshirani (1993), "An Introduction to the Bootstrap", chapter 6; for
comparisons of systems: Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation".
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from adaptbert.comparison.statistics.spread import Variance

RESAMPLES = 1000
"""Of the test rows. The standard error of an estimated standard error is then 2 %."""

Floats = NDArray[np.float64]


def resampled_weights(groups: Sequence[object], seed: int = 0) -> NDArray[np.uint8]:
    """How often each row is drawn in each resample, (`RESAMPLES`, rows).

    Args:
        groups: of each row. Rows of one group are drawn together, because they are not independent.
    """
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    of_rows = np.array([numbers[group] for group in groups])
    random = np.random.default_rng(seed)
    weights = np.empty((RESAMPLES, len(of_rows)), np.uint8)
    for resample in weights:
        drawn = np.bincount(random.integers(0, len(numbers), len(numbers)), minlength=len(numbers))
        resample[:] = drawn[of_rows]
    return weights


class RowSpread:
    """Of the arms of a task.

    Args:
        scores: arm -> its score in each resample, as a mean over draws and seeds.
        groups: number of rows that are drawn, or of their groups.
    """

    def __init__(self, scores: Mapping[str, Floats], groups: int) -> None:
        self._scores = scores
        self._groups = groups

    def of_mean(self, arm: str) -> Variance:
        return self.of_scores(self._scores[arm])

    def of_difference(self, arm: str, other: str) -> Variance:
        return self.beside(arm, self._scores[other])

    def beside(self, arm: str, resampled: Floats) -> Variance:
        """Of the difference from a baseline with these scores on the same resamples."""
        return self.of_scores(self._scores[arm] - resampled)

    def of_scores(self, resampled: Floats) -> Variance:
        """Of one score on all resamples."""
        rows = max(2, self._groups)
        share = float(resampled.var(ddof=1)) * rows / (rows - 1)
        return Variance({"rows": share}, [(share, rows - 1)])
