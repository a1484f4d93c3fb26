"""A cell looked at closely, from its predictions file alone; each kind of target, against figures counted by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.calibration import calibration_curve
from torch import as_tensor
from torchmetrics.functional.classification import binary_calibration_error

from adaptbert.comparison.inspection import chance_error, expected_calibration_error, inspect_runs, reliability
from adaptbert.comparison.records import Bin, Inspection
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
    calibration = known(inspection.calibration)
    assert calibration.accuracy == 0.5
    assert calibration.confidence == pytest.approx((0.9 + 0.8 + 0.7 + 0.95 + 0.7 + 0.6 + 0.5 + 0.9) / 8)
    squares = [0.9**2, 0.2**2, 0.3**2, 0.95**2, 0.7**2, 0.4**2, 0.5**2, 0.1**2]
    assert calibration.brier == pytest.approx(sum(squares) / 8)
    assert calibration.ece == pytest.approx((0.9 + 0.2 + 0.3 + 0.95 + 0.7 + 0.4 + 0.5 + 0.1) / 8), "a row a bin"


def test_several_labels(tmp_path: Path) -> None:
    gold = [["a", "b"], [], ["b"], ["a"]]
    predicted = [["b", "a"], [], ["b", "c"], []]
    rows = [(f"r{n}", g, p, 0.9 - n / 10) for n, (g, p) in enumerate(zip(gold, predicted, strict=True))]
    inspection = inspected(tmp_path, "labels", {1: rows})
    assert inspection.confusion is None
    assert [scores.label for scores in inspection.classes] == ["a", "b"]
    macro = label_metrics(gold, predicted, ["a", "b", "c"])["f1_macro"]
    assert sum(scores.f1[0] for scores in inspection.classes) / 2 == pytest.approx(macro)
    assert known(inspection.calibration).accuracy == 0.5, "the order of labels does not count"
    assert [(error.id, error.gold, error.predicted) for error in inspection.errors] == [
        ("r2", "b", "b, c"),
        ("r3", "a", "–"),
    ]


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
        assert known(inspection.calibration).accuracy == 0.5
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
    assert known(inspection.calibration).accuracy == pytest.approx(2 / 3)
    assert [error.id for error in inspection.errors] == ["q2"]
    assert "secret" not in repr(inspection)
    assert "dog" not in repr(inspection)


def test_numbers_are_never_just_right(tmp_path: Path) -> None:
    inspection = inspected(tmp_path, "number", {1: [("r1", 1.5, 2.0, 1.0), ("r2", 3.0, 2.0, 1.0)]})
    assert inspection == Inspection(1, [], None, None, [])


# ---- calibration


def drawn(rows: int, classes: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Logits, and targets drawn from just the chances that they give."""
    dice = np.random.default_rng(seed)
    logits = dice.normal(0, 2, (rows, classes))
    chances = softmax(logits, -1)
    return logits, (chances.cumsum(-1) < dice.random((rows, 1))).sum(-1).clip(max=classes - 1)


@pytest.mark.parametrize("equal", ["mass", "width"])
@pytest.mark.parametrize("rows", [300, 3000])
def test_true_chances_have_the_error_of_chance_alone(rows: int, equal: str) -> None:
    errors, foretold = [], []
    for seed in range(60):
        logits, targets = drawn(rows, 5, seed)
        chances = softmax(logits, -1)
        curve = reliability(chances.max(-1), chances.argmax(-1) == targets, 15, equal)  # type: ignore[arg-type]
        errors.append(expected_calibration_error(curve))
        foretold.append(chance_error(curve))
    assert np.mean(errors) == pytest.approx(np.mean(foretold), rel=0.08)
    assert np.mean(errors) > 0.04 if rows == 300 else np.mean(errors) < 0.025


def test_a_known_distance() -> None:
    """What claims .9 comes true six times in ten, what claims .6 always."""
    confidence = np.repeat([0.9, 0.6], [1000, 500])
    correct = np.concatenate([np.arange(1000) % 10 < 6, np.ones(500, bool)])
    for equal, bins in (("mass", 15), ("width", 10)):  # fifteen parts of a hundred: no part holds both claims
        curve = reliability(confidence, correct, bins, equal)  # type: ignore[arg-type]
        assert expected_calibration_error(curve) == pytest.approx((1000 * 0.3 + 500 * 0.4) / 1500)
    assert reliability(confidence, correct, 10, "width") == [
        Bin(500, pytest.approx(0.6), 1.0, pytest.approx(np.sqrt(0.24 / 500))),
        Bin(1000, pytest.approx(0.9), pytest.approx(0.6), pytest.approx(np.sqrt(0.09 / 1000))),
    ]


chances = st.floats(0.0005, 0.9995).map(lambda chance: round(chance, 4))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(chances, st.booleans()), min_size=1, max_size=80))
def test_equal_width_is_that_of_torchmetrics_and_sklearn(statements: list[tuple[float, bool]]) -> None:
    confidence, correct = np.array([c for c, _ in statements]), np.array([t for _, t in statements])
    confidence = np.where(
        np.isclose(confidence * 8, np.round(confidence * 8)), confidence + 0.001, confidence
    )  # no ties with an edge
    curve = reliability(confidence, correct, 8, "width")
    other = binary_calibration_error(as_tensor(confidence), as_tensor(correct).int(), n_bins=8)
    assert expected_calibration_error(curve) == pytest.approx(float(other), abs=1e-5)
    shares, means = calibration_curve(correct, confidence, n_bins=8, strategy="uniform")
    assert [part.accuracy for part in curve] == pytest.approx(list(shares))
    assert [part.confidence for part in curve] == pytest.approx(list(means))


def test_bins_of_equal_mass_contain_every_statement_once() -> None:
    dice = np.random.default_rng(0)
    confidence = dice.beta(8, 1, 1003)
    curve = reliability(confidence, dice.random(1003) < confidence, 10, "mass")
    assert sorted(part.count for part in curve) == [100] * 7 + [101] * 3
    assert [part.confidence for part in curve] == sorted(part.confidence for part in curve)
    assert sum(part.count * part.confidence for part in curve) == pytest.approx(confidence.sum())
    assert len(reliability(confidence[:4], np.ones(4, bool), 10, "mass")) == 4, "no empty bins"
