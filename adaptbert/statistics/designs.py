"""Measured spreads and prices -> how many draws and seeds would settle a question, and what that costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

from adaptbert.statistics.mean_squares import Layout, MeanSquares
from adaptbert.statistics.power import POWER, Power
from adaptbert.statistics.spread import Spread

MOST_DRAWS, MOST_SEEDS = 12, 20
"""Of a design that is considered."""


@dataclass(frozen=True)
class Prices:
    """In TFLOP.

    Attributes:
        draw: of one more draw of all rungs, with the fine-tuning of their cells on all tasks by the seeds there are.
        run: of fine-tuning one cell of this task with one seed.
    """

    draw: float
    run: float


@dataclass(frozen=True)
class Design:
    """As many replicates and seeds as would show a gain that is just worth having in four of five studies.

    Attributes:
        tflop: what it costs beyond what is there.
    """

    replicates: int
    seeds: int
    tflop: float


class QuestionSpread:
    """The spread of the difference of two arms, taken apart so that other numbers of draws and seeds can be tried.

    Args:
        spread: that the difference is judged by.
        rows: variance of the difference that is due to the test rows, and its degrees of freedom.
        level: of the test.
    """

    def __init__(self, spread: Spread, arm: str, other: str, rows: tuple[float, float], level: float) -> None:
        self.spread = spread
        self.squares = spread.mean_squares(arm, other)
        self.layout = spread.layout(arm, other)
        self.rows, self._level = rows, level

    @cached_property
    def power(self) -> Power:
        """Of the study as it is."""
        return Power(self._expected(self.layout), self.layout, self.rows, self._level)

    def detectable(self, draws: int, seeds: int) -> float | None:
        """The difference that such a design shows with a power of 80 %; None where the spread of draws is not known."""
        if self.spread.between_draws is None:
            return None
        trained = [arm for arm in self.spread.arms if self.spread.draws(arm)]
        pooled = (draws,) * len(trained) + (1,) * (len(self.spread.arms) - len(trained))
        first, second = (draws if count else 0 for count in self.layout.draws)
        other = Layout((first, second), seeds, pooled)
        return Power(self._expected(other), other, self.rows, self._level).detectable if other.df_between else None

    @property
    def of_rows_alone(self) -> float:
        """What not even endless draws and seeds could show, because the test rows are what they are."""
        from scipy import stats

        return float(stats.norm.ppf(1 - self._level / 2) + stats.norm.ppf(POWER)) * sqrt(self.rows[0])

    def _expected(self, layout: Layout) -> MeanSquares:
        """The mean squares of another layout, if the variances of draw, seed x arm and rest are as estimated."""
        squares, now = self.squares, self.layout
        if self.spread.between_draws is None:
            return squares
        draw = max(0.0, squares.between - squares.rest / now.seeds)
        rest = squares.rest
        of_arms = max(0.0, squares.seed_by_arm - rest * now.rest_in_means)
        of_pair = max(0.0, squares.seed_by_pair - rest * now.rest_in_pair)
        return MeanSquares(
            draw + rest / layout.seeds,
            rest,
            of_arms + rest * layout.rest_in_means,
            of_pair + rest * layout.rest_in_pair,
        )


def cheapest(question: QuestionSpread, worth: float, prices: Prices) -> Design | None:
    """The cheapest design with at least the draws and seeds that are there; None where none of those considered
    suffices."""
    by_price = sorted(
        _designs(question.spread, prices), key=lambda design: (design.tflop, design.replicates + design.seeds)
    )
    for design in by_price:
        least = question.detectable(design.replicates, design.seeds)
        if least is not None and least <= worth:
            return design
    return None


def _designs(spread: Spread, prices: Prices) -> Iterator[Design]:
    seeds_now = len(spread.seeds)
    draws_now = max((spread.draws(arm) for arm in spread.arms), default=1)
    trained = sum(spread.draws(arm) > 0 for arm in spread.arms)
    for draws in range(max(1, draws_now), MOST_DRAWS + 1):
        for seeds in range(seeds_now, max(seeds_now, MOST_SEEDS) + 1):
            cells = len(spread.arms) - trained + trained * draws
            spent = (draws - draws_now) * prices.draw + cells * (seeds - seeds_now) * prices.run
            yield Design(draws, seeds, spent)
