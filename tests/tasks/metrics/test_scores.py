"""Every score equals an independent one: of scikit-learn, seqeval or torchmetrics, or counted anew by definition."""

import random
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score as span_f1
from seqeval.metrics import precision_score as span_precision
from seqeval.metrics import recall_score as span_recall
from seqeval.scheme import IOB2
from sklearn.metrics import accuracy_score, f1_score
from torch import float64, tensor
from torchmetrics.functional.regression import mean_squared_error, pearson_corrcoef, spearman_corrcoef

from adaptbert.data.tag_schemes import legal
from adaptbert.tasks.metrics.scores import (
    classification_metrics,
    label_metrics,
    number_metrics,
    span_metrics,
    tag_metrics,
)

LABELS = ["a", "b", "c", "d"]
TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=60))
def test_classification_equals_sklearn(pairs: list[tuple[str, str]]) -> None:
    gold, predicted = [gold for gold, _ in pairs], [guess for _, guess in pairs]
    metrics = classification_metrics(gold, predicted, LABELS[0])
    each = [
        f1_score([g == label for g in gold], [p == label for p in predicted], zero_division=0)
        for label in sorted(set(gold))
    ]
    assert metrics == {
        "f1_macro": pytest.approx(sum(each) / len(each)),
        "accuracy": pytest.approx(accuracy_score(gold, predicted)),
        "f1_positive": pytest.approx(f1_score(gold, predicted, labels=[LABELS[0]], average="macro", zero_division=0)),
    }
    assert "f1_positive" not in classification_metrics(gold, predicted)


def random_tags(draw: random.Random, length: int) -> list[str]:
    return legal([draw.choice(TAGS) for _ in range(length)], "bio")


@pytest.mark.parametrize("seed", range(5))
def test_spans_equal_seqeval_in_strict_mode(seed: int) -> None:
    draw = random.Random(seed)
    lengths = [draw.randint(1, 12) for _ in range(40)]
    gold = [random_tags(draw, length) for length in lengths]
    predicted = [
        row if draw.random() < 0.5 else random_tags(draw, length) for row, length in zip(gold, lengths, strict=True)
    ]
    metrics = span_metrics(gold, predicted)
    strict = {"mode": "strict", "scheme": IOB2}
    assert metrics == {
        "f1_span": pytest.approx(span_f1(gold, predicted, **strict)),
        "precision_span": pytest.approx(span_precision(gold, predicted, **strict)),
        "recall_span": pytest.approx(span_recall(gold, predicted, **strict)),
    }
    assert 0 < metrics["f1_span"] < 1


some_labels = st.lists(st.sampled_from(LABELS), unique=True).map(sorted)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(some_labels, some_labels), min_size=1, max_size=40))
def test_several_labels_are_counted_decision_by_decision(pairs: list[tuple[list[str], list[str]]]) -> None:
    gold, predicted = [gold for gold, _ in pairs], [guess for _, guess in pairs]
    metrics = label_metrics(gold, predicted, [*LABELS, "never"])
    expected, actual = (np.array([[label in row for label in LABELS] for row in rows]) for rows in (gold, predicted))
    occur = expected.any(axis=0)
    each = f1_score(expected, actual, average=None, zero_division=0)[occur]
    assert metrics == {
        "f1_macro": pytest.approx(each.mean() if occur.any() else 0.0),
        "f1_micro": pytest.approx(f1_score(expected, actual, average="micro", zero_division=0)),
        "exact_match": pytest.approx(sum(g == p for g, p in pairs) / len(pairs)),
    }


def test_one_label_is_yes_or_no_and_no_pair_of_classes() -> None:
    metrics = label_metrics([["a"], ["a"], [], []], [["a"], [], [], []], ["a"])
    assert metrics == {"f1_macro": pytest.approx(2 / 3), "f1_micro": pytest.approx(2 / 3), "exact_match": 0.75}
    assert label_metrics([[], []], [[], []], ["a"]) == {"f1_macro": 0.0, "f1_micro": 0.0, "exact_match": 1.0}


decimals = st.floats(-1e3, 1e3).map(lambda value: round(value, 2))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(decimals, decimals), min_size=3, max_size=40))
def test_numbers_equal_torchmetrics(pairs: list[tuple[float, float]]) -> None:
    gold, predicted = [gold for gold, _ in pairs], [guess for _, guess in pairs]
    metrics = number_metrics(gold, predicted)
    expected, actual = tensor(gold, dtype=float64), tensor(predicted, dtype=float64)
    assert metrics["rmse"] == pytest.approx(float(mean_squared_error(actual, expected, squared=False)), abs=1e-9)
    if len(set(gold)) > 1 and len(set(predicted)) > 1:
        assert metrics["pearson"] == pytest.approx(float(pearson_corrcoef(actual, expected)), abs=1e-5)
        assert metrics["spearman"] == pytest.approx(float(spearman_corrcoef(actual, expected)), abs=1e-5)


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [([1.0, 2.0, 3.0], [5.0, 5.0, 5.0]), ([2.0, 2.0], [1.0, 3.0]), ([1.0], [1.0]), ([0.0, 1.0], [1.0, 1.0 + 2**-52])],
)
def test_undefined_correlations_are_zero(gold: list[float], predicted: list[float]) -> None:
    metrics = number_metrics(gold, predicted)
    constant = len(set(gold)) < 2 or len(set(predicted)) < 2
    assert all(-1 <= metrics[name] <= 1 for name in ("pearson", "spearman"))
    assert not constant or metrics["pearson"] == metrics["spearman"] == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS))), min_size=1).filter(any))
def test_tags_are_counted_over_all_rows(rows: list[list[tuple[str, str]]]) -> None:
    gold, predicted = [[g for g, _ in row] for row in rows], [[p for _, p in row] for row in rows]
    assert tag_metrics(gold, predicted) == classification_metrics([*chain(*gold)], [*chain(*predicted)])


def test_a_missing_tag_is_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        tag_metrics([["A", "B"]], [["A"]])
