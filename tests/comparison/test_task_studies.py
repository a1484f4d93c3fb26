"""What answered the test rows is scored on the same resampled rows, whatever the order of its file."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.comparison.scores import ResampledRows
from adaptbert.data.labelled_set import split
from adaptbert.statistics.rows import RESAMPLES
from adaptbert.tasks.metrics.scoring import classification_metrics
from tests.support import tiny_tasks


def resampled(folder: Path) -> ResampledRows:
    return ResampledRows(folder, {})


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    return tiny_tasks.task(tmp_path / "task", "single_sentence", (20, 12, 40))


def predictions(path: Path, gold: dict[str, str], by_seed: dict[int, dict[str, str]]) -> Path:
    """As a cell writes them, in the order of the mappings."""
    rows = [
        {"seed": seed, "id": name, "gold": gold[name], "predicted": answer, "confidence": 0.9}
        for seed, answers in by_seed.items()
        for name, answer in answers.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def test_rows_of_one_context_are_drawn_together(tmp_path: Path) -> None:
    folder = tiny_tasks.task(tmp_path / "questions", "extractive_answer", (12, 12, 12))
    rows = split(folder, "test")
    assert resampled(folder).groups == 12
    for place, row in enumerate(rows):
        row |= {"context": rows[0]["context"] if place < 4 else row["context"], "question": f"Which fish, {place}?"}
    pq.write_table(pa.Table.from_pylist(rows), folder / "test.parquet")
    assert resampled(folder).groups == 9, "four questions are about one text"
    assert resampled(folder).are_grouped


def test_rows_of_a_mapped_group_are_drawn_together(sentences: Path) -> None:
    rows = [str(row["id"]) for row in split(sentences, "test")]
    alone = resampled(sentences)
    by_author = ResampledRows(sentences, {row: f"author {place // 10}" for place, row in enumerate(rows)})
    assert (alone.are_grouped, by_author.are_grouped, by_author.groups) == (False, True, 4)
    half = ResampledRows(sentences, dict.fromkeys(rows[:20], "one author"))
    assert half.groups == 1 + len({row["text"] for row in split(sentences, "test")[20:]}), "others stay alone"


def test_a_cell_has_every_seed_whatever_the_order_of_its_rows(sentences: Path, tmp_path: Path) -> None:
    rows = resampled(sentences)
    gold = {row["id"]: row["label"] for row in split(sentences, "test")}
    other = dict.fromkeys(gold, "code")
    forwards = rows.of_runs(predictions(tmp_path / "one.parquet", gold, {1: gold, 2: other}))
    backwards = dict(reversed(other.items()))
    again = rows.of_runs(predictions(tmp_path / "other.parquet", gold, {1: gold, 2: backwards}))
    assert forwards.shape == (2, RESAMPLES)
    assert forwards.tolist() == again.tolist()
    only = rows.of_runs(predictions(tmp_path / "right.parquet", gold, {1: gold}))
    assert only.tolist() == [[1.0] * RESAMPLES]
    expected = (1 + classification_metrics(list(gold.values()), list(other.values()))["f1_macro"]) / 2
    assert float(np.mean(forwards)) == pytest.approx(expected, abs=0.01)
