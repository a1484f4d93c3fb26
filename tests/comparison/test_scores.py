"""Scores on resampled rows are those of the metric itself on the same rows, for every target."""

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.comparison.scores import scorer
from adaptbert.config.schema.task_types import Target
from adaptbert.data import tag_schemes
from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks.metrics.scoring import COMPARED_BY, SCORING
from tests.support import tiny_tasks

LABELS = ["a", "b", "c"]
SHAPES = {target: shape for shape, target in tiny_tasks.KINDS}
WORDS = st.lists(st.sampled_from(["the", "cell", "wall", "of", "rice", "Wall."]), max_size=4).map(" ".join)


def tags_of(row: Sequence[str]) -> list[str]:
    return tag_schemes.legal(list(row), "bio")


def answer(target: Target) -> st.SearchStrategy[Any]:
    match target:
        case "class":
            return st.sampled_from(LABELS)
        case "labels":
            return st.lists(st.sampled_from(LABELS), unique=True)
        case "number":
            return st.floats(-50, 50).map(lambda value: round(value, 2))
        case "spans":
            return st.lists(st.sampled_from(["O", "B-x", "I-x", "B-y", "I-y"]), min_size=4, max_size=4).map(tags_of)
        case "tags":
            return st.lists(st.sampled_from(LABELS), min_size=3, max_size=3)
        case "answer":
            return WORDS


def right_answer(target: Target) -> st.SearchStrategy[Any]:
    return st.lists(WORDS, max_size=2) if target == "answer" else answer(target)


@pytest.mark.parametrize("target", get_args(Target))
@settings(max_examples=60, deadline=None)
@given(draw=st.data())
def test_weighted_rows_score_as_repeated_rows(target: Target, draw: st.DataObject) -> None:
    rows = draw.draw(st.integers(2, 12))
    gold = draw.draw(st.lists(right_answer(target), min_size=rows, max_size=rows))
    predicted = draw.draw(st.lists(answer(target), min_size=rows, max_size=rows))
    taken = draw.draw(st.lists(st.integers(0, rows - 1), min_size=rows, max_size=rows))
    weights = np.stack([np.ones(rows, np.uint8), np.bincount(taken, minlength=rows).astype(np.uint8)])
    # The script of all right answers decides between words and characters, so it is the same for every resample.
    expected = [_metric(target, gold, predicted, range(rows)), _metric(target, gold, predicted, taken)]
    assert scorer(target, gold, weights)(predicted) == pytest.approx(expected, abs=1e-5)


def _metric(target: Target, gold: Sequence[Any], predicted: Sequence[Any], rows: Sequence[int] | range) -> float:
    task: TaskDescription = tiny_tasks.described(SHAPES[target], target, labels=LABELS)
    scores = SCORING[target].score([gold[row] for row in rows], [predicted[row] for row in rows], task)
    return scores[COMPARED_BY[target]]


def test_large_sets_are_scored_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    gold, predicted = (random.choice(LABELS, 500).tolist() for _ in range(2))
    weights = random.integers(0, 4, (50, 500)).astype(np.uint8)
    whole = scorer("class", gold, weights)(predicted)
    monkeypatch.setattr("adaptbert.comparison.scores.ROWS_AT_ONCE", 1000)
    assert (scorer("class", gold, weights)(predicted) == whole).all()
