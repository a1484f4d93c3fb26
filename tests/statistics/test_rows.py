"""Test rows: the bootstrap finds the standard error that other test sets would show, paired and by groups."""

import numpy as np
import pytest

from adaptbert.comparison.scores import scorer
from adaptbert.statistics.rows import RESAMPLES, RowScores, RowSpread, resampled_weights, row_scores


def test_every_resample_has_as_many_rows() -> None:
    weights = resampled_weights(range(50))
    assert weights.shape == (RESAMPLES, 50)
    assert (weights.sum(1) == 50).all()
    assert 0.9 < weights.mean() < 1.1
    assert (weights == resampled_weights(range(50))).all(), "the same rows in every run"
    assert (weights != resampled_weights(range(50), seed=1)).any()


def test_rows_of_a_group_are_drawn_together() -> None:
    groups = ["a", "a", "b", "c", "b", "d"]
    weights = resampled_weights(groups)
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, 2] == weights[:, 4]).all()
    assert (weights[:, 0] != weights[:, 2]).any()


def test_the_standard_error_is_that_of_other_test_sets() -> None:
    """Macro-F1 of two models on 300 rows, against its spread over 400 test sets of this size."""
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
        [[scorer("class", gold, once)(own)[0] for own in answers] for gold, answers in (test_set() for _ in range(400))]
    )
    gold, answers = test_set()
    score = scorer("class", gold, resampled_weights(range(300)))
    rows = RowSpread(
        {name: RowScores(score(own), 0.0) for name, own in zip(("one", "other"), answers, strict=True)}, 300
    )
    assert rows.of_mean("one", 0.0).total ** 0.5 == pytest.approx(scores[:, 0].std(), rel=0.25)
    paired = rows.of_difference("one", "other", 0.0)
    assert paired.total**0.5 == pytest.approx((scores[:, 0] - scores[:, 1]).std(), rel=0.25)
    assert paired.total < rows.of_mean("one", 0.0).total + rows.of_mean("other", 0.0).total, (
        "pairing takes out the rows"
    )
    assert (list(paired.parts), paired.df) == (["rows"], pytest.approx(299))


@pytest.mark.parametrize(("draws", "seeds"), [(4, 3), (1, 5)])
def test_what_rows_do_to_single_runs_is_taken_off(draws: int, seeds: int) -> None:
    """Of the rows: 1 to the arm, 2 to a single run, as standard deviations of the score. The spread between runs has
    the second; of one draw its seeds are the runs."""
    random, shares = np.random.default_rng(6), []
    weights = resampled_weights(range(400)) / 400
    for _ in range(60):
        answers = random.normal(0, 20, (400, 1, 1)) + random.normal(0, 40, (400, draws, seeds))
        scores = np.moveaxis(np.tensordot(weights, answers, 1), 0, -1)
        rows = RowSpread({"arm": row_scores(list(scores))}, 400)
        shares.append(rows.of_mean("arm", 100.0).total)
    assert np.mean(shares) == pytest.approx(1.0, abs=0.15)
    whole = float(scores.mean((0, 1)).var(ddof=1)) * 400 / 399
    assert rows.of_mean("arm", 0.0).total == pytest.approx(whole), "runs that score alike have nothing of it"
    assert row_scores([scores[0][:1]]).of_runs == 0, "a single run has nothing beside it"
