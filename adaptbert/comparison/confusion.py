"""Answers of a cell -> its confusion matrix."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adaptbert.base.task_types import Target
from adaptbert.comparison.predictions import Answer
from adaptbert.finetuning.metrics.targets import SCORING
from adaptbert.rows.tag_schemes import OUTSIDE


@dataclass(frozen=True)
class Confusion:
    """Of one cell.

    Attributes:
        labels: rows and columns; for spans the types of the single words, `O` first.
        counts: gold label -> predicted label -> rows (words) a seed, as a mean over seeds.
    """

    labels: list[str]
    counts: dict[str, dict[str, float]]


def confusion(by_seed: Mapping[int, Sequence[Answer]], target: Target) -> Confusion | None:
    """Counted over all seeds; None where a row has no single label."""
    decisions = SCORING[target].pairs
    if decisions is None:
        return None
    counted: Counter[tuple[str, str]] = Counter()
    for answer in (answer for answers in by_seed.values() for answer in answers):
        counted.update(decisions(answer.gold, answer.predicted))
    labels = sorted({label for pair in counted for label in pair}, key=lambda label: (label != OUTSIDE, label))
    means = {gold: {predicted: counted[gold, predicted] / len(by_seed) for predicted in labels} for gold in labels}
    return Confusion(labels, means)
