"""A study: what a mean and a difference rest on, which arms are pooled, what test rows add, and what is missing."""

from collections.abc import Mapping

import numpy as np
import pytest

from adaptbert.comparison.scores import scorer
from adaptbert.statistics.spread import MADE_ONCE, Runs
from adaptbert.statistics.study import RESAMPLES, ArmRuns, RowScores, Study, resampled_weights, row_scores, row_variance
from benchmarks.simulated_studies import Simulator, World
from tests.support import tiny_tasks
from tests.support.known import known

UNIT = (0.0, 1.0)
TASK, METRIC = tiny_tasks.described("single_sentence"), "f1_macro"


def simulated(world: World, seed: int = 1) -> Study:
    return Simulator(seed).study(world).study()


def study(arms: Mapping[str, Runs]) -> Study:
    return Study({name: ArmRuns(runs) for name, runs in arms.items()}, 100, 0.95, UNIT)


def test_an_interval_names_its_sources() -> None:
    once, repeated = (simulated(World(draws, 3, 0.5, 0.7)) for draws in (1, 3))
    assert once.mean("domain").sources == ("seeds", "rows")
    assert repeated.mean("domain").sources == ("seeds", "replicates", "rows")
    assert repeated.mean("general").sources == ("seeds", "rows")
    assert simulated(World(3, 3, 0.5, 0)).mean("domain").sources == ("seeds", "replicates")
    for arm, other, replicates in (("domain", "general_long", 3), ("domain", "general", 3), ("general", "scratch", 0)):
        difference = known(repeated.difference(arm, other))
        assert (difference.replicates, difference.seeds) == (replicates, 3)
        assert "rows" in known(difference.variance)


def test_missing_arms_and_seeds_and_the_ends_of_intervals() -> None:
    small = study(
        {
            "a": {1: {1: 0.5, 2: 0.6, 3: 0.7}, 2: {1: 0.5, 2: 0.6, 3: 0.6}},
            "b": {1: {1: 0.4, 2: 0.5, 3: 0.7}},  # a replicate is missing
            "c": {1: {8: 0.4, 9: 0.5}},
            "d": {1: {2: 0.4, 3: 0.5}},
            "e": {},
        }
    )
    assert small.difference("a", "e") is None
    assert small.difference("a", "c") is None
    without_interval = known(small.difference("a", "d"))
    assert (without_interval.seeds, without_interval.variance, without_interval.p) == (2, None, None)
    assert without_interval.mean == pytest.approx(np.mean([0.6, 0.6, 0.7, 0.6]) - 0.45)
    assert known(small.difference("a", "b")).replicates == 1
    assert small.mean("c").low is None
    wide = study({"a": {MADE_ONCE: {1: 0.9, 2: 0.5, 3: 0.1}}, "b": {MADE_ONCE: {1: 0.0, 2: 0.5, 3: 0.9}}})
    difference, mean = known(wide.difference("a", "b")), wide.mean("a")
    assert (difference.low, difference.high, mean.low, mean.high) == (-1.0, 1.0, 0.0, 1.0), "the range of the score"


def test_arms_that_are_alike_are_equal() -> None:
    constant = {MADE_ONCE: {1: 0.5, 2: 0.5, 3: 0.5}}
    assert known(study({"a": constant, "b": constant}).difference("a", "b")).identical
    scores = {1: {1: 0.5, 2: 0.6, 3: 0.7}, 2: {1: 0.5, 2: 0.6, 3: 0.6}}
    difference = known(study({"a": scores, "b": scores}).difference("a", "b"))
    assert (difference.mean, difference.p) == (0, 1)


def test_runs_that_score_alike_and_answer_differently_are_not_equal() -> None:
    """The spread between runs is 0, so that the test rows are all that an interval can rest on."""
    random, alike = np.random.default_rng(5), {number: dict.fromkeys((1, 2, 3), 0.5) for number in (1, 2)}
    arms = {arm: ArmRuns(alike, [0.5 + random.normal(0, 0.02, (3, 1000)) for _ in alike]) for arm in ("a", "b")}
    difference = known(Study(arms, 500, 0.95, UNIT).difference("a", "b"))
    assert not difference.identical
    assert difference.se == pytest.approx(0.02 * (2 / 6) ** 0.5, rel=0.1)


def test_an_arm_that_scatters_is_judged_by_itself() -> None:
    wide, calm = (simulated(World(3, 5, 0.5, 0, scatter_of_runs=scatter), 2) for scatter in ({"scratch": 8.0}, {}))
    assert (wide.scattered, calm.scattered) == ({"scratch"}, set())
    assert "scratch" not in wide.spread("domain", "general_long").arms
    assert "scratch" in wide.spread("general", "scratch").arms, "in its own questions"
    narrow, spoilt = (known(each.difference("domain", "general_long")) for each in (calm, wide))
    assert spoilt.se < 2 * narrow.se


def test_a_baseline_is_compared_row_by_row() -> None:
    random = np.random.default_rng(4)
    rows, own = random.normal(0, 0.02, 1000), random.normal(0, 0.002, 1000)
    runs = ArmRuns({MADE_ONCE: {1: 0.60, 2: 0.61, 3: 0.62}}, [np.array([0.61 + rows])])
    arms, same_labels = Study({"a": runs}, 500, 0.95, UNIT), dict.fromkeys((1, 2, 3), 0.55)
    paired = known(arms.beside_baseline("a", same_labels, 0.55 + rows + own, 1))
    apart = known(arms.beside_baseline("a", same_labels, 0.55 - rows, 1))
    assert paired.mean == pytest.approx(0.06)
    assert paired.se < apart.se / 3
    alone = arms.of_baseline(same_labels, 0.55 + rows)
    assert 0.55 - known(alone.low) == pytest.approx(1.96 * 0.02, rel=0.1)
    assert arms.beside_baseline("b", same_labels, rows, 1) is None


# ---- test rows


def test_rows_are_resampled_by_their_groups_and_the_same_in_every_run() -> None:
    weights = resampled_weights(range(50))
    assert weights.shape == (RESAMPLES, 50)
    assert (weights.sum(1) == 50).all()
    assert (weights == resampled_weights(range(50))).all()
    assert (weights != resampled_weights(range(50), seed=1)).any()
    grouped = resampled_weights(["a", "a", "b", "c", "b", "d"])
    assert (grouped[:, 0] == grouped[:, 1]).all()
    assert (grouped[:, 2] == grouped[:, 4]).all()
    assert (grouped[:, 0] != grouped[:, 2]).any()


def test_the_standard_error_is_that_of_other_test_sets() -> None:
    """Macro-F1 of two models on 300 rows, against its spread over 400 test sets of this size; pairing takes out what
    rows do to both."""
    random = np.random.default_rng(8)
    shares, errors = (0.6, 0.3, 0.1), (0.2, 0.3)

    def test_set() -> tuple[list[str], list[list[str]]]:
        gold = random.choice(["a", "b", "c"], 300, p=shares)
        hard = random.random(300)  # a row that is hard for one model is often hard for the other
        answers = [
            np.where(0.7 * hard + 0.3 * random.random(300) < error, random.choice(["a", "b", "c"], 300), gold).tolist()
            for error in errors
        ]
        return gold.tolist(), answers

    once = np.ones((1, 300), np.uint8)
    scores = np.array(
        [
            [scorer(TASK, gold, once, METRIC)(own)[0] for own in answers]
            for gold, answers in (test_set() for _ in range(400))
        ]
    )
    gold, answers = test_set()
    score = scorer(TASK, gold, resampled_weights(range(300)), METRIC)
    one, other = (RowScores(score(own)) for own in answers)
    alone, paired = row_variance(one, 300), row_variance(one - other, 300)
    assert alone**0.5 == pytest.approx(scores[:, 0].std(), rel=0.25)
    assert paired**0.5 == pytest.approx((scores[:, 0] - scores[:, 1]).std(), rel=0.25)
    assert paired < 0.8 * (alone + row_variance(other, 300))


@pytest.mark.parametrize(("replicates", "seeds"), [(4, 3), (1, 5)])
def test_what_rows_do_to_single_runs_is_taken_off(replicates: int, seeds: int) -> None:
    """What the rows do: 1 to the arm, 2 to a single run, as standard deviations of the score. The spread between runs
    has the second; of one replicate its seeds are the runs."""
    random, shares = np.random.default_rng(6), []
    weights = resampled_weights(range(400)) / 400
    for _ in range(60):
        answers = random.normal(0, 20, (400, 1, 1)) + random.normal(0, 40, (400, replicates, seeds))
        scores = np.moveaxis(np.tensordot(weights, answers, 1), 0, -1)
        own = row_scores(list(scores))
        shares.append(row_variance(own, 400, between_runs=100.0))
    assert np.mean(shares) == pytest.approx(1.0, abs=0.15)
    whole = float(scores.mean((0, 1)).var(ddof=1)) * 400 / 399
    assert row_variance(own, 400) == pytest.approx(whole), "runs that score alike have none"
    assert row_scores([scores[0][:1]]).of_runs == 0, "a single run has nothing beside it"
