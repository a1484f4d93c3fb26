"""A power, and a detectable difference, come true in simulated studies at the rate that they promise; the cheapest
design is the cheapest."""

import numpy as np
import pytest
from scipy import stats

from adaptbert.statistics.intervals import MOST_DF
from adaptbert.statistics.power import (
    MOST_REPLICATES,
    POWER,
    SURE,
    Components,
    Power,
    spread_range,
)
from adaptbert.statistics.spread import Layout
from benchmarks.simulated_studies import Simulator, World
from tests.support.known import known
from tests.support.rates import STUDIES, standard_error

NOW = World(draws=3, seeds=3, draw=0.8, rows=0.4)


def of_seeds(se: float, df: int, level: float = 0.05) -> Power:
    """A paired t-test over df + 1 seeds of two arms that are made once."""
    seeds = df + 1
    of_seeds = se**2 * seeds / 2
    return Power(Components(np.zeros(2), 0.0, of_seeds, of_seeds), Layout((0, 0), seeds, ()), (0.0, MOST_DF), level)


def question(world: World, seed: int) -> Power:
    return Simulator(seed).study(world).study().power("domain", "general_long", 0.025)


@pytest.mark.parametrize("df", [2, 4, 30])
@pytest.mark.parametrize("level", [0.2, 0.05, 0.0125])
def test_of_one_mean_square_it_is_the_non_central_t_distribution(df: int, level: float) -> None:
    """Cohen (1988), "Statistical Power Analysis for the Behavioral Sciences", 2nd ed., chapter 2."""
    for ratio in (0.5, 2.0, 4.0):
        exact = stats.nct.sf(stats.t.ppf(1 - level / 2, df), df, ratio)
        assert of_seeds(0.013, df, level).of(ratio * 0.013) == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("layout", [Layout((2, 2), 3, (1, 1, 2, 2)), Layout((5, 0), 5, (1, 5, 5, 5))])
def test_the_detectable_difference_has_the_power_that_it_claims(layout: Layout) -> None:
    power = Power(Components(np.full(6, 1e-4), 1e-4, 1e-4, 1e-4), layout, (1e-5, 999), 0.025)
    assert power.of(known(power.detectable)) == pytest.approx(POWER, abs=1e-6)
    assert of_seeds(0.0, 4).detectable is None, "without a spread"


@pytest.mark.parametrize("df", [3, 20])
def test_the_true_spread_lies_in_its_range_at_the_stated_rate(df: int) -> None:
    low, high = spread_range(df)
    assert low < 1 < high
    estimates = np.sqrt(np.random.default_rng(df).chisquare(df, STUDIES) / df)
    covered = np.mean((low * estimates <= 1) & (high * estimates >= 1))
    assert abs(covered - SURE) < 4 * standard_error(SURE)


def test_what_a_design_would_show_is_what_studies_of_that_size_show() -> None:
    now = [question(NOW, seed) for seed in range(60)]
    for replicates, seeds in ((3, 3), (6, 3), (3, 8), (6, 8)):
        larger = World(draws=replicates, seeds=seeds, draw=0.8, rows=0.4)
        before = [known(each.repeated(replicates, seeds).detectable) for each in now]
        then = [known(question(larger, seed).detectable) for seed in range(100, 160)]
        assert np.sqrt(np.mean(np.square(before))) == pytest.approx(np.sqrt(np.mean(np.square(then))), rel=0.1)
    assert now[1].repeated(3, 3).detectable == pytest.approx(now[1].detectable), "the design that there is"


def test_the_cheapest_design_detects_what_is_worth_having() -> None:
    def price(replicates: int, seeds: int) -> float:
        return (replicates - 3) * 10.0 + (2 + 4 * replicates) * (seeds - 3) * 0.1

    each = question(NOW, 1)
    design = known(each.cheapest(0.02, price))
    assert known(each.repeated(*design).detectable) <= 0.02
    for replicates in range(3, MOST_REPLICATES + 1):
        for seeds in range(3, 10):
            if price(replicates, seeds) < price(*design) - 1e-9:
                assert known(each.repeated(replicates, seeds).detectable) > 0.02
    assert each.cheapest(1e-4, price) is None


def test_prices_decide_between_replicates_and_seeds() -> None:
    each = question(World(draws=3, seeds=3, draw=0.3, rows=0.1, rest=1.3), 4)
    dear_replicates = known(each.cheapest(0.018, lambda replicates, seeds: 1e4 * replicates + seeds))
    dear_seeds = known(each.cheapest(0.018, lambda replicates, seeds: replicates + 1e4 * seeds))
    assert dear_replicates[1] > dear_seeds[1]
    assert dear_replicates[0] < dear_seeds[0]


def test_rows_alone_set_a_limit() -> None:
    each = question(World(draws=3, seeds=3, draw=0.1, rows=1.2), 3)
    assert each.of_rows_alone == pytest.approx(0.012 * (2.241 + 0.842), rel=0.15)
    assert each.repeated(500, 500).detectable == pytest.approx(each.of_rows_alone, rel=0.03)


def test_without_repeated_steps_no_other_design_is_judged() -> None:
    each = question(World(draws=1, seeds=3, draw=0.5, rows=0), 1)
    assert each.cheapest(1.0, lambda replicates, seeds: replicates + seeds) is None
    assert each.detectable is not None, "of these weights"
