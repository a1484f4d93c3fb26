"""Answers of a cell -> precision, recall and F1 of every class, as its metrics count them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adaptbert.comparison.predictions import Answer
from adaptbert.finetuning.metrics.scores import numbered


@dataclass(frozen=True)
class ClassScores:
    """One class of a cell; for spans a type, and a span counts when both ends and the type agree.

    Attributes:
        precision, recall, f1: of each seed.
        support: how often the class is the right answer; seeds have it in common.
    """

    label: str
    precision: list[float]
    recall: list[float]
    f1: list[float]
    support: int

    @property
    def means(self) -> tuple[float, float, float]:
        """Precision, recall and F1 as means over seeds."""
        precision, recall, f1 = (sum(seeds) / len(seeds) for seeds in (self.precision, self.recall, self.f1))
        return precision, recall, f1


def class_table(by_seed: Mapping[int, Sequence[Answer]], target: str) -> list[ClassScores]:
    """The classes that occur among the right answers, by name; none where the target has no classes."""
    if target in ("number", "answer"):
        return []
    count = {"spans": _spans, "labels": _several}.get(target, _single)
    seeds = [count(answers) for answers in by_seed.values()]
    return [
        ClassScores(
            label,
            precision=[found[label][0] for found in seeds],
            recall=[found[label][1] for found in seeds],
            f1=[found[label][2] for found in seeds],
            support=int(seeds[0][label][3]),
        )
        for label in sorted(seeds[0])
    ]


_Scores = dict[str, tuple[float, float, float, float]]


def _single(answers: Sequence[Answer]) -> _Scores:
    """One label a row, or one tag a token."""
    from sklearn.metrics import precision_recall_fscore_support

    pairs = [(answer.gold, answer.predicted) for answer in answers]
    if pairs and not isinstance(pairs[0][0], str):
        pairs = [pair for rows in pairs for pair in zip(*rows, strict=True)]
    gold, predicted = [gold for gold, _ in pairs], [predicted for _, predicted in pairs]
    labels = sorted(set(gold))
    columns = precision_recall_fscore_support(gold, predicted, labels=labels, average=None, zero_division=0)
    return _named(labels, columns)


def _several(answers: Sequence[Answer]) -> _Scores:
    from sklearn.metrics import precision_recall_fscore_support

    found = {}
    for label in sorted({label for answer in answers for label in answer.gold}):
        gold = [label in answer.gold for answer in answers]
        predicted = [label in answer.predicted for answer in answers]
        precision, recall, f1, _ = precision_recall_fscore_support(gold, predicted, average="binary", zero_division=0)
        found[label] = (float(precision), float(recall), float(f1), float(sum(gold)))
    return found


def _named(labels: Sequence[str], columns: Sequence[Sequence[float]]) -> _Scores:
    return {
        label: (float(precision), float(recall), float(f1), float(support))
        for label, precision, recall, f1, support in zip(labels, *columns, strict=True)
    }


def _spans(answers: Sequence[Answer]) -> _Scores:
    from seqeval.metrics.v1 import classification_report
    from seqeval.scheme import IOB2

    numbers: dict[str, str] = {}
    gold = numbered([answer.gold for answer in answers], numbers)
    types = dict(numbers)  # of the right answers alone
    if not types:
        return {}
    predicted = numbered([answer.predicted for answer in answers], numbers)
    report = classification_report(gold, predicted, scheme=IOB2, zero_division=0, output_dict=True)
    keys = ("precision", "recall", "f1-score", "support")
    return {name: tuple(float(report[types[name]][key]) for key in keys) for name in sorted(types)}  # type: ignore[misc]
