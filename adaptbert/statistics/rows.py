"""Answers to the test rows -> how far a score would lie off with other test rows: a paired bootstrap.

All runs are scored on the same resampled rows, and the whole metric is computed anew each time, so that what rows do
to all arms alike leaves a difference. What they do to a single run and not to the next of the same arm is in the spread
between runs already, and is taken off. Efron & Tibshirani (1993), "An Introduction to the Bootstrap", chapter 6; for
comparisons of systems: Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adaptbert.statistics.spread import Variance

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


@dataclass(frozen=True)
class RowScores:
    """An arm on the resampled test rows.

    Attributes:
        mean: its score in each resample, over draws and seeds.
        of_runs: the part of the variance of `mean` by what rows do to single runs.
    """

    mean: Floats
    of_runs: float


def row_scores(draws: Sequence[Floats]) -> RowScores:
    """The runs of an arm, of which those of different draws, or else seeds, answer independently.

    The covariance of two runs is what rows do to the arm; the rest of their variance is what rows do to one of them.

    Args:
        draws: for each draw the scores of its seeds in each resample, (seeds, resamples).
    """
    of_draws = np.array([seeds.mean(0) for seeds in draws])
    runs = of_draws if len(of_draws) > 1 else draws[0]
    if len(runs) == 1:
        return RowScores(runs[0], 0.0)
    by_resample = (runs - runs.mean(1, keepdims=True)).var(0, ddof=1)
    return RowScores(of_draws.mean(0), float(by_resample.mean()) / len(runs))


class RowSpread:
    """Of the arms of a task.

    Every variance is to be added to one between runs, given as `runs`, that has what rows do to single runs already. As
    much is taken off, and never more than `runs`: runs that all score alike still answer differently.

    Args:
        groups: number of rows that are drawn, or of their groups.
    """

    def __init__(self, scores: Mapping[str, RowScores], groups: int) -> None:
        self._scores = scores
        self._groups = groups

    def of_mean(self, arm: str, runs: float) -> Variance:
        return self.of_scores(self._scores[arm].mean, min(self._scores[arm].of_runs, runs))

    def of_difference(self, arm: str, other: str, runs: float) -> Variance:
        one, two = self._scores[arm], self._scores[other]
        return self.of_scores(one.mean - two.mean, min(one.of_runs + two.of_runs, runs))

    def beside(self, arm: str, resampled: Floats, runs: float) -> Variance:
        """Of the difference from a baseline with these scores on the same resamples."""
        return self.of_scores(self._scores[arm].mean - resampled, min(self._scores[arm].of_runs, runs))

    def of_scores(self, resampled: Floats, taken_off: float = 0.0) -> Variance:
        """Of one score on all resamples."""
        rows = max(2, self._groups)
        share = max(0.0, float(resampled.var(ddof=1)) - taken_off) * rows / (rows - 1)
        return Variance({"rows": share}, [(share, rows - 1)])
