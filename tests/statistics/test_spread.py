"""Sources of spread: each is estimated without bias, arms may scatter unequally, and what is known of a variance is as
wide as it should be."""

from collections.abc import Mapping

import numpy as np
import pytest
from scipy import stats

from adaptbert.statistics.spread import MADE_ONCE, Layout, MeanSquares, Spread, of_difference, of_values
from adaptbert.statistics.variance import (
    ALIKE,
    FITTED_AT,
    as_student,
    common_scale,
    moderated,
    over_chi_squared,
    variance_of,
)
from benchmarks.simulated_studies import ONCE, QUESTIONS, Simulator, World

STUDIES = 3000
ARM, OTHER = QUESTIONS["domain_text"]


def studies(world: World) -> Spread:
    """Many studies at once."""
    return Spread(Simulator(5).scores(world, STUDIES), ONCE, range(1, world.seeds + 1))


def single(runs: Mapping[str, Mapping[int, Mapping[int, float]]]) -> Spread:
    scores = {arm: np.array([[*own.values()] for own in replicates.values()]) for arm, replicates in runs.items()}
    seeds = next(iter(next(iter(runs.values())).values()))
    return Spread(scores, {arm for arm, own in runs.items() if list(own) == [MADE_ONCE]}, [*seeds])


def test_every_source_is_estimated_without_bias() -> None:
    world = World(draws=3, seeds=4, draw=0.8, rows=0, seed_by_arm=0.5, scatter={"domain": 2.0})
    squares, layout = studies(world).mean_squares(ARM, OTHER), studies(world).layout(ARM, OTHER)
    between, pair, others = (10_000 * each.mean(0) for each in (squares.between, squares.pair, squares.others))
    rest = 0.4
    assert between[0] == pytest.approx(1.6**2 + rest / 4, rel=0.06), "of this arm alone"
    assert between[1] == pytest.approx(0.8**2 + rest / 4, rel=0.06)
    assert [*between[2:4]] == [0, 0], "scratch and general are trained once"
    assert pair == pytest.approx(0.5**2 + rest / 3, rel=0.04)
    in_all = 5 * np.mean([1, 1, 1 / 3, 1 / 3, 1 / 3, 1 / 3])
    assert others == pytest.approx(0.5**2 + rest * (in_all - 1 / 3) / 4, rel=0.04)
    assert (layout.replicates, layout.df_between) == ((3, 3), [2, 2, 0, 0, 2, 2])


def test_the_rest_of_a_run_is_told_from_its_seed_and_replicate() -> None:
    scores = Simulator(2).scores(World(draws=4, seeds=5, draw=0.8, rows=0, seed=2.0), 300)
    each = [
        Spread({arm: own[study] for arm, own in scores.items()}, ONCE, range(5)).rest * 10_000 for study in range(300)
    ]
    assert np.mean(each) == pytest.approx(0.4, rel=0.05)


# ---- what is known of a variance


def test_a_mean_square_alone_gives_students_t() -> None:
    for df in (1, 2, 4, 30):
        se, own = as_student(4.0 * over_chi_squared(df, 0))
        assert se == pytest.approx(2.0, rel=0.01)
        assert own == pytest.approx(df, rel=0.02)


def test_students_t_has_the_quantiles_of_the_mixture() -> None:
    """Of a normal deviation whose variance may be one of these."""
    variance = np.concatenate([1.0 * over_chi_squared(3, 0), 9.0 + 4.0 * over_chi_squared(2, 1)])
    se, df = as_student(variance)
    for level in FITTED_AT:
        margin = stats.t.ppf(1 - level / 2, df) * se
        assert 2 * stats.norm.sf(margin / np.sqrt(variance)).mean() == pytest.approx(level, rel=0.01)
    assert as_student(np.zeros(8))[0] < 1e-10, "no spread"
    assert as_student(np.full(8, 4.0)) == (pytest.approx(2.0, rel=1e-4), pytest.approx(1e6)), "a variance that is known"


def test_the_common_scale_lies_where_the_mean_squares_do() -> None:
    """Of many that are alike it is theirs; one that is far larger hardly moves it; its own is then that of the arm."""
    alike = common_scale(np.full(6, 4.0), [4] * 6)
    assert np.median(alike) == pytest.approx(4.0, rel=0.25)
    squares = np.array([400.0, 4.0, 4.0, 4.0, 4.0, 4.0])
    scale = common_scale(squares, [4] * 6)
    assert np.median(scale) < 2 * np.median(alike)
    own = moderated(squares[0], 4, scale, 1)
    assert 1 / np.mean(1 / own) == pytest.approx(400 * 4 / (4 + ALIKE), rel=0.1)
    assert not common_scale(np.zeros(3), [1, 1, 1]).any(), "scores that are all alike"
    several = common_scale(np.array([squares, 2 * squares]), [4] * 6)
    assert several[1] == pytest.approx(2 * several[0])
    assert several[0] == pytest.approx(scale)


def test_an_arm_is_judged_by_its_own_spread_the_more_the_more_often_it_was_trained() -> None:
    def of(replicates: int, own: float) -> float:
        squares = MeanSquares(np.array([own, 1.0, 1.0]), np.array(0.1), np.array(0.1))
        return variance_of(of_difference(squares, Layout((replicates, replicates), 3, (replicates,)))).parts[
            "replicates"
        ]

    few, many = ((of(replicates, 9.0) / of(replicates, 1.0)) for replicates in (2, 12))
    assert 1.2 < few < many < 9.0


@pytest.mark.parametrize(("draw", "seed_by_arm"), [(0.8, 0.0), (0.8, 0.6), (0.0, 0.6)])
def test_an_interval_holds_the_difference_as_often_as_it_says(draw: float, seed_by_arm: float) -> None:
    """Pairs of trained arms, one beside an arm that is made once, and two such; what is uncertain of a variance makes
    the interval wider, so that it holds too much rather than too little. Of two that are made once it holds too seldom:
    what seeds do to them has all of the rest, and that of the others a third."""
    spread = studies(World(draws=3, seeds=4, draw=draw, rows=0, seed_by_arm=seed_by_arm))
    for question in ("domain_text", "domain_transfer", "pretrain"):
        least = 0.925 if question == "pretrain" else 0.94
        assert least < held(spread, *QUESTIONS[question]) < 0.995, question


def held(spread: Spread, arm: str, other: str) -> float:
    """The share of 95 % intervals that hold the truth, which is 0."""
    se, df = as_student(np.sum([*spread.of_difference(arm, other).values()], 0))
    return float(
        np.mean(np.abs(spread.arms[arm].mean((1, 2)) - spread.arms[other].mean((1, 2))) <= stats.t.ppf(0.975, df) * se)
    )


@pytest.mark.parametrize("arm", ["domain", "general_long"])
def test_intervals_hold_where_one_arm_scatters_three_times_as_far(arm: str) -> None:
    spread = studies(World(draws=2, seeds=5, draw=1.0, rows=0, scatter={arm: 3.0}))
    assert held(spread, ARM, OTHER) > 0.925


def test_arms_that_a_seed_sets_apart_are_judged_by_their_own_spread() -> None:
    """Arms of two kinds, which a seed treats differently: what all arms show of it is too little for them."""
    spread = studies(World(draws=3, seeds=4, draw=0, rows=0, seed_by_kind=1.0))
    squares = spread.mean_squares(ARM, OTHER)
    assert squares.pair.mean() > 1.3 * squares.others.mean()
    assert held(spread, ARM, OTHER) > 0.94


# ---- single studies


def once(scores: Mapping[str, list[float]]) -> dict[str, dict[int, dict[int, float]]]:
    return {arm: {MADE_ONCE: dict(enumerate(values))} for arm, values in scores.items()}


def test_without_replicates_two_arms_give_the_paired_t_test() -> None:
    scores = {"arm": [0.61, 0.64, 0.60, 0.66], "other": [0.58, 0.62, 0.60, 0.61]}
    variance = variance_of(single(once(scores)).of_difference("arm", "other"))
    assert variance.total == pytest.approx(np.subtract(scores["arm"], scores["other"]).var(ddof=1) / 4, rel=0.02)
    assert (list(variance.parts), variance.df) == (["seeds"], pytest.approx(3, rel=0.02))


def test_what_a_seed_does_to_all_arms_leaves_a_difference() -> None:
    random = np.random.default_rng(2)
    luck, own = random.normal(0, 0.1, 5), random.normal(0, 0.001, (3, 5))
    spread = single(once({f"arm_{place}": list(0.6 + luck + row) for place, row in enumerate(own)}))
    assert variance_of(spread.of_difference("arm_0", "arm_1")).total < 1e-5
    assert variance_of(spread.of_mean("arm_0")).total > 1e-4
    assert variance_of(spread.of_mean("arm_0", dict(enumerate(luck)))).total < 1e-5


def test_a_single_replicate_takes_the_spread_of_the_other_arms() -> None:
    """A run that is missing leaves an arm with one."""
    runs = Simulator(3).study(World(draws=3, seeds=3, draw=1.0, rows=0)).runs
    alone = {**runs, "domain": {1: runs["domain"][1]}}
    whole, fewer = (variance_of(single(each).of_difference(ARM, OTHER)) for each in (runs, alone))
    assert fewer.parts["replicates"] > 1.1 * whole.parts["replicates"]


def test_the_mean_of_an_arm_has_its_seeds_and_its_replicates() -> None:
    spread = single(Simulator(3).study(World(draws=3, seeds=3, draw=1.0, rows=0)).runs)
    assert [*spread.of_mean("domain")] == ["seeds", "replicates"]
    assert [*spread.of_mean("general")] == ["seeds"]


def test_independent_values_give_the_standard_error_of_their_mean() -> None:
    values = np.array([0.5, 0.6, 0.65, 0.7])
    variance = variance_of(of_values(values))
    assert variance.total == pytest.approx(values.var(ddof=1) / 4, rel=0.02)
    assert variance.df == pytest.approx(3, rel=0.02)
