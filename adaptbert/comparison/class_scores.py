"""Answers of a cell -> precision, recall and F1 of every class, as its metrics count them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adaptbert.base.task_types import Target
from adaptbert.comparison.predictions import Answer
from adaptbert.finetuning.metrics.targets import SCORING


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


def class_table(by_seed: Mapping[int, Sequence[Answer]], target: Target) -> list[ClassScores]:
    """The classes that occur among the right answers, by name; none where the target has no classes."""
    count = SCORING[target].classes
    if count is None:
        return []
    seeds = [
        count([answer.gold for answer in answers], [answer.predicted for answer in answers])
        for answers in by_seed.values()
    ]
    return [
        ClassScores(
            label,
            precision=[scores[label][0] for scores in seeds],
            recall=[scores[label][1] for scores in seeds],
            f1=[scores[label][2] for scores in seeds],
            support=int(seeds[0][label][3]),
        )
        for label in sorted(seeds[0])
    ]
