"""More draws and seeds: what they would show is what studies of that size show; the cheapest design is the cheapest."""

import numpy as np
import pytest

from adaptbert.statistics.designs import MOST_DRAWS, Prices, QuestionSpread, cheapest
from benchmarks.simulated_studies import Simulator, World
from tests.support.known import known

NOW = World(draws=3, seeds=3, draw=0.8, rows=0.4)
LEVEL = 0.025


def question(world: World, seed: int) -> QuestionSpread:
    return Simulator(seed).study(world).study().question("domain", "general_long", LEVEL)


@pytest.mark.parametrize(("draws", "seeds"), [(3, 3), (6, 3), (3, 8), (6, 8)])
def test_what_a_design_would_show_is_what_studies_of_that_size_show(draws: int, seeds: int) -> None:
    larger = World(draws=draws, seeds=seeds, draw=0.8, rows=0.4)
    before = [question(NOW, seed).detectable(draws, seeds) or 0 for seed in range(60)]
    then = [question(larger, seed).power.detectable or 0 for seed in range(100, 160)]
    assert np.sqrt(np.mean(np.square(before))) == pytest.approx(np.sqrt(np.mean(np.square(then))), rel=0.1)


def test_the_design_that_there_is_shows_what_the_study_shows() -> None:
    each = question(NOW, 1)
    assert each.detectable(3, 3) == pytest.approx(each.power.detectable)


def test_the_cheapest_design_detects_what_is_worth_having() -> None:
    each = question(NOW, 1)
    prices = Prices(draw=10.0, run=0.1)
    design = known(cheapest(each, 0.02, prices))
    assert (each.detectable(design.replicates, design.seeds) or 1) <= 0.02
    for draws in range(3, MOST_DRAWS + 1):
        for seeds in range(3, 10):
            spent = (draws - 3) * prices.draw + (2 + 4 * draws) * (seeds - 3) * prices.run
            if spent < design.tflop - 1e-9:
                assert (each.detectable(draws, seeds) or 1) > 0.02
    assert cheapest(each, 1e-4, prices) is None


def test_prices_decide_between_draws_and_seeds() -> None:
    each = question(World(draws=3, seeds=3, draw=0.3, rows=0.1, seed=2.0), 4)
    dear_draws, dear_seeds = (known(cheapest(each, 0.018, prices)) for prices in (Prices(1e4, 0.01), Prices(0.01, 1e4)))
    assert dear_draws.seeds > dear_seeds.seeds
    assert dear_draws.replicates < dear_seeds.replicates


def test_rows_alone_set_a_limit() -> None:
    each = question(World(draws=3, seeds=3, draw=0.1, rows=1.2), 3)
    assert each.of_rows_alone == pytest.approx(0.012 * (2.241 + 0.842), rel=0.15)
    assert (each.detectable(500, 500) or 0) == pytest.approx(each.of_rows_alone, rel=0.03)


def test_without_repeated_draws_no_other_design_is_judged() -> None:
    each = question(World(draws=1, seeds=3, draw=0.5, rows=0), 1)
    assert each.detectable(3, 3) is None
    assert each.power.detectable is not None, "of these weights"
