"""A cell looked at closely, from its predictions file alone; each kind of target, against figures counted by hand."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.comparison.inspection import inspect_runs, never_predicted
from adaptbert.comparison.records import Inspection
from adaptbert.config.schema.task_types import Target
from adaptbert.tasks.metrics.scoring import label_metrics, span_metrics, tag_metrics
from tests.support.known import known


def inspected(folder: Path, target: str, seeds: dict[int, list[tuple[str, Any, Any, float]]]) -> Inspection:
    """Of rows (id, gold, predicted, confidence), written as a cell writes them."""

    def text(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    rows = [
        {"seed": seed, "id": row_id, "gold": text(gold), "predicted": text(predicted), "confidence": sure}
        for seed, answers in seeds.items()
        for row_id, gold, predicted, sure in answers
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "cell.parquet")
    return inspect_runs([folder / "cell.parquet"], target)


def test_labels_are_inspected_row_by_row(tmp_path: Path) -> None:
    inspection = inspected(
        tmp_path,
        "class",
        {
            1: [("r1", "a", "b", 0.9), ("r2", "a", "a", 0.8), ("r3", "b", "b", 0.7), ("r4", "b", "a", 0.95)],
            2: [("r1", "a", "b", 0.7), ("r2", "a", "a", 0.6), ("r3", "b", "a", 0.5), ("r4", "b", "b", 0.9)],
        },
    )
    assert known(inspection.confusion).counts == {"a": {"a": 1.0, "b": 1.0}, "b": {"a": 1.0, "b": 1.0}}
    first, second = inspection.classes
    assert (first.label, first.support, first.precision, first.recall) == ("a", 2, [0.5, 0.5], [0.5, 0.5])
    assert second.means == pytest.approx((0.5, 0.5, 0.5))
    # Two wrong answers of less confidence weigh more than one of more.
    assert [(error.id, error.runs) for error in inspection.errors] == [("r1", 2), ("r4", 1), ("r3", 1)]
    assert (inspection.errors[0].confidence, inspection.errors[0].gold, inspection.errors[0].predicted) == (
        pytest.approx(0.8),
        "a",
        "b",
    )


@pytest.mark.parametrize(
    ("target", "answers", "classes"),
    [
        ("class", [("a", "b"), ("b", "b"), ("c", "a")], ["c"]),
        ("class", [("a", "b"), ("b", "a")], []),
        ("labels", [(["a", "b"], ["d"]), (["c"], ["c", "a"])], ["b"]),
        ("number", [(1.0, 2.0), (3.0, 2.0)], []),
    ],
)
def test_classes_that_no_run_predicts(tmp_path: Path, target: Target, answers: list[Any], classes: list[str]) -> None:
    """A class counts where some run predicts it."""
    rows = [(f"r{n}", gold, predicted, 0.5) for n, (gold, predicted) in enumerate(answers)]
    inspected(tmp_path, target, {seed: rows[seed:] + rows[:seed] for seed in range(2)})
    assert never_predicted([tmp_path / "cell.parquet"], target) == classes


def test_several_labels(tmp_path: Path) -> None:
    gold = [["a", "b"], [], ["b"], ["a"]]
    predicted = [["b", "a"], [], ["b", "c"], []]
    rows = [(f"r{n}", g, p, 0.9 - n / 10) for n, (g, p) in enumerate(zip(gold, predicted, strict=True))]
    inspection = inspected(tmp_path, "labels", {1: rows})
    assert inspection.confusion is None
    assert [scores.label for scores in inspection.classes] == ["a", "b"]
    macro = label_metrics(gold, predicted, ["a", "b", "c"])["f1_macro"]
    assert sum(scores.f1[0] for scores in inspection.classes) / 2 == pytest.approx(macro)
    errors = [(error.id, error.gold, error.predicted) for error in inspection.errors]
    assert errors == [("r2", "b", "b, c"), ("r3", "a", "–")], "the order of labels does not count"


def test_a_single_label_among_several(tmp_path: Path) -> None:
    rows = [("r1", ["a"], ["a"], 0.9), ("r2", ["a"], [], 0.8), ("r3", [], [], 0.7)]
    scores = inspected(tmp_path, "labels", {1: rows}).classes
    assert [(each.label, each.precision, each.recall, each.support) for each in scores] == [("a", [1.0], [0.5], 2)]


def test_tags_and_spans(tmp_path: Path) -> None:
    gold = [["B-X", "I-X", "O"], ["B-Y", "O", "B-X"]]
    predicted = [["B-X", "O", "O"], ["B-Y", "O", "B-X"]]
    rows = [(f"r{n}", g, p, 0.9) for n, (g, p) in enumerate(zip(gold, predicted, strict=True))]
    spans, tags = (inspected(tmp_path, target, {1: rows}) for target in ("spans", "tags"))
    assert {scores.label: (scores.f1[0], scores.support) for scores in spans.classes} == {
        "X": (pytest.approx(0.5), 2),
        "Y": (pytest.approx(1.0), 1),
    }
    assert span_metrics(gold, predicted)["f1_span"] == pytest.approx(2 / 3)
    by_tag = {scores.label: scores.f1[0] for scores in tags.classes}
    assert list(by_tag) == ["B-X", "B-Y", "I-X", "O"]
    assert sum(by_tag.values()) / 4 == pytest.approx(tag_metrics(gold, predicted)["f1_macro"])
    assert known(spans.confusion).counts["X"] == {"O": 1.0, "X": 2.0}
    assert known(tags.confusion).counts["I-X"]["O"] == 1.0
    for inspection in (spans, tags):
        assert [(error.id, error.gold) for error in inspection.errors] == [("r0", None)]


def test_types_of_spans_may_have_any_name(tmp_path: Path) -> None:
    """Hyphens at their ends are a part of them, and seqeval's own lines of the table are no types."""
    gold = [["B-A-", "I-A-", "O"], ["B-A", "O", "B-micro avg"], ["B--A", "O", "O"]]
    predicted = [["B-A", "I-A", "O"], ["B-A", "O", "B-micro avg"], ["B--A", "O", "B-x"]]
    rows = [(f"r{n}", g, p, 0.9) for n, (g, p) in enumerate(zip(gold, predicted, strict=True))]
    by_type = {
        scores.label: (scores.f1[0], scores.support) for scores in inspected(tmp_path, "spans", {1: rows}).classes
    }
    assert by_type == {"-A": (1.0, 1), "A": (pytest.approx(2 / 3), 1), "A-": (0.0, 1), "micro avg": (1.0, 1)}
    assert span_metrics(gold, predicted)["f1_span"] == pytest.approx(2 * 3 / (4 + 5))


def test_answers_show_no_text(tmp_path: Path) -> None:
    rows = [("q1", ["the Cat"], "cat", 0.9), ("q2", ["a dog", "dogs"], "secret", 0.8), ("q3", [], "", 0.7)]
    inspection = inspected(tmp_path, "answer", {1: rows})
    assert (inspection.classes, inspection.confusion) == ([], None)
    assert [error.id for error in inspection.errors] == ["q2"]
    assert "secret" not in repr(inspection)
    assert "dog" not in repr(inspection)


def test_numbers_are_never_just_right(tmp_path: Path) -> None:
    inspection = inspected(tmp_path, "number", {1: [("r1", 1.5, 2.0, 1.0), ("r2", 3.0, 2.0, 1.0)]})
    assert inspection == Inspection(1, [], None, [])
