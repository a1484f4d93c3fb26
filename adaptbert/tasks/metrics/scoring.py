"""Scoring of the answers to each target: metrics, right answers, classes. adaptbert.base.task_types defines targets."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

from adaptbert.base.task_types import TARGETS, Target
from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks.metrics import answer_overlap, scores
from adaptbert.tasks.metrics.scores import ClassScores, Pair

Scores = dict[str, float]
IsRight = Callable[[Any, Any], bool]


def _none_right(gold: Sequence[Any]) -> None:
    return None


def _equal(gold: Sequence[Any]) -> IsRight:
    return lambda right, answer: bool(right == answer)


def _same_set(gold: Sequence[Any]) -> IsRight:
    return lambda right, answer: set(right) == set(answer)


def _one_of_them(gold: Sequence[Sequence[str]]) -> IsRight:
    """The script of the whole set decides between words and characters."""
    characters = answer_overlap.by_characters([text for answers in gold for text in answers])
    return lambda right, answer: answer_overlap.agreement(right, answer, characters)[1] == 1


@dataclass(frozen=True)
class Scoring:
    """Of one target.

    Attributes:
        metrics: their names; cells are compared by the first.
        score: gold answers, predicted answers and the task, to the metrics.
        right: gold answers of the whole set, to a function that decides whether an answer to a row is right;
            None for regression.
        classes: gold and predicted answers, to the scores of each class; None: there are no classes.
        pairs: gold and predicted answer of a row, to its decisions for a confusion matrix; None: it has none.
    """

    metrics: tuple[str, ...]
    score: Callable[[Sequence[Any], Sequence[Any], TaskDescription], Scores]
    right: Callable[[Sequence[Any]], IsRight | None] = _equal
    classes: Callable[[Sequence[Any], Sequence[Any]], ClassScores] | None = None
    pairs: Callable[[Any, Any], Iterable[Pair]] | None = None


SCORING: Mapping[Target, Scoring] = {
    "class": Scoring(
        ("f1_macro", "accuracy", "f1_positive"),
        lambda gold, answers, task: scores.classification_metrics(gold, answers, task.positive),
        classes=partial(scores.of_pairs, scores.one_label),
        pairs=scores.one_label,
    ),
    "labels": Scoring(
        ("f1_macro", "f1_micro", "exact_match"),
        lambda gold, answers, task: scores.label_metrics(gold, answers, task.labels),
        right=_same_set,
        classes=scores.of_multi_label,
    ),
    "number": Scoring(
        ("pearson", "spearman", "rmse"),
        lambda gold, answers, task: scores.number_metrics(gold, answers),
        right=_none_right,
    ),
    "spans": Scoring(
        ("f1_span", "precision_span", "recall_span"),
        lambda gold, answers, task: scores.span_metrics(gold, answers),
        classes=scores.of_spans,
        pairs=scores.each_type,
    ),
    "tags": Scoring(
        ("accuracy", "f1_macro"),
        lambda gold, answers, task: scores.tag_metrics(gold, answers),
        classes=partial(scores.of_pairs, scores.each_word),
        pairs=scores.each_word,
    ),
    "answer": Scoring(
        ("f1_answer", "exact_match"),
        lambda gold, answers, task: scores.answer_metrics(gold, answers),
        right=_one_of_them,
    ),
}

COMPARED_BY: Mapping[Target, str] = {target: scoring.metrics[0] for target, scoring in SCORING.items()}

_RANGES = {"pearson": (-1.0, 1.0), "spearman": (-1.0, 1.0), "rmse": (0.0, inf)}


def limits(metric: str) -> tuple[float, float]:
    """The least and the largest value of a metric; intervals are cut there."""
    return _RANGES.get(metric, (0.0, 1.0))


def right_answers(rows: Sequence[Mapping[str, Any]], target: Target) -> list[Any]:
    """The gold answers of rows, in the form that answers are compared with."""
    output = TARGETS[target]
    return [output.gold(row[output.column]) for row in rows]
