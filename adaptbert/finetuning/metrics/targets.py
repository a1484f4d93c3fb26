"""Scoring of the answers to each target: metrics, right answers, classes. adaptbert.rows.targets defines targets."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from adaptbert.base.task_types import Target
from adaptbert.finetuning.metrics import answer_overlap, by_class
from adaptbert.finetuning.metrics.by_class import ClassScores, Pair
from adaptbert.finetuning.metrics.scores import (
    answer_metrics,
    classification_metrics,
    label_metrics,
    number_metrics,
    span_metrics,
    tag_metrics,
)
from adaptbert.rows.targets import TARGETS
from adaptbert.rows.task_description import TaskDescription

Scores = dict[str, float]
IsRight = Callable[[Any, Any], bool]


def _always(task: TaskDescription) -> bool:
    return True


@dataclass(frozen=True)
class Metric:
    """How a metric is computed, as the contract of a cell records it.

    Attributes:
        least, most: the ends of its range; intervals are cut there.
        is_of: whether it is computed for a task of its target.
    """

    average: str
    scheme: str
    library: str
    least: float = 0.0
    most: float = 1.0
    is_of: Callable[[TaskDescription], bool] = _always


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
        metrics: by name; cells are compared by the first.
        score: gold answers, predicted answers and the task, to the metrics.
        right: gold answers of the whole set, to a function that decides whether an answer to a row is right;
            None for regression.
        classes: gold and predicted answers, to the scores of each class; None: there are no classes.
        pairs: gold and predicted answer of a row, to its decisions for a confusion matrix; None: it has none.
    """

    metrics: Mapping[str, Metric]
    score: Callable[[Sequence[Any], Sequence[Any], TaskDescription], Scores]
    right: Callable[[Sequence[Any]], IsRight | None] = _equal
    classes: Callable[[Sequence[Any], Sequence[Any]], ClassScores] | None = None
    pairs: Callable[[Any, Any], Iterable[Pair]] | None = None


_MACRO = "macro: mean over the classes that occur among the right answers"
_ROWS = "mean over rows"
_SKLEARN, _SCIPY, _SEQEVAL, _OURS = "scikit-learn", "scipy", "seqeval", "adaptbert"
_ONE, _SEVERAL, _TAG = "one label a row", "several labels a row", "one tag a token"
_CONSTANT = "0 where one side is constant"
_SPAN = Metric("micro: all spans together", "IOB2, strict: both ends and the type agree", _SEQEVAL)
_ANSWER = Metric(
    "mean over questions of the best answer",
    "SQuAD (words); CMRC 2018 (characters, longest shared run) where most answers are in a script without spaces",
    _OURS,
)

SCORING: Mapping[Target, Scoring] = {
    "class": Scoring(
        {
            "f1_macro": Metric(_MACRO, _ONE, _SKLEARN),
            "accuracy": Metric(_ROWS, _ONE, _SKLEARN),
            "f1_positive": Metric(
                "none: F1 of the label that params call positive",
                _ONE,
                _SKLEARN,
                is_of=lambda task: task.positive is not None,
            ),
        },
        lambda gold, answers, task: classification_metrics(gold, answers, task.positive),
        classes=by_class.of_one_label,
        pairs=by_class.one_label,
    ),
    "labels": Scoring(
        {
            "f1_macro": Metric(_MACRO, _SEVERAL, _SKLEARN),
            "f1_micro": Metric("micro: all decisions together", _SEVERAL, _SKLEARN),
            "exact_match": Metric(_ROWS, "the whole set of labels is right", _SKLEARN),
        },
        lambda gold, answers, task: label_metrics(gold, answers, task.labels),
        right=_same_set,
        classes=by_class.of_multi_label,
    ),
    "number": Scoring(
        {
            "pearson": Metric("all rows together", _CONSTANT, _SCIPY, least=-1.0),
            "spearman": Metric("all rows together", _CONSTANT, _SCIPY, least=-1.0),
            "rmse": Metric("all rows together", "in the unit of the target; lower is better", _SKLEARN, most=inf),
        },
        lambda gold, answers, task: number_metrics(gold, answers),
        right=_none_right,
    ),
    "spans": Scoring(
        {"f1_span": _SPAN, "precision_span": _SPAN, "recall_span": _SPAN},
        lambda gold, answers, task: span_metrics(gold, answers),
        classes=by_class.of_spans,
        pairs=by_class.each_type,
    ),
    "tags": Scoring(
        {
            "accuracy": Metric("mean over tokens", _TAG, _SKLEARN),
            "f1_macro": Metric(_MACRO, _TAG, _SKLEARN),
        },
        lambda gold, answers, task: tag_metrics(gold, answers),
        classes=by_class.of_words,
        pairs=by_class.each_word,
    ),
    "answer": Scoring(
        {"f1_answer": _ANSWER, "exact_match": _ANSWER},
        lambda gold, answers, task: answer_metrics(gold, answers),
        right=_one_of_them,
    ),
}

COMPARED_BY: Mapping[Target, str] = {target: next(iter(scoring.metrics)) for target, scoring in SCORING.items()}


_RANGES = {
    name: (metric.least, metric.most) for scoring in SCORING.values() for name, metric in scoring.metrics.items()
}


def limits(metric: str) -> tuple[float, float]:
    """The least and the largest value of a metric."""
    return _RANGES[metric]


def right_answers(rows: Sequence[Mapping[str, Any]], target: Target) -> list[Any]:
    """The gold answers of rows, in the form that answers are compared with."""
    output = TARGETS[target]
    return [output.gold(row[output.column]) for row in rows]
