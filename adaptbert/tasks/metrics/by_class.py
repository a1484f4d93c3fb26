"""Precision, recall, F1 and support of each class from gold and predicted answers, as the metrics count them. Only
classes that occur among the right answers have scores."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from adaptbert.data.tag_schemes import OUTSIDE
from adaptbert.tasks.metrics.scores import numbered

ClassScores = dict[str, tuple[float, float, float, float]]
"""Class -> precision, recall, F1, how often it is the right answer."""
Pair = tuple[str, str]
"""A right label and the one that was predicted in its place."""


def one_label(gold: str, predicted: str) -> Iterable[Pair]:
    """The one decision on a row."""
    return [(gold, predicted)]


def each_word(gold: Sequence[str], predicted: Sequence[str]) -> Iterable[Pair]:
    """A decision on each word of a row."""
    return zip(gold, predicted, strict=True)


def each_type(gold: Sequence[str], predicted: Sequence[str]) -> Iterable[Pair]:
    """Of each word of a row the type of the span that it is in."""
    return zip(map(_type, gold), map(_type, predicted), strict=True)


def _type(tag: str) -> str:
    return tag if tag == OUTSIDE else tag[2:]


def of_pairs(
    pairs: Callable[[Any, Any], Iterable[Pair]], gold_rows: Sequence[Any], predicted_rows: Sequence[Any]
) -> ClassScores:
    """Each decision has one label.

    Args:
        pairs: right answer and prediction of a row -> its decisions.
    """
    from sklearn.metrics import precision_recall_fscore_support

    decisions = [pair for rows in zip(gold_rows, predicted_rows, strict=True) for pair in pairs(*rows)]
    gold, predicted = [gold for gold, _ in decisions], [predicted for _, predicted in decisions]
    labels = sorted(set(gold))
    columns = precision_recall_fscore_support(gold, predicted, labels=labels, average=None, zero_division=0)
    return {
        label: (float(precision), float(recall), float(f1), float(support))
        for label, precision, recall, f1, support in zip(labels, *columns, strict=True)
    }


def of_multi_label(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> ClassScores:
    """Each label of each row is a binary decision."""
    from sklearn.metrics import precision_recall_fscore_support

    scores = {}
    for label in sorted({label for labels in gold for label in labels}):
        right, positive = [label in labels for labels in gold], [label in labels for labels in predicted]
        precision, recall, f1, _ = precision_recall_fscore_support(right, positive, average="binary", zero_division=0)
        scores[label] = (float(precision), float(recall), float(f1), float(sum(right)))
    return scores


def of_spans(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> ClassScores:
    """By type; a span counts when both ends and the type agree."""
    from seqeval.metrics.v1 import classification_report
    from seqeval.scheme import IOB2

    numbers: dict[str, str] = {}
    right = numbered(gold, numbers)
    types = dict(numbers)  # of the right answers alone
    if not types:
        return {}
    report: Any = classification_report(
        right, numbered(predicted, numbers), scheme=IOB2, zero_division=0, output_dict=True
    )

    def value(name: str, key: str) -> float:
        return float(report[types[name]][key])

    return {
        name: (value(name, "precision"), value(name, "recall"), value(name, "f1-score"), value(name, "support"))
        for name in sorted(types)
    }
