"""Scores of the arms of a task -> how far draws, seeds and the rest lie apart, and the variance of a difference.

A score is taken apart as

    score = arm + draw of the arm + seed + (seed x arm) + rest

in which all but the arm are random. The seed is common to all arms and leaves their differences; what a seed (its
labels, its order of rows, its initial head) does to one arm and not to another is `seed x arm`. All variances are
pooled over the arms of the task, because two or three draws of one arm say little about their spread; an arm whose runs
lie clearly further apart than those of the others (`scattered`) is judged by itself, and two arms that a seed sets
further apart than the others by their own `seed x arm`. The mean squares are those of a
balanced two-way layout: Searle, Casella & McCulloch (1992), "Variance Components", chapter 4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adaptbert.statistics.mean_squares import Layout, MeanSquares, of_difference, satterthwaite

CLEARLY = 0.05
"""Level of the test by which an arm counts as scattered, for all arms of a task together."""
NOTHING = 1e-24
"""A sum of squares below which scores are equal but for the arithmetic."""
Runs = Mapping[int, Mapping[int, float]]
"""Draw -> seed -> score. Draw 0: the rung of the arm is made once for each start."""
MADE_ONCE = 0


@dataclass(frozen=True)
class MeanSquare:
    """An estimate of a variance.

    Attributes:
        df: its degrees of freedom.
    """

    value: float
    df: int


@dataclass(frozen=True)
class Variance:
    """Of a mean or a difference: a sum of mean squares with factors, by the source of the spread.

    Attributes:
        parts: source -> its share.
        terms: (share, degrees of freedom) of every mean square; a share may be negative.
    """

    parts: Mapping[str, float]
    terms: Sequence[tuple[float, float]]

    @property
    def total(self) -> float:
        return sum(self.parts.values())

    @property
    def df(self) -> float:
        return float(satterthwaite(self.total, self.terms))

    def __add__(self, other: "Variance") -> "Variance":
        parts = dict(self.parts)
        for source, share in other.parts.items():
            parts[source] = parts.get(source, 0.0) + share
        return Variance(parts, [*self.terms, *other.terms])


class Spread:
    """Of arms that have the same seeds.

    Args:
        arms: name -> runs. Every draw has all of `seeds`.
        seeds: two or more.
    """

    def __init__(self, arms: Mapping[str, Runs], seeds: Sequence[int]) -> None:
        self.seeds = list(seeds)
        self.arms = {
            arm: np.array([[scores[seed] for seed in seeds] for scores in runs.values()]) for arm, runs in arms.items()
        }
        """Name -> scores, (draws, seeds)."""
        self._trained_once = {arm for arm, runs in arms.items() if list(runs) == [MADE_ONCE]}

    def draws(self, arm: str) -> int:
        """How often the rung was trained; 0 where it is made once for each start."""
        return 0 if arm in self._trained_once else len(self.arms[arm])

    @cached_property
    def between_draws(self) -> MeanSquare | None:
        """Variance of the means of draws within an arm: that of the draws, and the rest over the number of seeds.

        None where no arm has two draws.
        """
        squares, df = 0.0, 0
        for scores in self.arms.values():
            squares += float(np.square(scores.mean(1) - scores.mean()).sum())
            df += len(scores) - 1
        return MeanSquare(squares / df, df) if df else None

    @cached_property
    def rest(self) -> MeanSquare | None:
        """Variance of a single run that neither draw nor seed explains; None where no arm has two draws."""
        squares, df = 0.0, 0
        for scores in self.arms.values():
            effects = scores.mean(1, keepdims=True) + scores.mean(0) - scores.mean()
            squares += float(np.square(scores - effects).sum())
            df += (len(scores) - 1) * (len(self.seeds) - 1)
        return MeanSquare(squares / df, df) if df else None

    @cached_property
    def seed_by_arm(self) -> MeanSquare:
        """Variance of what a seed does to the mean of one arm and not to the others.

        Its expectation is the variance of `seed x arm`, and of the rest times `Layout.rest_in_means`.
        """
        means = np.array([scores.mean(0) for scores in self.arms.values()])
        effects = means.mean(1, keepdims=True) + means.mean(0) - means.mean()
        df = (len(means) - 1) * (len(self.seeds) - 1)
        return MeanSquare(float(np.square(means - effects).sum() / df), df)

    def seed_by_pair(self, arm: str, other: str) -> MeanSquare:
        """The same of two arms: half of the variance of their differences by seed."""
        differences = self.arms[arm].mean(0) - self.arms[other].mean(0)
        return MeanSquare(float(differences.var(ddof=1)) / 2, len(self.seeds) - 1)

    @cached_property
    def scattered(self) -> set[str]:
        """Arms whose draws, or whose seeds within a draw, lie further apart than those of the other arms.

        Two F tests for each arm, against all others. Random weights that sometimes fail are such an arm. In the pool it
        would hide the differences of the others, and its own would seem surer than they are.
        """
        seed = np.mean([scores.mean(0) - scores.mean() for scores in self.arms.values()], 0)
        of_draws, of_seeds = dict[str, MeanSquare](), dict[str, MeanSquare]()
        for arm, scores in self.arms.items():
            draws, seeds = scores.shape
            within = scores - scores.mean(1, keepdims=True) - seed
            of_draws[arm] = _mean_square(np.square(scores.mean(1) - scores.mean()), draws - 1)
            of_seeds[arm] = _mean_square(np.square(within), draws * (seeds - 1))
        return {arm for squares in (of_draws, of_seeds) for arm in _larger(squares, CLEARLY / (2 * len(self.arms)))}

    def layout(self, arm: str, other: str) -> Layout:
        """How often everything was repeated that a difference of these two rests on."""
        pooled = tuple(len(scores) for scores in self.arms.values())
        return Layout((self.draws(arm), self.draws(other)), len(self.seeds), pooled)

    def mean_squares(self, arm: str, other: str) -> MeanSquares:
        """Those that a difference of these two rests on."""
        between, rest = self.between_draws, self.rest
        return MeanSquares(
            between.value if between else 0.0,
            rest.value if rest else 0.0,
            self.seed_by_arm.value,
            self.seed_by_pair(arm, other).value,
        )

    def of_difference(self, arm: str, other: str) -> Variance:
        """Variance of the difference of two means over draws and seeds; see `mean_squares.of_difference`."""
        parts, terms = of_difference(self.mean_squares(arm, other), self.layout(arm, other))
        return Variance(
            {source: float(share) for source, share in parts.items()}, [(float(share), df) for share, df in terms]
        )

    def of_mean(self, arm: str, beside: Mapping[int, float] | None = None) -> Variance:
        """Variance of the mean of one arm. What a seed does to all arms is in it, which a difference does not have.

        Args:
            beside: seed -> a score that is taken off, of a baseline on the labels of this seed.
        """
        scores = self.arms[arm]
        if beside is not None:
            scores = scores - np.array([beside[seed] for seed in self.seeds])
        of_seeds = float(scores.mean(0).var(ddof=1)) / len(self.seeds)
        variance = Variance({"seeds": of_seeds}, [(of_seeds, len(self.seeds) - 1)])
        draws = self.draws(arm)
        if not draws or self.between_draws is None:
            return variance
        share = self.between_draws.value / draws
        return variance + Variance({"replicates": share}, [(share, self.between_draws.df)])


def _mean_square(squares: NDArray[np.float64], df: int) -> MeanSquare:
    return MeanSquare(float(squares.sum()) / df if df else 0.0, df)


def _larger(squares: Mapping[str, MeanSquare], level: float) -> list[str]:
    """Those that are larger than all others together, by an F test at this level."""
    from scipy import special

    larger = []
    for arm, own in squares.items():
        others = [each for name, each in squares.items() if name != arm]
        df = sum(each.df for each in others)
        total = sum(each.value * each.df for each in others)
        if own.df and total > NOTHING and special.fdtrc(own.df, df, own.value / (total / df)) < level:
            larger.append(arm)
    return larger
