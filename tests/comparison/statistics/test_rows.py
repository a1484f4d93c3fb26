"""Test rows: the bootstrap finds the standard error that other test sets would show, paired and by groups."""

import numpy as np
import pytest

from adaptbert.comparison.evaluation.resampled_scores import scorer
from adaptbert.comparison.statistics.rows import RESAMPLES, RowSpread, resampled_weights


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
    rows = RowSpread({"one": score(answers[0]), "other": score(answers[1])}, 300)
    assert rows.of_mean("one").total ** 0.5 == pytest.approx(scores[:, 0].std(), rel=0.25)
    paired = rows.of_difference("one", "other")
    assert paired.total**0.5 == pytest.approx((scores[:, 0] - scores[:, 1]).std(), rel=0.25)
    assert paired.total < rows.of_mean("one").total + rows.of_mean("other").total, "pairing takes out the rows"
    assert (list(paired.parts), paired.df) == (["rows"], pytest.approx(299))
