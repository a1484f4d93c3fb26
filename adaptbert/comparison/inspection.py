"""Predictions of one arm -> its `Inspection`: classes, confusion matrix, most confident errors."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from adaptbert.comparison.records import ClassScores, Confusion, Error, Inspection
from adaptbert.comparison.scores import Answer, read_predictions
from adaptbert.config.schema.task_types import TARGETS, Target, TargetSpec
from adaptbert.data.tag_schemes import OUTSIDE
from adaptbert.tasks.metrics.scoring import SCORING, IsRight

ERRORS = 10
Predictions = Mapping[Path, Collection[int]]
"""The file of each replicate of an arm -> the seeds that are read."""
FEW = 5
"""Rows of a class: that a run answers none of fewer with it is chance."""


def inspect_runs(predictions: Predictions, target: Target) -> Inspection:
    """Details of the runs of one arm."""
    runs = _runs(predictions, target)
    # The script of the whole set decides how answers are compared.
    right = SCORING[target].right([answer.gold for answers in runs for answer in answers])
    errors = _errors(runs, right, target) if right is not None else []
    return Inspection(len(runs), _classes(runs, target), _confusion(runs, target), errors)


def never_predicted(predictions: Predictions, target: Target) -> tuple[list[str], list[str]]:
    """Classes of rows that are right answers, and no answer of any run; and those that are no answer of some run, of
    which it has several."""
    if TARGETS[target].classes != "row":
        return [], []
    labels = TARGETS[target].labels
    runs = _runs(predictions, target)
    predicted = [{label for each in run for label in labels(each.predicted)} for run in runs]
    right = Counter(label for run in runs[:1] for each in run for label in labels(each.gold))  # those of all runs
    never = right.keys() - set().union(*predicted)
    in_all = set(right).intersection(*(each for each in predicted if len(each) > 1))
    return sorted(never), sorted(label for label in right.keys() - in_all - never if right[label] >= FEW)


def _runs(predictions: Predictions, target: Target) -> list[list[Answer]]:
    return [run for path, seeds in predictions.items() for run in read_predictions(path, target, seeds).values()]


def _classes(runs: Sequence[Sequence[Answer]], target: Target) -> list[ClassScores]:
    """The classes that occur among the right answers, by name."""
    count = SCORING[target].classes
    if count is None:
        return []
    counts = [count([answer.gold for answer in answers], [answer.predicted for answer in answers]) for answers in runs]
    scores = []
    for label in sorted(counts[0]):
        precision, recall, f1, support = zip(*(by_class[label] for by_class in counts), strict=True)
        scores.append(ClassScores(label, [*precision], [*recall], [*f1], int(support[0])))
    return scores


def _confusion(runs: Sequence[Sequence[Answer]], target: Target) -> Confusion | None:
    """The mean over runs; None where a row has no single label."""
    decisions = SCORING[target].pairs
    if decisions is None:
        return None
    counted: Counter[tuple[str, str]] = Counter()
    for answer in (answer for answers in runs for answer in answers):
        counted.update(decisions(answer.gold, answer.predicted))
    labels = sorted({label for pair in counted for label in pair}, key=lambda label: (label != OUTSIDE, label))
    counts = {
        gold: {predicted: counted[gold, predicted] / len(runs) for predicted in labels if counted[gold, predicted]}
        for gold in labels
    }
    return Confusion(labels, counts)


def _errors(runs: Sequence[Sequence[Answer]], is_right: IsRight, target: Target) -> list[Error]:
    output, wrong = TARGETS[target], dict[str, list[Answer]]()
    for answer in (answer for answers in runs for answer in answers):
        if not is_right(answer.gold, answer.predicted):
            wrong.setdefault(answer.id, []).append(answer)
    weights = {row: sum(answer.confidence for answer in answers) for row, answers in wrong.items()}
    errors = []
    for row in sorted(wrong, key=lambda row: (-weights[row], row))[:ERRORS]:
        answers, gold, predicted = wrong[row], None, None
        if output.classes == "row":
            answered = Counter(_label(output, answer.predicted) for answer in answers)
            gold, predicted = _label(output, answers[0].gold), min(answered, key=lambda each: (-answered[each], each))
        errors.append(Error(row, len(answers), weights[row] / len(answers), gold, predicted))
    return errors


def _label(output: TargetSpec, answer: Any) -> str:
    return ", ".join(sorted(output.labels(answer))) or "–"
