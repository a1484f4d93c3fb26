"""Differences against 0 and against the smallest gain worth having -> verdicts, for several questions together."""

from collections.abc import Sequence
from typing import Literal

from adaptbert.statistics.intervals import Difference

Verdict = Literal[
    "worth_it",
    "gain",
    "small_gain",
    "loss",
    "no_difference",
    "no_worse",
    "undecided",
    "one_draw",
    "descriptive",
    "untested",
]
"""What may be said of a difference:

    worth_it       a gain, and larger than what is worth having
    gain           a gain; whether it is worth having is not decided
    small_gain     a gain, smaller than what is worth having
    loss           a loss
    no_difference  smaller than what is worth having, in either direction
    no_worse       no loss as large as what is worth having
    undecided      none of these
    one_draw       what was trained was trained once: the interval speaks of these weights, and no verdict of the step
    descriptive    the question is not a primary one: its interval is given, and no verdict
    untested       there is no interval
"""
GAINS: tuple[Verdict, ...] = ("worth_it", "gain", "small_gain")


def judge(differences: Sequence[Difference | None], min_gain: float, confidence: float) -> list[tuple[Verdict, float]]:
    """A verdict and the adjusted p-value of each of the questions that are tested together.

    Gains and losses hold after Holm's adjustment over all these questions, and so does `worth_it`, by the p-values
    against `min_gain`. The other verdicts are each at the level 1 - `confidence`: they are about the size of what was
    not shown. A question that cannot be tested has the p-value 1: it is one of those that were asked.

    Args:
        min_gain: the smallest gain worth having, as a difference of scores.
    """
    level = 1 - confidence
    tested = [each if each is not None and each.testable else None for each in differences]
    against_nothing = adjusted_p([1.0 if each is None else _known(each.p) for each in tested])
    against_gain = adjusted_p([1.0 if each is None else _known(each.p_above(min_gain)) for each in tested])
    return [
        (_verdict(each, differs < level, exceeds < level, min_gain, level), differs)
        for each, differs, exceeds in zip(differences, against_nothing, against_gain, strict=True)
    ]


def verdicts(differences: Sequence[Difference | None], min_gain: float, confidence: float) -> list[Verdict]:
    return [verdict for verdict, _ in judge(differences, min_gain, confidence)]


def _verdict(each: Difference | None, differs: bool, exceeds: bool, min_gain: float, level: float) -> Verdict:
    if each is not None and each.identical:
        return "no_difference"
    if each is None or not each.testable:
        return "untested"
    if differs and each.mean < 0:
        return "loss"
    if differs and exceeds:
        return "worth_it"
    if differs:
        return "small_gain" if _known(each.high) < min_gain else "gain"
    if _known(each.p_inside(min_gain)) < level:
        return "no_difference"
    return "no_worse" if _known(each.low) > -min_gain else "undecided"


def _known(value: float | None) -> float:
    assert value is not None, "a testable difference has an interval and a p-value"
    return value


# ---- several questions

ADJUSTMENT = "Holm"
"""Whose method `adjusted_p` is, for tables and sentences."""


def adjusted_p(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for several tests, in the order of the argument.

    Holm (1979), "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6(2): the k-th smallest
    of m is multiplied by m - k + 1, and an adjusted value is never below that of a smaller p-value.
    """
    m = len(p_values)
    adjusted = [0.0] * m
    largest = 0.0
    for rank, index in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (m - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
