"""Scores of the arms of a task -> how far replicates, seeds and the rest lie apart, and the variance of a difference.

A score is taken apart as

    score = arm + replicate of the arm + seed + (seed x arm) + rest

in which all but the arm are random. The seed is common to all arms and leaves their differences; what a seed (its
labels, its order of rows, its initial head) does to one arm and not to another is `seed x arm`. The mean squares are
those of a balanced two-way layout: Searle, Casella & McCulloch (1992), "Variance Components", chapter 4. Arms may
scatter unequally: every arm has a variance between its replicates of its own.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from adaptbert.statistics.variance import FIRST, NOTHING, PAIR, SCALE_OF_SEEDS, Floats, Sources, common_scale, moderated

CLEARLY = 0.05
"""Level of the test by which an arm counts as scattered, for all arms of a task together."""
MADE_ONCE = 0
Runs = Mapping[int, Mapping[int, float]]
"""Replicate -> seed -> score. `MADE_ONCE`: the checkpoint of the arm is trained once for each base."""


@dataclass(frozen=True)
class Layout:
    """How often everything was repeated.

    Attributes:
        replicates: of the two arms that are compared; 0: trained once for each base.
        seeds: 2 or more.
        others: replicates of every other arm of the task.
    """

    replicates: tuple[int, int]
    seeds: int
    others: tuple[int, ...]

    def repeated(self, replicates: int, seeds: int) -> "Layout":
        """The same arms with other numbers."""
        one, other, *others = (replicates if count else 0 for count in (*self.replicates, *self.others))
        return Layout((one, other), seeds, tuple(others))

    @property
    def df_between(self) -> list[int]:
        """Degrees of freedom between the replicates of each arm, the two that are compared first."""
        return [max(0, count - 1) for count in (*self.replicates, *self.others)]

    @property
    def df_others(self) -> int:
        """Degrees of freedom of what seeds do to arms, beside what they do to the difference of these two."""
        return len(self.others) * (self.seeds - 1)


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of a layout, by what they are expected to be; of one study, or of many.

    Attributes:
        between: of every arm, the two that are compared first: variance of a replicate, and of the rest over the number
            of seeds; (..., arms). 0 where an arm has no two replicates.
        pair: variance of what a seed does to one of the two arms and not to the other, and of the rest over the number
            of replicates; (...).
        others: the same of all arms, beside the difference of these two; 0 where there are no others.
    """

    between: Floats
    pair: Floats
    others: Floats


def of_difference(squares: MeanSquares, layout: Layout) -> Sources:
    """What the variance of the difference of two means over replicates and seeds may be.

    Both sources hold the rest of a single run, which is counted twice: taken off, it would show a little more, by one
    more estimate.
    """
    both = np.stack([squares.pair, squares.others], -1)
    scale = common_scale(both, [layout.seeds - 1, layout.df_others], SCALE_OF_SEEDS) if layout.others else None
    of_seeds = 2 * moderated(squares.pair, layout.seeds - 1, scale, PAIR) / layout.seeds
    if not any(layout.df_between):
        return {"seeds": of_seeds}
    scale, of_replicates = common_scale(squares.between, layout.df_between), np.zeros_like(of_seeds)
    for place, count in enumerate(layout.replicates):
        if count:
            own = moderated(squares.between[..., place], count - 1, scale, FIRST + place)
            of_replicates = of_replicates + own / count
    return {"replicates": of_replicates, "seeds": of_seeds}


def of_values(values: Floats) -> Sources:
    """What the variance of the mean of independent values, one a seed, may be."""
    share = np.array(values.var(ddof=1) / len(values))
    return {"seeds": moderated(share, len(values) - 1, None, PAIR)}


class Spread:
    """Spread of arms that have the same seeds, in one study or in many.

    Args:
        arms: name -> scores, (..., replicates, seeds).
        trained_once: those whose checkpoint is trained once for each base.
        seeds: two or more.
    """

    def __init__(self, arms: Mapping[str, Floats], trained_once: Collection[str], seeds: Sequence[int]) -> None:
        self.arms, self._trained_once, self.seeds = arms, trained_once, seeds

    def replicates(self, arm: str) -> int:
        """How often the checkpoint was trained; 0 where that is once for each base."""
        return 0 if arm in self._trained_once else self.arms[arm].shape[-2]

    def beside(self, *arms: str) -> list[str]:
        """All arms but these, in the order of layouts and mean squares."""
        return [name for name in self.arms if name not in arms]

    def layout(self, arm: str, other: str) -> Layout:
        others = tuple(map(self.replicates, self.beside(arm, other)))
        return Layout((self.replicates(arm), self.replicates(other)), len(self.seeds), others)

    def mean_squares(self, arm: str, other: str) -> MeanSquares:
        layout, means = self.layout(arm, other), np.stack([scores.mean(-2) for scores in self.arms.values()], -2)
        effects = means.mean(-1, keepdims=True) + means.mean(-2, keepdims=True) - means.mean((-1, -2), keepdims=True)
        of_all = np.square(means - effects).sum((-1, -2))
        pair = np.asarray((self.arms[arm].mean(-2) - self.arms[other].mean(-2)).var(-1, ddof=1) / 2)
        others = np.maximum(0.0, of_all - (layout.seeds - 1) * pair) / max(1, layout.df_others)
        return MeanSquares(self._between(arm, other), pair, others)

    def _between(self, *first: str) -> Floats:
        """Mean square between the replicates of each arm, these first; 0 of one."""
        means = [self.arms[name].mean(-1) for name in (*first, *self.beside(*first))]
        squares = [own.var(-1, ddof=1) if own.shape[-1] > 1 else np.zeros(own.shape[:-1]) for own in means]
        return np.stack(squares, -1)

    @cached_property
    def rest(self) -> float:
        """Mean square of a single run that neither replicate nor seed explains; 0 where no arm has two replicates."""
        squares, df = 0.0, 0
        for scores in self.arms.values():
            effects = scores.mean(-1, keepdims=True) + scores.mean(-2, keepdims=True) - scores.mean()
            squares += float(np.square(scores - effects).sum())
            df += (scores.shape[-2] - 1) * (scores.shape[-1] - 1)
        return squares / max(1, df)

    def of_difference(self, arm: str, other: str) -> Sources:
        return of_difference(self.mean_squares(arm, other), self.layout(arm, other))

    def of_mean(self, arm: str, beside: Mapping[int, float] | None = None) -> Sources:
        """What the variance of the mean of one arm may be. What a seed does to all arms is in it, which a difference
        does not have.

        Args:
            beside: seed -> a score that is taken off, of a baseline on the labels of this seed.
        """
        scores, (own, _, *others) = self.arms[arm], self.layout(arm, arm).df_between
        if beside is not None:
            scores = scores - np.array([beside[seed] for seed in self.seeds])
        of_seeds, df = of_values(scores.mean(-2)), [own, *others]
        if not self.replicates(arm) or not any(df):
            return of_seeds
        squares = self._between(arm)
        of_replicates = moderated(squares[0], own, common_scale(squares, df), FIRST)
        return {**of_seeds, "replicates": of_replicates / self.replicates(arm)}

    @cached_property
    def scattered(self) -> set[str]:
        """Arms whose replicates, or whose seeds within a replicate, lie further apart than those of the other arms.

        Two F tests for each arm, against all others. Random weights that sometimes fail are such an arm. It would hide
        the differences of the others.
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
