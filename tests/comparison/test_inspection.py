"""A cell looked at closely, from its predictions file alone; each kind of target, against figures counted by hand."""

import json
import re
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
    """Inspection of rows (id, gold, predicted, confidence), written as a cell writes them."""

    def text(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    rows = [
        {"seed": seed, "id": row_id, "gold": text(gold), "predicted": text(predicted), "confidence": sure}
        for seed, answers in seeds.items()
        for row_id, gold, predicted, sure in answers
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "cell.parquet")
    return inspect_runs({folder / "cell.parquet": seeds}, target)


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
    assert never_predicted({tmp_path / "cell.parquet": range(9)}, target) == (classes, [])


def test_classes_that_some_runs_never_predict(tmp_path: Path) -> None:
    """Of rows enough to be no chance, and not by a run that predicts one class only."""
    gold = [*"aaaaabbbbbbcccccdd"]
    answered = {1: gold, 2: ["a" if each in "bd" else each for each in gold], 3: ["a"] * len(gold)}
    rows = {
        seed: [(f"r{n}", *pair, 0.5) for n, pair in enumerate(zip(gold, each, strict=True))]
        for seed, each in answered.items()
    }
    inspected(tmp_path, "class", rows)
    assert never_predicted({tmp_path / "cell.parquet": range(9)}, "class") == ([], ["b"])


def one_run(folder: Path, target: str, gold: list[Any], predicted: list[Any]) -> Inspection:
    """Inspection of rows of which each is less sure than the one before."""
    rows = [(f"r{n}", *each, 0.9 - n / 10) for n, each in enumerate(zip(gold, predicted, strict=True))]
    return inspected(folder, target, {1: rows})


def f1_and_support(inspection: Inspection) -> dict[str, tuple[float, int]]:
    return {scores.label: (pytest.approx(scores.f1[0]), scores.support) for scores in inspection.classes}


def test_several_labels(tmp_path: Path) -> None:
    gold, predicted = [["a", "b"], [], ["b"], ["a"]], [["b", "a"], [], ["b", "c"], []]
    inspection = one_run(tmp_path, "labels", gold, predicted)
    assert inspection.confusion is None
    by_label = f1_and_support(inspection)
    assert by_label == {"a": (2 / 3, 2), "b": (1.0, 2)}
    assert label_metrics(gold, predicted, ["a", "b", "c"])["f1_macro"] == pytest.approx((2 / 3 + 1) / 2)
    errors = [(error.id, error.gold, error.predicted) for error in inspection.errors]
    assert errors == [("r2", "b", "b, c"), ("r3", "a", "–")], "the order of labels does not count"
    (only,) = one_run(tmp_path, "labels", [["a"], ["a"], []], [["a"], [], []]).classes
    assert (only.label, only.precision, only.recall, only.support) == ("a", [1.0], [0.5], 2)


def test_tags_and_spans(tmp_path: Path) -> None:
    gold, predicted = [["B-X", "I-X", "O"], ["B-Y", "O", "B-X"]], [["B-X", "O", "O"], ["B-Y", "O", "B-X"]]
    spans, tags = (one_run(tmp_path, target, gold, predicted) for target in ("spans", "tags"))
    assert f1_and_support(spans) == {"X": (0.5, 2), "Y": (1.0, 1)}
    assert span_metrics(gold, predicted)["f1_span"] == pytest.approx(2 / 3)
    by_tag = {scores.label: scores.f1[0] for scores in tags.classes}
    assert list(by_tag) == ["B-X", "B-Y", "I-X", "O"]
    assert sum(by_tag.values()) / 4 == pytest.approx(tag_metrics(gold, predicted)["f1_macro"])
    assert known(spans.confusion).counts["X"] == {"O": 1.0, "X": 2.0}
    assert known(tags.confusion).counts["I-X"]["O"] == 1.0
    for inspection in (spans, tags):
        assert [(error.id, error.gold) for error in inspection.errors] == [("r0", None)]


def test_types_of_spans_may_have_any_name(tmp_path: Path) -> None:
    """Hyphens at their ends are a part of them."""
    gold = [["B-A-", "I-A-", "O"], ["B-A", "O", "B-micro avg"], ["B--A", "O", "O"]]
    predicted = [["B-A", "I-A", "O"], ["B-A", "O", "B-micro avg"], ["B--A", "O", "B-x"]]
    by_type = f1_and_support(one_run(tmp_path, "spans", gold, predicted))
    assert by_type == {"-A": (1.0, 1), "A": (2 / 3, 1), "A-": (0.0, 1), "micro avg": (1.0, 1)}
    assert span_metrics(gold, predicted)["f1_span"] == pytest.approx(2 * 3 / (4 + 5))


def test_answers_show_no_text_and_numbers_are_never_just_right(tmp_path: Path) -> None:
    answers = one_run(tmp_path, "answer", [["the Cat"], ["a dog", "dogs"], []], ["cat", "secret", ""])
    assert (answers.classes, answers.confusion) == ([], None)
    assert [error.id for error in answers.errors] == ["r1"]
    assert not re.search("secret|dog", repr(answers))
    assert one_run(tmp_path, "number", [1.5, 3.0], [2.0, 2.0]) == Inspection(1, [], None, [])
