"""Answers of a cell -> its confusion matrix."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adaptbert.comparison.baselines import OUTSIDE
from adaptbert.comparison.predictions import Answer


@dataclass(frozen=True)
class Confusion:
    """Of one cell.

    Attributes:
        labels: rows and columns; for spans the types of the single words, `O` first.
        counts: gold label -> predicted label -> rows (words) a seed, as a mean over seeds.
    """

    labels: list[str]
    counts: dict[str, dict[str, float]]


def confusion(by_seed: Mapping[int, Sequence[Answer]], target: str) -> Confusion | None:
    """Counted over all seeds; None where a row has no single label."""
    counted: Counter[tuple[str, str]] = Counter()
    for answer in (answer for answers in by_seed.values() for answer in answers):
        if target == "class":
            counted[answer.gold, answer.predicted] += 1
        elif target == "tags":
            counted.update(zip(answer.gold, answer.predicted, strict=True))
        elif target == "spans":
            counted.update(zip(map(_type, answer.gold), map(_type, answer.predicted), strict=True))
        else:
            return None
    labels = sorted({label for pair in counted for label in pair}, key=lambda label: (label != OUTSIDE, label))
    means = {gold: {predicted: counted[gold, predicted] / len(by_seed) for predicted in labels} for gold in labels}
    return Confusion(labels, means)


def _type(tag: str) -> str:
    return tag if tag == OUTSIDE else tag[2:]
