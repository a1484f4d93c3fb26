"""All runs of a task -> the mean of an arm and the difference of two, with all sources of spread that were repeated.

How far a score would lie off with other test rows is found by a paired bootstrap: all runs are scored on the same
resampled rows, and the whole metric is computed anew each time, so that what rows do to all arms alike leaves a
difference. What they do to a single run and not to the next of the same arm is in the spread between runs already, and
is taken off. Efron & Tibshirani (1993), "An Introduction to the Bootstrap", chapter 6; for comparisons of systems:
Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from adaptbert.statistics.intervals import FEWEST_SEEDS, NO_SPREAD, Difference, Interval, Range, difference, interval
from adaptbert.statistics.power import Components, Power
from adaptbert.statistics.spread import MADE_ONCE, Runs, Spread, of_values
from adaptbert.statistics.variance import ROWS, Sources, Variance, median_of, over_chi_squared, variance_of

RESAMPLES = 1000
"""Resamples of the test rows. The standard error of an estimated standard error is then 2 %."""

Floats = NDArray[np.float64]


def resampled_weights(groups: Sequence[object], seed: int = 0) -> NDArray[np.uint8]:
    """How often each row is drawn in each resample, (`RESAMPLES`, rows). Rows of one group are drawn together, because
    they are not independent."""
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
    """A score, or a difference of two, on the resampled test rows.

    Attributes:
        mean: in each resample, over replicates and seeds.
        of_runs: the part of the variance of `mean` by what rows do to single runs.
    """

    mean: Floats
    of_runs: float = 0.0

    def __sub__(self, other: "RowScores") -> "RowScores":
        return RowScores(self.mean - other.mean, self.of_runs + other.of_runs)


def row_scores(replicates: Sequence[Floats]) -> RowScores:
    """The runs of an arm, of which those of different replicates, or else seeds, answer independently.

    The covariance of two runs is what rows do to the arm; the rest of their variance is what rows do to one of them.

    Args:
        replicates: for each the scores of its seeds in each resample, (seeds, resamples).
    """
    means = np.array([seeds.mean(0) for seeds in replicates])
    runs = means if len(means) > 1 else replicates[0]
    if len(runs) == 1:
        return RowScores(runs[0])
    by_resample = (runs - runs.mean(1, keepdims=True)).var(0, ddof=1)
    return RowScores(means.mean(0), float(by_resample.mean()) / len(runs))


def row_variance(rows: RowScores, groups: int, between_runs: float = 0.0) -> float:
    """Variance of one score by its resamples. It is to be added to the variance between runs, which has what rows do to
    single runs already: as much is taken off, and never more than there is, for runs that all score alike still answer
    differently.

    Args:
        groups: number of rows that are drawn, or of their groups.
        between_runs: the variance that it is added to.
    """
    drawn = max(2, groups)
    return max(0.0, float(rows.mean.var(ddof=1)) - min(rows.of_runs, between_runs)) * drawn / (drawn - 1)


@dataclass(frozen=True)
class ArmRuns:
    """The results of one arm.

    Attributes:
        resampled: for each replicate the scores of its seeds on resampled test rows, (seeds, resamples); None where
            predictions are missing.
    """

    runs: Runs
    resampled: Sequence[Floats] | None = None


def mean_runs(of_tasks: Sequence[ArmRuns]) -> ArmRuns:
    """An arm whose scores are means over several tasks, of the replicates and seeds that all of them have; a checkpoint
    that one of them takes once for all replicates of the others stands in the mean with each.

    What a replicate or a seed does on one task it may do on another, so their spread is measured on the means. Test
    rows of different tasks are resampled independently: those of T tasks add up to the sum of their variances / T**2.
    """
    runs: dict[int, dict[int, float]] = {}
    resampled: list[Floats] = []
    for number in max((each.runs for each in of_tasks), key=lambda own: MADE_ONCE not in own):
        of_all = [(each, number if number in each.runs else MADE_ONCE) for each in of_tasks]
        own = [each.runs.get(its, {}) for each, its in of_all]
        if not (seeds := sorted(set.intersection(*map(set, own)))):
            continue
        runs[number] = {seed: float(np.mean([scores[seed] for scores in own])) for seed in seeds}
        rows = [each.resampled[[*each.runs].index(its)] for each, its in of_all if each.resampled]
        if len(rows) == len(of_tasks):
            # An arm has the rows of a replicate in the order of its seeds.
            places = [np.searchsorted(sorted(scores), seeds) for scores in own]
            resampled.append(np.mean([of_task[place] for of_task, place in zip(rows, places, strict=True)], 0))
    return ArmRuns(runs, resampled or None)


class Study:
    """The arms of a task, or the same arms of several bases.

    Test rows are in no interval where an arm with runs has no predictions.

    Args:
        arms: by name; one without runs is missing.
        groups: of the test rows.
        within: the least and the largest value of a single score.
    """

    def __init__(self, arms: Mapping[str, ArmRuns], groups: int, confidence: float, within: Range) -> None:
        there = {name: arm for name, arm in arms.items() if arm.runs}
        self._arms = {name: arm.runs for name, arm in there.items()}
        rows = {name: row_scores(arm.resampled) for name, arm in there.items() if arm.resampled}
        self._rows = rows if len(rows) == len(there) else None
        self.groups = groups
        self.confidence, self.within = confidence, within
        self._df_rows, self._of = max(2, groups) - 1, cache(self._with_seeds)

    def of(self, arms: Mapping[str, ArmRuns]) -> "Study":
        """A study of other arms, with as many groups of test rows."""
        return Study(arms, self.groups, self.confidence, self.within)

    def mean(self, arm: str) -> Interval:
        """The mean over replicates and seeds; its interval covers replicates, seeds and test rows.

        A run that not all replicates have is in no mean.
        """
        spread = self.spread(arm)
        mean = float(spread.arms[arm].mean(0).mean())
        if len(spread.seeds) < FEWEST_SEEDS:
            return Interval(mean, None, None, ())
        variance = self._with_rows(spread.of_mean(arm), self._rows_of(arm))
        return interval(mean, variance, self.confidence, self.within)

    def difference(self, arm: str, other: str) -> Difference | None:
        """The mean of `arm` minus that of `other` over the seeds of both; None where an arm is missing, or no seed is
        in both."""
        if not {arm, other} <= self._arms.keys() or not self._seeds(arm, other):
            return None
        spread = self.spread(arm, other)
        mean = float(spread.arms[arm].mean() - spread.arms[other].mean())
        counts = [count for count in map(spread.replicates, (arm, other)) if count]
        sources = partial(spread.of_difference, arm, other)
        return self._difference(mean, spread, sources, self._rows_of(arm, other), min(counts, default=0))

    def beside_baseline(self, arm: str, scores: Mapping[int, float], resampled: Floats, arms: int) -> Difference | None:
        """The mean of an arm minus that of a baseline, paired by seed and by test row; None where the arm is missing.

        Args:
            scores: seed -> score of the baseline.
            resampled: its score on resampled test rows.
            arms: of which this was chosen by its dev scores, whose luck its test scores share: the lower end holds for
                all of them together, by Bonferroni's rule; luck makes the upper end the surer.
        """
        if arm not in self._arms:
            return None
        spread, rows = self.spread(arm), self._rows_of(arm)
        mean = float(spread.arms[arm].mean()) - sum(scores[seed] for seed in spread.seeds) / len(spread.seeds)
        beside = rows - RowScores(resampled) if rows is not None else None
        gap = self._difference(mean, spread, partial(spread.of_mean, arm, scores), beside, spread.replicates(arm))
        low, _ = gap.inside((1 - self.confidence) / 2 / arms)
        return replace(gap, low=max(low, self.within[0] - self.within[1])) if gap.testable else gap

    def of_baseline(self, scores: Mapping[int, float], resampled: Floats) -> Interval:
        """The mean of a baseline; its interval covers test rows, and the labels of the seeds where they differ."""
        values, variance = np.array([*scores.values()]), None
        if self._rows is not None:
            varies = len(values) >= FEWEST_SEEDS and float(np.ptp(values)) > NO_SPREAD
            variance = self._with_rows(of_values(values) if varies else {}, RowScores(resampled))
        return interval(float(values.mean()), variance, self.confidence, self.within)

    def spread(self, *arms: str) -> Spread:
        """What one of these, or the difference of two, is judged by: the spread of all arms that have their seeds, but
        for others that are scattered."""
        seeds = self._seeds(*arms)
        everything = self._of(seeds, tuple(self._arms))
        return self._of(seeds, tuple(arm for arm in everything.arms if arm in arms or arm not in everything.scattered))

    def power(self, arm: str, other: str, level: float) -> Power:
        """What a test at this level can show of the difference of these two."""
        spread, rows, of_rows = self.spread(arm, other), self._rows_of(arm, other), 0.0
        if rows is not None:
            of_rows = row_variance(rows, self.groups, median_of(spread.of_difference(arm, other)))
        return Power(Components.of(spread, arm, other), spread.layout(arm, other), (of_rows, self._df_rows), level)

    @property
    def scattered(self) -> set[str]:
        """Arms whose runs lie clearly further apart than those of the others."""
        if len(self._arms) < 2:
            return set()
        seeds = self._seeds(*self._arms)
        return self._of(seeds, tuple(self._arms)).scattered if len(seeds) >= FEWEST_SEEDS else set()

    def _difference(
        self, mean: float, spread: Spread, sources: Callable[[], Sources], rows: RowScores | None, replicates: int
    ) -> Difference:
        reach, seeds = self.within[1] - self.within[0], len(spread.seeds)
        variance = self._with_rows(sources(), rows) if seeds >= FEWEST_SEEDS else None
        return difference(mean, variance, seeds, replicates, self.confidence, (-reach, reach))

    def _rows_of(self, arm: str, other: str | None = None) -> RowScores | None:
        if self._rows is None:
            return None
        return self._rows[arm] if other is None else self._rows[arm] - self._rows[other]

    def _with_rows(self, sources: Sources, rows: RowScores | None) -> Variance:
        if rows is not None:
            share = row_variance(rows, self.groups, median_of(sources))
            sources = {**sources, "rows": share * over_chi_squared(self._df_rows, ROWS)}
        return variance_of(sources)

    def _seeds(self, *arms: str) -> tuple[int, ...]:
        runs = [set(scores) for arm in arms for scores in self._arms[arm].values()]
        return tuple(sorted(set.intersection(*runs)))

    def _with_seeds(self, seeds: tuple[int, ...], arms: tuple[str, ...]) -> Spread:
        """Spread of the arms that have these seeds in all replicates."""
        there = {arm: self._arms[arm] for arm in arms if {*seeds} <= {*self._seeds(arm)}}
        scores = {
            arm: np.array([[own[seed] for seed in seeds] for own in runs.values()]) for arm, runs in there.items()
        }
        return Spread(scores, {arm for arm, runs in there.items() if [*runs] == [MADE_ONCE]}, seeds)
