"""Sources of spread: each is estimated without bias, and the variance of a difference is the one that studies have."""

from collections.abc import Mapping

import numpy as np
import pytest

from adaptbert.statistics.spread import MADE_ONCE, Layout, MeanSquares, Spread, Variance, of_difference
from benchmarks.simulated_studies import QUESTIONS, Simulator, World

STUDIES = 1500
ARM, OTHER = QUESTIONS["domain_text"]


def spreads(world: World) -> list[Spread]:
    simulator = Simulator(5)
    return [Spread(simulator.study(world).runs, range(1, world.seeds + 1)) for _ in range(STUDIES)]


def points(studies: list[Spread], name: str) -> float:
    """Points of a mean square, squared."""
    return 10_000 * float(np.mean([getattr(each.mean_squares(ARM, OTHER), name) for each in studies]))


def ratio(studies: list[Spread], arm: str, other: str) -> float:
    """The estimated variance of the difference over the true one."""
    differences = [each.arms[arm].mean() - each.arms[other].mean() for each in studies]
    estimates = [each.of_difference(arm, other).total for each in studies]
    return float(np.mean(estimates) / np.var(differences))


def test_every_source_is_estimated_without_bias() -> None:
    studies = spreads(World(draws=3, seeds=4, draw=0.8, rows=0, seed_by_arm=0.5))
    rest = 0.4  # of a seed's variance of 1, `common` is 0.6
    assert points(studies, "rest") == pytest.approx(rest, rel=0.03)
    assert points(studies, "between") == pytest.approx(0.8**2 + rest / 4, rel=0.04)
    in_means = rest * np.mean([1, 1, 1 / 3, 1 / 3, 1 / 3, 1 / 3])
    assert points(studies, "seed_by_arm") == pytest.approx(0.5**2 + in_means, rel=0.04)


@pytest.mark.parametrize(("draw", "seed_by_arm"), [(0.8, 0.0), (0.8, 0.6), (0.0, 0.6)])
def test_the_variance_of_a_difference_is_the_one_that_studies_have(draw: float, seed_by_arm: float) -> None:
    """Pairs of trained arms, one beside an arm that is made once, and two such. `seed x arm` is that of all arms or of
    the pair, whichever is larger, and cut off at 0, so the estimate may be larger, and never smaller."""
    studies = spreads(World(draws=3, seeds=4, draw=draw, rows=0, seed_by_arm=seed_by_arm))
    for question in ("domain_text", "domain_transfer", "pretrain"):
        assert 1.0 < ratio(studies, *QUESTIONS[question]) < 1.5, question


def test_arms_that_a_seed_sets_apart_are_judged_by_their_own_spread() -> None:
    """Arms of two kinds, which a seed treats differently: what all arms show of it is too little for them."""
    studies = spreads(World(draws=3, seeds=4, draw=0, rows=0, seed_by_kind=1.0))
    assert 1.0 < ratio(studies, ARM, OTHER) < 1.2
    assert points(studies, "seed_by_pair") > 1.3 * points(studies, "seed_by_arm")


@pytest.mark.parametrize("excess", [1.0001, 1.1, 2.0])
def test_a_difference_of_mean_squares_has_no_fewer_degrees_of_freedom_than_each_of_them(excess: float) -> None:
    """Where `seed x arm` is just what the rest makes it, Satterthwaite's rule gives less than one, and an interval
    without bounds."""
    parts, terms = of_difference(MeanSquares(1e-3, 1.0, 0.0, excess / 3), Layout((3, 3), 3, (1, 3, 3)))
    variance = Variance({name: float(part) for name, part in parts.items()}, [(float(s), df) for s, df in terms])
    assert variance.df >= 2
    assert sum(share for share, _ in terms) == pytest.approx(variance.total)


def once(scores: Mapping[str, list[float]]) -> dict[str, dict[int, dict[int, float]]]:
    return {arm: {MADE_ONCE: dict(enumerate(values))} for arm, values in scores.items()}


def test_without_replicates_two_arms_give_the_paired_t_test() -> None:
    scores = {"arm": [0.61, 0.64, 0.60, 0.66], "other": [0.58, 0.62, 0.60, 0.61]}
    variance = Spread(once(scores), range(4)).of_difference("arm", "other")
    assert variance.total == pytest.approx(np.subtract(scores["arm"], scores["other"]).var(ddof=1) / 4)
    assert (list(variance.parts), variance.df) == (["seeds"], pytest.approx(3))


def test_what_a_seed_does_to_all_arms_leaves_a_difference() -> None:
    random = np.random.default_rng(2)
    luck, own = random.normal(0, 0.1, 5), random.normal(0, 0.001, (3, 5))
    spread = Spread(once({f"arm_{place}": list(0.6 + luck + row) for place, row in enumerate(own)}), range(5))
    assert spread.of_difference("arm_0", "arm_1").total < 1e-5
    assert spread.of_mean("arm_0").total > 1e-4
    assert spread.of_mean("arm_0", dict(enumerate(luck))).total < 1e-5


def test_a_single_replicate_takes_the_spread_of_the_other_arms() -> None:
    """A run that is missing leaves an arm with one."""
    runs = Simulator(3).study(World(draws=3, seeds=3, draw=1.0, rows=0)).runs
    alone = {**runs, "domain": {1: runs["domain"][1]}}
    whole, fewer = (Spread(each, range(1, 4)).of_difference(ARM, OTHER) for each in (runs, alone))
    assert fewer.parts["replicates"] > 1.5 * whole.parts["replicates"]


def test_satterthwaite_on_a_worked_example() -> None:
    # Two variances of 4 with 3 degrees of freedom each: 8**2 / (16 / 3 + 16 / 3) = 6.
    assert Variance({"replicates": 8.0}, [(4.0, 3), (4.0, 3)]).df == pytest.approx(6)
    assert (Variance({"seeds": 4.0}, [(4.0, 3)]) + Variance({"rows": 4.0}, [(4.0, 3)])).df == pytest.approx(6)
    assert Variance({"replicates": 0.0}, []).df == float("inf")
