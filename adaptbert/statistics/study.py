"""All runs of a task -> the mean of an arm and the difference of two, with all sources of spread that were repeated."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adaptbert.statistics.designs import QuestionSpread
from adaptbert.statistics.intervals import (
    FEWEST_SEEDS,
    MOST_DF,
    Difference,
    Interval,
    Range,
    difference,
    interval,
    mean_interval,
)
from adaptbert.statistics.rows import Floats, RowSpread, row_scores
from adaptbert.statistics.spread import Runs, Spread, Variance


class Study:
    """The arms of a task, or the same arms of several starts.

    Args:
        arms: name -> runs; an arm without runs is missing.
        rows: None where no predictions are there: then the test rows are in no interval.
        within: the least and the largest value of a single score.
    """

    def __init__(self, arms: Mapping[str, Runs], rows: RowSpread | None, confidence: float, within: Range) -> None:
        self._arms = {arm: runs for arm, runs in arms.items() if runs}
        self._rows = rows
        self.confidence = confidence
        self.within = within
        self._spreads: dict[tuple[tuple[int, ...], tuple[str, ...]], Spread] = {}

    def mean(self, arm: str) -> Interval:
        """The mean over draws and seeds; its interval covers draws, seeds and test rows.

        A run that not all draws have is in no mean.
        """
        seeds = self._seeds(arm)
        spread = self._spread(seeds, arm)
        means = spread.arms[arm].mean(0)
        mean = float(means.mean())
        if len(seeds) < FEWEST_SEEDS:
            return Interval(mean, None, None, None, len(seeds), ())
        variance = spread.of_mean(arm)
        if self._rows is not None:
            variance += self._rows.of_mean(arm, variance.total)
        return interval(mean, variance, float(means.std(ddof=1)), len(seeds), self.confidence, self.within)

    def difference(self, arm: str, other: str) -> Difference | None:
        """The mean of `arm` minus that of `other` over the seeds of both; None where an arm is missing, or no seed is
        in both."""
        if not {arm, other} <= self._arms.keys():
            return None
        if not self._seeds(arm, other):
            return None
        spread = self.spread(arm, other)
        seeds = spread.seeds
        mean = float(spread.arms[arm].mean() - spread.arms[other].mean())
        replicates = min((count for count in map(spread.draws, (arm, other)) if count), default=0)
        variance = None
        if len(seeds) >= FEWEST_SEEDS:
            variance = spread.of_difference(arm, other)
            if self._rows is not None:
                variance += self._rows.of_difference(arm, other, variance.total)
        return difference(mean, variance, len(seeds), replicates, self.confidence, self._reach)

    def beside_baseline(self, arm: str, scores: Mapping[int, float], resampled: Floats) -> Difference | None:
        """The mean of an arm minus that of a baseline, paired by seed and by test row; None where the arm is missing.

        Args:
            scores: seed -> score of the baseline.
            resampled: its score on resampled test rows.
        """
        if arm not in self._arms:
            return None
        seeds = self._seeds(arm)
        spread = self._spread(seeds, arm)
        mean = float(spread.arms[arm].mean()) - sum(scores[seed] for seed in seeds) / len(seeds)
        variance = None
        if len(seeds) >= FEWEST_SEEDS:
            variance = spread.of_mean(arm, scores)
            if self._rows is not None:
                variance += self._rows.beside(arm, resampled, variance.total)
        return difference(mean, variance, len(seeds), spread.draws(arm), self.confidence, self._reach)

    def of_baseline(self, scores: Mapping[int, float], resampled: Floats) -> Interval:
        """The mean of a baseline; its interval covers test rows, and the labels of the seeds where they differ."""
        values = list(scores.values())
        of_seeds = mean_interval(values, self.confidence)
        if self._rows is None:
            return replace(of_seeds, low=None, high=None)
        variance = self._rows.of_scores(resampled)
        if of_seeds.sd:
            share = of_seeds.sd**2 / len(values)
            variance += Variance({"seeds": share}, [(share, len(values) - 1)])
        return interval(of_seeds.mean, variance, of_seeds.sd, len(values), self.confidence, self.within)

    @property
    def _reach(self) -> Range:
        reach = self.within[1] - self.within[0]
        return -reach, reach

    def spread(self, arm: str, other: str) -> Spread:
        """What the difference of these two is judged by: the spread of all arms, but for those that are scattered."""
        return self._spread(self._seeds(arm, other), arm, other)

    def question(self, arm: str, other: str, level: float) -> QuestionSpread:
        """What a test at this level can show of the difference of these two, now and with other draws and seeds."""
        spread, rows = self.spread(arm, other), (0.0, MOST_DF)
        if self._rows is not None:
            (rows,) = self._rows.of_difference(arm, other, spread.of_difference(arm, other).total).terms
        return QuestionSpread(spread, arm, other, rows, level)

    @property
    def scattered(self) -> set[str]:
        """Arms that are judged by themselves, because their runs lie clearly further apart than those of the others."""
        if len(self._arms) < 2:
            return set()
        seeds = self._seeds(*self._arms)
        return self._of(seeds, self._arms).scattered if len(seeds) >= FEWEST_SEEDS else set()

    def _seeds(self, *arms: str) -> list[int]:
        runs = [set(scores) for arm in arms for scores in self._arms[arm].values()]
        return sorted(set.intersection(*runs))

    def _spread(self, seeds: Sequence[int], *arms: str) -> Spread:
        """Pooled over the arms that have these seeds and are not scattered; a scattered one stands for itself."""
        everything = self._of(seeds, self._arms)
        if everything.scattered.isdisjoint(arms):
            return self._of(seeds, [arm for arm in everything.arms if arm not in everything.scattered])
        return self._of(seeds, arms)

    def _of(self, seeds: Sequence[int], arms: Iterable[str]) -> Spread:
        with_seeds = {
            arm: self._arms[arm] for arm in arms if all(set(seeds) <= own.keys() for own in self._arms[arm].values())
        }
        key = tuple(seeds), tuple(with_seeds)
        if key not in self._spreads:
            self._spreads[key] = Spread(with_seeds, seeds)
        return self._spreads[key]


@dataclass(frozen=True)
class ArmRuns:
    """The results of one arm.

    Attributes:
        resampled: for each draw the scores of its seeds on resampled test rows, (seeds, resamples); None where
            predictions are missing.
    """

    runs: Runs
    resampled: Sequence[Floats] | None


def of_arms(arms: Mapping[str, ArmRuns], groups: int, confidence: float, within: Range) -> Study:
    """The study of arms by name: those of one start, or of several under other names."""
    there = {name: arm.resampled for name, arm in arms.items() if arm.runs}
    scores = {name: row_scores(cells) for name, cells in there.items() if cells}
    rows = RowSpread(scores, groups) if len(scores) == len(there) else None
    return Study({name: arm.runs for name, arm in arms.items()}, rows, confidence, within)
