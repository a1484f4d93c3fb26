"""Mean squares of the arms of a task -> the variance of the difference of two, and its degrees of freedom.

All figures may be single ones or arrays of the same length, so that the same rule judges one study and, for the power
of the rule, a thousand that might have been.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Figures = float | NDArray[np.floating[Any]]
Terms = Sequence[tuple[Figures, float]]
"""(Share, degrees of freedom) of every mean square in a variance; a share may be negative."""


@dataclass(frozen=True)
class Layout:
    """How often everything was repeated.

    Attributes:
        draws: of the two arms that are compared; 0: made once for each start.
        seeds: 2 or more.
        pooled: draws of every arm that the spread is pooled over; 1 also for those that are made once.
    """

    draws: tuple[int, int]
    seeds: int
    pooled: tuple[int, ...]

    @property
    def df_between(self) -> int:
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
        """The share of the rest that is left in the mean of a seed over the draws of an arm, as a mean over arms."""
        return float(np.mean([1 / count for count in self.pooled]))

    @property
    def rest_in_pair(self) -> float:
        """The same, of the two arms that are compared."""
        return float(np.mean([1 / max(1, count) for count in self.draws]))


@dataclass(frozen=True)
class MeanSquares:
    """Of a layout, by what they are expected to be.

    Attributes:
        between: variance of a draw, and of the rest over the number of seeds. Without meaning where no arm has two
            draws, as is `rest`.
        rest: variance of a single run that neither draw nor seed explains.
        seed_by_arm: variance of `seed x arm`, and of the rest times `Layout.rest_in_means`.
        seed_by_pair: the same of the two arms that are compared, with `Layout.rest_in_pair`.
    """

    between: Figures
    rest: Figures
    seed_by_arm: Figures
    seed_by_pair: Figures


def of_difference(squares: MeanSquares, layout: Layout) -> tuple[Mapping[str, Figures], Terms]:
    """The variance of the difference of two means over draws and seeds: its parts by source, and its terms.

    Between draws, the share is `between` over the number of draws, once for each arm: it holds the rest as well.
    `seed x arm` enters where it is larger than the rest makes it; it would be missing where draws lie no further apart
    than seeds. It is that of all arms or that of these two, whichever is larger: arms of one kind (those with domain
    text, say) may take a seed alike, and then arms of two kinds lie further apart than all arms do.
    """
    seeds = layout.seeds
    rest = squares.rest if layout.df_between else 0.0  # without draws the rest cannot be told from `seed x arm`
    of_arms, of_pair = 2 * squares.seed_by_arm / seeds, 2 * squares.seed_by_pair / seeds
    rest_in_arms, rest_in_pair = 2 * rest * layout.rest_in_means / seeds, 2 * rest * layout.rest_in_pair / seeds
    own = np.asarray(of_pair - rest_in_pair > of_arms - rest_in_arms)
    of_means, rest_in_means = np.where(own, of_pair, of_arms), np.where(own, rest_in_pair, rest_in_arms)
    larger = of_means > rest_in_means
    of_draws = squares.between * sum(1 / count for count in layout.draws if count) if layout.df_between else 0.0
    of_rest = rest * layout.draws.count(0) / seeds
    terms = [
        (larger * ~own * of_means, layout.df_seed_by_arm),
        (larger * own * of_means, layout.df_seed_by_pair),
        (of_draws, layout.df_between),
        (of_rest - larger * rest_in_means, layout.df_rest),
    ]
    of_seeds = larger * (of_means - rest_in_means) + of_rest
    return ({"replicates": of_draws, "seeds": of_seeds} if layout.df_between else {"seeds": of_seeds}), terms


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
