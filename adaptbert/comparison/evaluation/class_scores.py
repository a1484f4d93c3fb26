"""Answers of an arm -> precision, recall and F1 of every class, as its metrics count them, and the confusion matrix."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from adaptbert.comparison.evaluation.predictions import Answer
from adaptbert.config.schema.task_types import Target
from adaptbert.data.tag_schemes import OUTSIDE
from adaptbert.tasks.metrics.scoring import SCORING


@dataclass(frozen=True)
class ClassScores:
    """One class of an arm; for spans a type, and a span counts when both ends and the type agree.

    Attributes:
        precision, recall, f1: of each run.
        support: how often the class is the right answer; runs have it in common.
    """

    label: str
    precision: list[float]
    recall: list[float]
    f1: list[float]
    support: int

    @property
    def means(self) -> tuple[float, float, float]:
        """Precision, recall and F1 as means over runs."""
        precision, recall, f1 = (sum(scores) / len(scores) for scores in (self.precision, self.recall, self.f1))
        return precision, recall, f1


def class_table(runs: Sequence[Sequence[Answer]], target: Target) -> list[ClassScores]:
    """The classes that occur among the right answers, by name; none where the target has no classes."""
    count = SCORING[target].classes
    if count is None:
        return []
    counts = [count([answer.gold for answer in answers], [answer.predicted for answer in answers]) for answers in runs]
    return [
        ClassScores(
            label,
            precision=[scores[label][0] for scores in counts],
            recall=[scores[label][1] for scores in counts],
            f1=[scores[label][2] for scores in counts],
            support=int(counts[0][label][3]),
        )
        for label in sorted(counts[0])
    ]


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix of one arm.

    Attributes:
        labels: rows and columns; for spans the types of the single words, `O` first.
        counts: gold label -> predicted label -> rows (words) a run, as a mean over runs.
    """

    labels: list[str]
    counts: dict[str, dict[str, float]]


def confusion(runs: Sequence[Sequence[Answer]], target: Target) -> Confusion | None:
    """The mean over runs; None where a row has no single label."""
    decisions = SCORING[target].pairs
    if decisions is None:
        return None
    counted: Counter[tuple[str, str]] = Counter()
    for answer in (answer for answers in runs for answer in answers):
        counted.update(decisions(answer.gold, answer.predicted))
    labels = sorted({label for pair in counted for label in pair}, key=lambda label: (label != OUTSIDE, label))
    means = {gold: {predicted: counted[gold, predicted] / len(runs) for predicted in labels} for gold in labels}
    return Confusion(labels, means)
