"""Task metrics from gold and predicted answers, for each target. The average is part of a metric's name.

scikit-learn and scipy compute them, except those of spans (docs/decisions/0057) and of extractive answers: no library
has both of the tokenisations in use; tests/tasks/test_metrics.py compares ours with torchmetrics and with an
independent implementation. docs/metrics.md says what each name means.
"""

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, takewhile
from math import inf
from typing import Any

from adaptbert.config.schema.task_types import TARGETS, ByTarget, Target
from adaptbert.data.tag_schemes import OUTSIDE
from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks.metrics.answer_overlap import agreement_with

Scores = dict[str, float]
ClassScores = dict[str, tuple[float, float, float, float]]
"""Class -> precision, recall, F1, how often it is the right answer; of the classes among the right answers."""
Pair = tuple[str, str]
"""A right label and the one that was predicted in its place."""
Spans = set[tuple[int, int, int, str]]
"""Row, first token, last token + 1 and type of each."""
IsRight = Callable[[Any, Any], bool]
TITLES = {
    "f1_macro": "macro-F1",
    "f1_span": "strict span F1",
    "f1_answer": "answer F1",
    "pearson": "Pearson's correlation",
    "accuracy": "accuracy",
}
"""What metrics that arms are compared by are called; another has its own name."""


def classification_metrics(gold: Sequence[str], predicted: Sequence[str], positive: str | None = None) -> Scores:
    """Macro-averaged F1 over the labels that occur in `gold`, and accuracy (which is F1 in its micro average).

    Args:
        positive: a label whose own F1 is computed, that of the two that GLUE reports (Wang et al. 2019, section 3.2).
    """
    from sklearn.metrics import accuracy_score, f1_score

    scores = {
        "f1_macro": float(f1_score(gold, predicted, labels=sorted(set(gold)), average="macro", zero_division=0)),
        "accuracy": float(accuracy_score(gold, predicted)),
    }
    if positive is not None:
        right, answered = ([name == positive for name in labels] for labels in (gold, predicted))
        scores["f1_positive"] = float(f1_score(right, answered, zero_division=0))
    return scores


def label_metrics(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], labels: Sequence[str]) -> Scores:
    """Multi-label: F1 averaged over labels, F1 of all decisions together, and the share of exactly right rows.

    The macro average is over the labels that occur in `gold`, as for one label a row: of another label no prediction
    could be right. Where `gold` has no label at all, F1 is 0, and only `exact_match` is informative.

    Args:
        labels: of the task.
    """
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.preprocessing import MultiLabelBinarizer

    binarizer = MultiLabelBinarizer(classes=list(labels)).fit([])
    gold_matrix, matrix = binarizer.transform(gold), binarizer.transform(predicted)
    each = [f1 for _, _, f1, _ in of_multi_label(gold, predicted).values()]
    return {
        "f1_macro": sum(each) / len(each) if each else 0.0,
        "f1_micro": float(f1_score(gold_matrix.ravel(), matrix.ravel(), zero_division=0)),
        "exact_match": float(accuracy_score(gold_matrix, matrix)),
    }


def number_metrics(gold: Sequence[float], predicted: Sequence[float]) -> Scores:
    """Pearson's and Spearman's correlation, and the root of the mean squared error (in the unit of the target).

    A correlation is 0 where it is not defined: one of the two is constant, or there is a single row. So a model with a
    constant answer scores like random answers, and is never the best.
    """
    from scipy import stats
    from sklearn.metrics import root_mean_squared_error

    return {
        "pearson": _correlation(stats.pearsonr, gold, predicted),
        "spearman": _correlation(stats.spearmanr, gold, predicted),
        "rmse": float(root_mean_squared_error(gold, predicted)),
    }


def _correlation(measure: Callable[..., Any], gold: Sequence[float], predicted: Sequence[float]) -> float:
    from scipy import stats

    if len(gold) < 2 or len(set(gold)) < 2 or len(set(predicted)) < 2:
        return 0.0
    with warnings.catch_warnings():
        # Numbers that differ only in their last bits give an inaccurate correlation, which is acceptable.
        warnings.simplefilter("ignore", stats.NearConstantInputWarning)
        warnings.simplefilter("ignore", stats.ConstantInputWarning)
        correlation = float(measure(gold, predicted)[0])
    return correlation if correlation == correlation else 0.0  # NaN: rounding removed all variance


def span_metrics(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Scores:
    """Strict span scores of BIO (IOB2) tags: a span counts when both ends and the type agree (micro average)."""
    precision, recall, f1 = _agreement(_spans(gold), _spans(predicted))
    return {"f1_span": f1, "precision_span": precision, "recall_span": recall}


def _spans(rows: Sequence[Sequence[str]]) -> Spans:
    """The spans that begin with B-; an I- that continues no span of its type is in none."""
    spans: Spans = set()
    for row, tags in enumerate(rows):
        for first, tag in enumerate(tags):
            if tag.startswith("B-"):
                kind = tag.removeprefix("B-")
                inside = list(takewhile(f"I-{kind}".__eq__, tags[first + 1 :]))
                spans.add((row, first, first + 1 + len(inside), kind))
    return spans


def _agreement(gold: Spans, predicted: Spans) -> tuple[float, float, float]:
    """Precision, recall and F1 of what was found; 0 where nothing was, or where there was nothing to find."""
    shared = len(gold & predicted)
    if not shared:
        return 0.0, 0.0, 0.0
    precision, recall = shared / len(predicted), shared / len(gold)
    return precision, recall, 2 * precision * recall / (precision + recall)


def tag_metrics(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Scores:
    """Every token is one case: accuracy, and macro F1 over the tags that occur in `gold`.

    Raises:
        ValueError: a row with fewer or more predicted tags than tokens.
    """
    pairs = [pair for rows in zip(gold, predicted, strict=True) for pair in zip(*rows, strict=True)]
    return classification_metrics([right for right, _ in pairs], [answer for _, answer in pairs])


def answer_metrics(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> Scores:
    """Mean over questions of the best agreement with any of the right answers.

    SQuAD's definition (Rajpurkar et al. 2016, section 6.1): lower case, no punctuation, no English articles; F1 of the
    bags of words. Where most answers are in a script without spaces, CMRC 2018's (Cui et al. 2019, section 4.1): no
    punctuation, characters for words, and F1 of the longest run that both share. Which of the two holds follows from
    `gold` alone.

    Args:
        gold: the right answers of each question; none where it has no answer.
        predicted: an empty text says that there is no answer. It is right (1) for a question without one, else 0.
    """
    agree = agreement_with(gold)
    scores = [agree(answers, text) for answers, text in zip(gold, predicted, strict=True)]
    return {
        "f1_answer": sum(f1 for f1, _ in scores) / len(scores),
        "exact_match": sum(exact for _, exact in scores) / len(scores),
    }


def one_label(gold: str, predicted: str) -> Iterable[Pair]:
    """The one decision on a row."""
    return [(gold, predicted)]


each_word = partial(zip, strict=True)
"""A decision on each word of a row."""


def each_type(gold: Sequence[str], predicted: Sequence[str]) -> Iterable[Pair]:
    """The type of the span that each word of a row is in."""
    types = ([tag if tag == OUTSIDE else tag[2:] for tag in tags] for tags in (gold, predicted))
    return zip(*types, strict=True)


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
    """Each label of each row is a binary decision; scikit-learn would treat a matrix of one column as two classes."""
    from sklearn.metrics import precision_recall_fscore_support

    scores = {}
    for label in sorted({label for labels in gold for label in labels}):
        right, positive = [label in labels for labels in gold], [label in labels for labels in predicted]
        precision, recall, f1, _ = precision_recall_fscore_support(right, positive, average="binary", zero_division=0)
        scores[label] = (float(precision), float(recall), float(f1), float(sum(right)))
    return scores


def of_spans(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> ClassScores:
    """Scores by type; a span counts when both ends and the type agree."""
    scores = {}
    right, answered = _spans(gold), _spans(predicted)
    for kind in sorted({kind for *_, kind in right}):
        of_kind, found = ({span for span in spans if span[-1] == kind} for spans in (right, answered))
        scores[kind] = (*_agreement(of_kind, found), float(len(of_kind)))
    return scores


@dataclass(frozen=True)
class Scoring:
    """Scoring of one target.

    Attributes:
        score: gold answers, predicted answers and the task, to the metrics.
        right: gold answers of the whole set, to a function that decides whether an answer to a row is right;
            None for regression.
        classes: gold and predicted answers, to the scores of each class; None: there are no classes.
        pairs: gold and predicted answer of a row, to its decisions for a confusion matrix; None: it has none.
    """

    score: Callable[[Sequence[Any], Sequence[Any], TaskDescription], Scores]
    right: Callable[[Sequence[Any]], IsRight | None] = lambda gold: lambda right, answer: bool(right == answer)
    classes: Callable[[Sequence[Any], Sequence[Any]], ClassScores] | None = None
    pairs: Callable[[Any, Any], Iterable[Pair]] | None = None


def _one_of_them(gold: Sequence[Sequence[str]]) -> IsRight:
    agree = agreement_with(gold)
    return lambda right, answer: agree(right, answer)[1] == 1


SCORING = ByTarget(
    {
        "class": Scoring(
            lambda gold, answers, task: classification_metrics(gold, answers, task.positive),
            classes=partial(of_pairs, one_label),
            pairs=one_label,
        ),
        "labels": Scoring(
            lambda gold, answers, task: label_metrics(gold, answers, task.labels),
            right=lambda gold: lambda right, answer: set(right) == set(answer),
            classes=of_multi_label,
        ),
        "number": Scoring(
            lambda gold, answers, task: number_metrics(gold, answers),
            right=lambda gold: None,
        ),
        "spans": Scoring(
            lambda gold, answers, task: span_metrics(gold, answers),
            classes=of_spans,
            pairs=each_type,
        ),
        "tags": Scoring(
            lambda gold, answers, task: tag_metrics(gold, answers),
            classes=partial(of_pairs, each_word),
            pairs=each_word,
        ),
        "answer": Scoring(
            lambda gold, answers, task: answer_metrics(gold, answers),
            right=_one_of_them,
        ),
    }
)

COMPARED_BY: Mapping[Target, str] = {target: spec.metrics[0] for target, spec in TARGETS.items()}

_RANGES = {"pearson": (-1.0, 1.0), "spearman": (-1.0, 1.0), "rmse": (0.0, inf)}


def limits(metric: str) -> tuple[float, float]:
    """The least and the largest value of a metric; intervals are cut there."""
    return _RANGES.get(metric, (0.0, 1.0))


def right_answers(rows: Sequence[Mapping[str, Any]], target: Target) -> list[Any]:
    """The gold answers of rows, in the form that answers are compared with."""
    output = TARGETS[target]
    return [output.gold(row[output.column]) for row in rows]


def most_frequent(values: Sequence[Any]) -> Any:
    """The most frequent value; the first in sort order of several, so that equal data give equal results."""
    counts = Counter(json.dumps(value) for value in values)
    return json.loads(min(counts, key=lambda value: (-counts[value], json.loads(value))))


def are_alike(answers: Iterable[Any], target: Target) -> bool:
    """Whether all answers are the same, or the tags of all words."""
    each = chain.from_iterable(answers) if TARGETS[target].classes == "word" else map(json.dumps, answers)
    return len({*each}) < 2
