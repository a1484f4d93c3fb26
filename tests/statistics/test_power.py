"""A power, and a detectable difference, come true in simulated studies at the rate that they promise."""

import math

import numpy as np
import pytest
from scipy import stats

from adaptbert.statistics.intervals import MOST_DF
from adaptbert.statistics.mean_squares import Layout, MeanSquares
from adaptbert.statistics.power import POWER, SURE, Power, spread_range
from tests.support.known import known
from tests.support.rates import STUDIES, standard_error


def of_seeds(se: float, df: int, level: float = 0.05) -> Power:
    """A paired t-test over df + 1 seeds of two arms that are made once."""
    seeds = df + 1
    of_seeds = se**2 * seeds / 2
    squares = MeanSquares(0.0, 0.0, of_seeds, of_seeds)
    return Power(squares, Layout((0, 0), seeds, (1, 1)), (0.0, MOST_DF), level)


def test_power_agrees_with_a_published_example() -> None:
    # Paired t-test, effect of half a standard deviation, 34 pairs, two-sided 5 %: 0.808 in Cohen's tables.
    assert of_seeds(1 / math.sqrt(34), 33).of(0.5) == pytest.approx(0.808, abs=0.002)


@pytest.mark.parametrize("df", [2, 4, 30])
@pytest.mark.parametrize("level", [0.2, 0.05, 0.0125])
def test_of_one_mean_square_it_is_the_non_central_t_distribution(df: int, level: float) -> None:
    """Cohen (1988), "Statistical Power Analysis for the Behavioral Sciences", 2nd ed., chapter 2."""
    for ratio in (0.5, 2.0, 4.0):
        exact = stats.nct.sf(stats.t.ppf(1 - level / 2, df), df, ratio)
        assert of_seeds(0.013, df, level).of(ratio * 0.013) == pytest.approx(exact, abs=0.003)


@pytest.mark.parametrize("layout", [Layout((2, 2), 3, (1, 1, 2, 2, 2, 2)), Layout((5, 0), 5, (1, 1, 5, 5, 5, 5))])
def test_the_detectable_difference_has_the_power_that_it_claims(layout: Layout) -> None:
    power = Power(MeanSquares(2e-4, 1e-4, 1e-4, 1e-4), layout, (1e-5, 999), 0.025)
    assert power.of(known(power.detectable)) == pytest.approx(POWER, abs=1e-6)


def test_the_detectable_difference_is_shown_in_four_of_five_studies() -> None:
    effect = known(of_seeds(0.02 / math.sqrt(5), 4).detectable)
    scores = np.random.default_rng(17).normal(effect, 0.02, (STUDIES, 5))
    means, errors = scores.mean(1), scores.std(1, ddof=1) / math.sqrt(5)
    shown = np.mean(means / errors > stats.t.ppf(0.975, 4))
    assert abs(shown - POWER) < 4 * standard_error(POWER)


def test_without_a_spread_nothing_is_detectable() -> None:
    assert of_seeds(0.0, 4).detectable is None


@pytest.mark.parametrize("df", [3, 20])
def test_the_true_spread_lies_in_its_range_at_the_stated_rate(df: int) -> None:
    low, high = spread_range(df)
    assert low < 1 < high
    estimates = np.sqrt(np.random.default_rng(df).chisquare(df, STUDIES) / df)
    covered = np.mean((low * estimates <= 1) & (high * estimates >= 1))
    assert abs(covered - SURE) < 4 * standard_error(SURE)
