"""Scores of the arms of a task -> how far replicates, seeds and the rest lie apart, and the variance of a difference.

A score is taken apart as

    score = arm + replicate of the arm + seed + (seed x arm) + rest

in which all but the arm are random. The seed is common to all arms and leaves their differences; what a seed (its
labels, its order of rows, its initial head) does to one arm and not to another is `seed x arm`. All variances are
pooled over the arms of the task, because two or three replicates of one arm say little about their spread; an arm whose
runs lie clearly further apart than those of the others (`scattered`) is judged by itself, and two arms that a seed sets
further apart than the others by their own `seed x arm`. The mean squares are those of a balanced two-way layout:
Searle, Casella & McCulloch (1992), "Variance Components", chapter 4.

Figures may be single ones or arrays of the same length, so that the same rule judges one study and, for the power of
the rule, a thousand that might have been.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

CLEARLY = 0.05
"""Level of the test by which an arm counts as scattered, for all arms of a task together."""
NOTHING = 1e-24
"""A sum of squares below which scores are equal but for the arithmetic."""
MADE_ONCE = 0
Runs = Mapping[int, Mapping[int, float]]
"""Replicate -> seed -> score. `MADE_ONCE`: the checkpoint of the arm is trained once for each base."""
Figures = float | NDArray[np.floating[Any]]
Terms = Sequence[tuple[Figures, float]]
"""(Share, degrees of freedom) of every mean square in a variance; a share may be negative."""


@dataclass(frozen=True)
class Layout:
    """How often everything was repeated.

    Attributes:
        replicates: of the two arms that are compared; 0: trained once for each base.
        seeds: 2 or more.
        pooled: replicates of every arm that the spread is pooled over; 1 also for those that are trained once.
    """

    replicates: tuple[int, int]
    seeds: int
    pooled: tuple[int, ...]

    @property
    def df_between(self) -> int:
        """Degrees of freedom between replicates; 0 where no arm has two."""
        return sum(count - 1 for count in self.pooled)

    @property
    def df_rest(self) -> int:
        return self.df_between * (self.seeds - 1)

    @property
    def df_seed_by_arm(self) -> int:
        return (len(self.pooled) - 1) * (self.seeds - 1)

    @property
    def df_seed_by_pair(self) -> int:
        return self.seeds - 1

    @property
    def rest_in_means(self) -> float:
        """The share of the rest that is left in the mean of a seed over the replicates of an arm, as a mean over
        arms."""
        return float(np.mean([1 / count for count in self.pooled]))

    @property
    def rest_in_pair(self) -> float:
        return float(np.mean([1 / max(1, count) for count in self.replicates]))


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of a layout, by what they are expected to be.

    Attributes:
        between: variance of a replicate, and of the rest over the number of seeds. 0 where no arm has two replicates,
            as is `rest`.
        rest: variance of a single run that neither replicate nor seed explains.
        seed_by_arm: variance of `seed x arm`, and of the rest times `Layout.rest_in_means`.
        seed_by_pair: the same of the two arms that are compared, with `Layout.rest_in_pair`.
    """

    between: Figures
    rest: Figures
    seed_by_arm: Figures
    seed_by_pair: Figures


def of_difference(squares: MeanSquares, layout: Layout) -> tuple[Mapping[str, Figures], Terms]:
    """The variance of the difference of two means over replicates and seeds: its parts by source, and its terms.

    Between replicates, the share is `between` over their number, once for each arm: it holds the rest as well.
    `seed x arm` enters where it is larger than the rest makes it; it would be missing where replicates lie no further
    apart than seeds. It is that of all arms or that of these two, whichever is larger: arms of one kind (those with
    domain text, say) may take a seed alike, and then arms of two kinds lie further apart than all arms do.
    """
    seeds, rest = layout.seeds, squares.rest  # without replicates the rest cannot be told from `seed x arm`
    of_arms, of_pair = 2 * squares.seed_by_arm / seeds, 2 * squares.seed_by_pair / seeds
    rest_in_arms, rest_in_pair = 2 * rest * layout.rest_in_means / seeds, 2 * rest * layout.rest_in_pair / seeds
    own = np.asarray(of_pair - rest_in_pair > of_arms - rest_in_arms)
    of_means, rest_in_means = np.where(own, of_pair, of_arms), np.where(own, rest_in_pair, rest_in_arms)
    larger = of_means > rest_in_means
    of_replicates = squares.between * sum(1 / count for count in layout.replicates if count)
    of_rest = rest * layout.replicates.count(0) / seeds
    terms = [
        (larger * ~own * of_means, layout.df_seed_by_arm),
        (larger * own * of_means, layout.df_seed_by_pair),
        (of_replicates, layout.df_between),
        (of_rest - larger * rest_in_means, layout.df_rest),
    ]
    of_seeds = larger * (of_means - rest_in_means) + of_rest
    return ({"replicates": of_replicates, "seeds": of_seeds} if layout.df_between else {"seeds": of_seeds}), terms


def satterthwaite(total: Figures, terms: Terms) -> Figures:
    """Degrees of freedom of a sum of mean squares: total**2 / sum(share**2 / df); infinite without a spread.

    Satterthwaite (1946), "An approximate distribution of estimates of variance components", Biometrics Bulletin 2(6);
    with a negative share: Gaylor & Hopper (1969), Technometrics 11(4). Of a sum they are never fewer than those of the
    mean square with the fewest. A difference that nearly cancels would have fewer than one, and intervals without
    bounds; so that limit holds here as well. benchmarks/verdict.py measures how often the rule errs with it.
    """
    spread = np.asarray(sum(share**2 / df for share, df in terms if df))
    degrees = np.full(spread.shape, np.inf)
    np.divide(np.square(total), spread, out=degrees, where=spread > 0)
    fewest = np.full(spread.shape, np.inf)
    for share, df in terms:
        if df:
            fewest = np.minimum(fewest, np.where(np.asarray(share) > 0, df, np.inf))
    return np.where(spread > 0, np.maximum(degrees, fewest), degrees)


@dataclass(frozen=True)
class Variance:
    """Variance of a mean or a difference: a sum of mean squares with factors.

    Attributes:
        parts: source of the spread -> its share.
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
        parts = {each: self.parts.get(each, 0.0) + other.parts.get(each, 0.0) for each in {**self.parts, **other.parts}}
        return Variance(parts, [*self.terms, *other.terms])


class Spread:
    """Spread of arms that have the same seeds.

    Args:
        arms: name -> runs. Every replicate has all of `seeds`.
        seeds: two or more.
    """

    def __init__(self, arms: Mapping[str, Runs], seeds: Sequence[int]) -> None:
        self.seeds = list(seeds)
        self.arms = {
            arm: np.array([[scores[seed] for seed in seeds] for scores in runs.values()]) for arm, runs in arms.items()
        }
        """Name -> scores, (replicates, seeds)."""
        self._trained_once = {arm for arm, runs in arms.items() if list(runs) == [MADE_ONCE]}

    def replicates(self, arm: str) -> int:
        """How often the checkpoint was trained; 0 where that is once for each base."""
        return 0 if arm in self._trained_once else len(self.arms[arm])

    def layout(self, arm: str, other: str) -> Layout:
        pooled = tuple(len(scores) for scores in self.arms.values())
        return Layout((self.replicates(arm), self.replicates(other)), len(self.seeds), pooled)

    def mean_squares(self, arm: str, other: str) -> MeanSquares:
        layout, (between, rest) = self.layout(arm, other), self._within_arms
        means = np.array([scores.mean(0) for scores in self.arms.values()])
        effects = means.mean(1, keepdims=True) + means.mean(0) - means.mean()
        differences = self.arms[arm].mean(0) - self.arms[other].mean(0)
        return MeanSquares(
            between / layout.df_between if layout.df_between else 0.0,
            rest / layout.df_rest if layout.df_rest else 0.0,
            float(np.square(means - effects).sum() / layout.df_seed_by_arm),
            float(differences.var(ddof=1)) / 2,
        )

    @cached_property
    def _within_arms(self) -> tuple[float, float]:
        """Sums of squares: between the replicates of an arm, and of the rest."""
        between = rest = 0.0
        for scores in self.arms.values():
            effects = scores.mean(1, keepdims=True) + scores.mean(0) - scores.mean()
            between += float(np.square(scores.mean(1) - scores.mean()).sum())
            rest += float(np.square(scores - effects).sum())
        return between, rest

    def of_difference(self, arm: str, other: str) -> Variance:
        parts, terms = of_difference(self.mean_squares(arm, other), self.layout(arm, other))
        return Variance(
            {source: float(share) for source, share in parts.items()}, [(float(share), df) for share, df in terms]
        )

    def of_mean(self, arm: str, beside: Mapping[int, float] | None = None) -> Variance:
        """Variance of the mean of one arm. What a seed does to all arms is in it, which a difference does not have.

        Args:
            beside: seed -> a score that is taken off, of a baseline on the labels of this seed.
        """
        scores, df = self.arms[arm], self.layout(arm, arm).df_between
        if beside is not None:
            scores = scores - np.array([beside[seed] for seed in self.seeds])
        of_seeds = float(scores.mean(0).var(ddof=1)) / len(self.seeds)
        variance = Variance({"seeds": of_seeds}, [(of_seeds, len(self.seeds) - 1)])
        if not self.replicates(arm) or not df:
            return variance
        share = self._within_arms[0] / df / self.replicates(arm)
        return variance + Variance({"replicates": share}, [(share, df)])

    @cached_property
    def scattered(self) -> set[str]:
        """Arms whose replicates, or whose seeds within a replicate, lie further apart than those of the other arms.

        Two F tests for each arm, against all others. Random weights that sometimes fail are such an arm. In the pool it
        would hide the differences of the others, and its own would seem surer than they are.
        """
        seed = np.mean([scores.mean(0) - scores.mean() for scores in self.arms.values()], 0)
        between, within = dict[str, tuple[float, int]](), dict[str, tuple[float, int]]()
        for arm, scores in self.arms.items():
            replicates, seeds = scores.shape
            rest = scores - scores.mean(1, keepdims=True) - seed
            between[arm] = float(np.square(scores.mean(1) - scores.mean()).sum()), replicates - 1
            within[arm] = float(np.square(rest).sum()), replicates * (seeds - 1)
        level = CLEARLY / (2 * len(self.arms))
        return {arm for squares in (between, within) for arm in self.arms if _is_larger(arm, squares, level)}


def _is_larger(arm: str, squares: Mapping[str, tuple[float, int]], level: float) -> bool:
    """Whether the mean square of an arm is larger than that of all others together, by an F test at this level;
    `squares`: arm -> sum of squares, its degrees of freedom."""
    total, df = squares[arm]
    others = [each for name, each in squares.items() if name != arm]
    of_others, df_of_others = sum(total for total, _ in others), sum(df for _, df in others)
    if not df or of_others <= NOTHING:
        return False
    return bool(scipy.special.fdtrc(df, df_of_others, (total / df) / (of_others / df_of_others)) < level)
