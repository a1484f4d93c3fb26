"""Scores on resampled rows are those of the metric itself on the same rows, whoever answered them in whatever order."""

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.comparison.scores import ResampledRows, one_by_one, scorer
from adaptbert.config.schema.task_types import ByTarget, Target, comparable
from adaptbert.data import tag_schemes
from adaptbert.data.labelled_set import split
from adaptbert.statistics.study import RESAMPLES
from adaptbert.tasks.metrics.scoring import SCORING, classification_metrics
from tests.support import tiny_tasks

LABELS = ["a", "b", "c"]
SHAPES = {target: shape for shape, target in tiny_tasks.KINDS}
WORDS = st.lists(st.sampled_from(["the", "cell", "wall", "of", "rice", "Wall."]), max_size=4).map(" ".join)
TAGS = st.lists(st.sampled_from(["O", "B-x", "I-x", "B-y", "I-y"]), min_size=4, max_size=4)
ANSWERS: ByTarget[st.SearchStrategy[Any]] = ByTarget(
    {
        "class": st.sampled_from(LABELS),
        "labels": st.lists(st.sampled_from(LABELS), unique=True),
        "number": st.floats(-50, 50).map(lambda value: round(value, 2)),
        "spans": TAGS.map(lambda tags: tag_schemes.legal(tags, "bio")),
        "tags": st.lists(st.sampled_from(LABELS), min_size=3, max_size=3),
        "answer": WORDS,
    }
)
RIGHT = ByTarget(ANSWERS | {"answer": st.lists(WORDS, max_size=2)})


@pytest.mark.parametrize("target", get_args(Target))
@settings(max_examples=40, deadline=None)
@given(draw=st.data())
def test_weighted_rows_score_as_repeated_rows(target: Target, draw: st.DataObject) -> None:
    rows = draw.draw(st.integers(2, 12))
    gold, predicted = (
        draw.draw(st.lists(answers[target], min_size=rows, max_size=rows)) for answers in (RIGHT, ANSWERS)
    )
    taken = draw.draw(st.lists(st.integers(0, rows - 1), min_size=2, max_size=2 * rows))  # groups differ in size
    weights = np.stack([np.ones(rows, np.uint8), np.bincount(taken, minlength=rows).astype(np.uint8)])
    # The script of all right answers decides between words and characters, so it is the same for every resample.
    task = tiny_tasks.described(SHAPES[target], target, labels=LABELS)
    metric = draw.draw(st.sampled_from(comparable(target, task.positive)))
    expected = one_by_one(task, gold, weights, metric)(predicted)
    assert scorer(task, gold, weights, metric)(predicted) == pytest.approx(expected, abs=1e-5)
    repeated = [[each[row] for row in sorted(taken)] for each in (gold, predicted)]
    assert expected[1] == SCORING[target].score(*repeated, task)[metric]


def test_large_sets_are_scored_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    gold, predicted = (random.choice(LABELS, 500).tolist() for _ in range(2))
    weights = random.integers(0, 4, (50, 500)).astype(np.uint8)
    task = tiny_tasks.described("single_sentence")
    whole = scorer(task, gold, weights, "f1_macro")(predicted)
    monkeypatch.setattr("adaptbert.comparison.scores.ROWS_AT_ONCE", 1000)
    assert (scorer(task, gold, weights, "f1_macro")(predicted) == whole).all()


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    return tiny_tasks.task(tmp_path / "task", "single_sentence", (20, 12, 40))


def test_rows_of_one_context_are_drawn_together(tmp_path: Path) -> None:
    folder = tiny_tasks.task(tmp_path / "questions", "extractive_answer", (12, 12, 12))
    rows = split(folder, "test")
    assert ResampledRows(folder, {}).groups == 12
    for place, row in enumerate(rows):
        row |= {"context": rows[0]["context"] if place < 4 else row["context"], "question": f"Which fish, {place}?"}
    pq.write_table(pa.Table.from_pylist(rows), folder / "test.parquet")
    assert ResampledRows(folder, {}).groups == 9, "four questions are about one text"
    assert ResampledRows(folder, {}).are_grouped


def test_rows_of_a_mapped_group_are_drawn_together(sentences: Path) -> None:
    rows = [str(row["id"]) for row in split(sentences, "test")]
    by_author = ResampledRows(sentences, {row: f"author {place // 10}" for place, row in enumerate(rows)})
    assert (ResampledRows(sentences, {}).are_grouped, by_author.are_grouped, by_author.groups) == (False, True, 4)
    half = ResampledRows(sentences, dict.fromkeys(rows[:20], "one author"))
    assert half.groups == 1 + len({row["text"] for row in split(sentences, "test")[20:]}), "others stay alone"


def test_rows_of_one_text_are_drawn_together_however_it_is_written(sentences: Path) -> None:
    """As of one sentence that marks now this word, now another, and asks about it."""
    rows = split(sentences, "test")
    alone = ResampledRows(sentences, {}).groups
    for row, text in zip(
        rows, ("<< Rust >> eats [[ iron ]].", "[[ Rust ]] eats << iron >>.", "rust eats iron"), strict=False
    ):
        row["text"] = text
    pq.write_table(pa.Table.from_pylist(rows), sentences / "test.parquet")
    resampled = ResampledRows(sentences, {})
    assert (resampled.groups, resampled.are_grouped) == (alone - 2, False)


def test_predictions_of_the_seeds_that_count_whatever_the_order_of_their_rows(sentences: Path, tmp_path: Path) -> None:
    rows = ResampledRows(sentences, {})
    gold = {row["id"]: row["label"] for row in split(sentences, "test")}
    other = dict.fromkeys(gold, "code")

    def scores(by_seed: dict[int, dict[str, str]]) -> np.ndarray:
        answers = [
            {"seed": seed, "id": name, "gold": gold[name], "predicted": answer, "confidence": 0.9}
            for seed, own in by_seed.items()
            for name, answer in own.items()
        ]
        pq.write_table(pa.Table.from_pylist(answers), tmp_path / "one.parquet")
        return rows.of_runs(tmp_path / "one.parquet", [1, 2])

    forwards = scores({1: gold, 2: other})
    assert forwards.shape == (2, RESAMPLES)
    assert forwards.tolist() == scores({1: gold, 2: dict(reversed(other.items()))}).tolist()
    assert scores({1: gold, 3: other}).tolist() == [[1.0] * RESAMPLES]
    expected = (1 + classification_metrics(list(gold.values()), list(other.values()))["f1_macro"]) / 2
    assert float(np.mean(forwards)) == pytest.approx(expected, abs=0.01)
