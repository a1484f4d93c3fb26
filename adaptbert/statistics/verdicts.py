"""Differences against 0 and against the smallest gain worth having -> verdicts, for several questions together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from adaptbert.statistics.intervals import Difference

Verdict = Literal["gain", "loss", "equivalent", "undecided", "not_tested"]
"""Verdicts on a difference:

    gain         larger than 0
    loss         smaller than 0
    equivalent   smaller than what is worth having, in either direction
    undecided    none of these
    not_tested   nobody asked, or it was not repeated: there is no verdict
"""


@dataclass(frozen=True)
class Judgement:
    """The verdict on one difference.

    Attributes:
        p: adjusted for all questions that are asked together.
        at_least: of a gain, whether it is at least as large as what is worth having.
    """

    verdict: Verdict
    p: float
    at_least: bool = False


Before = Mapping[int, Sequence[int]]
"""The number of a chain of one question about the mean of several tasks -> the numbers of their chains."""


def judge(
    chains: Sequence[Sequence[Difference]], min_gain: float, confidence: float, before: Before | None = None
) -> list[list[Judgement]]:
    """Judge questions of which the first of each task comes before its others, and a mean over tasks before them.

    Gains and losses together are wrong in at most 1 - `confidence` of all studies, and so are the gains of at least
    `min_gain`, by their own p-values. Equivalence holds for one question each: it is about the size of what was not
    shown. A question that cannot be tested has the p-value 1: it is one of those that were asked.

    Args:
        chains: of each task its questions, the first one first; the others are tested when that shows a gain or a
            loss.
        min_gain: the smallest gain worth having, as a difference of scores.
        before: the chains that are about means; None: none is.
    """
    p_values = [[1.0 if each.p is None else each.p for each in chain] for chain in chains]
    p_above = [[each.p_above(min_gain) if each.testable else 1.0 for each in chain] for chain in chains]
    judgement = partial(_judgement, min_gain=min_gain, level=1 - confidence)
    adjusted = adjusted_p(p_values, before), adjusted_p(p_above, before)
    return [[*map(judgement, *own)] for own in zip(chains, *adjusted, strict=True)]


def _judgement(each: Difference, p: float, p_above: float, min_gain: float, level: float) -> Judgement:
    if each.identical:
        return Judgement("equivalent", p)
    if not each.testable:
        return Judgement("not_tested", p)
    if p < level:
        return Judgement("gain", p, p_above < level) if each.mean > 0 else Judgement("loss", p)
    return Judgement("equivalent" if each.p_inside(min_gain) < level else "undecided", p)


# ---- several questions


OF_MEAN = 0.8
"""The part of the level of some tasks that the question about their mean holds. With all of it, tasks with opposite
effects would have no verdict: docs/decisions/0046-one-figure-across-tasks.md has what other parts show."""
EPSILON = 1e-6
"""The part of a share that goes out of a chain, and out of the tasks of a mean, at once; all of it does when the
questions there are decided."""


def adjusted_p(chains: Sequence[Sequence[float]], before: Before | None = None) -> list[list[float]]:
    """p-values adjusted for several tests, in the order of the argument.

    The first question of each chain holds an equal share of the level. When it is decided, the others of its chain have
    equal parts of that share; one of them that is decided hands its part to the rest of its chain, and the last one to
    the first questions of the other chains: Bretz, Maurer, Brannath & Posch (2009), "A graphical approach to
    sequentially rejective multiple test procedures", Statistics in Medicine 28(4), with the adjusted p-values of their
    algorithm 2. In chains of one question each this is the method of Holm (1979).

    A question about the mean of several tasks holds `OF_MEAN` of what their first questions would. When it is decided,
    these have it back; when all questions of one of the tasks are, their share goes to the mean, which stands for its
    tasks toward all others.
    """
    p_values = {(chain, place): p for chain, own in enumerate(chains) for place, p in enumerate(own)}
    mean_of = {task: (mean, 0) for mean, tasks in (before or {}).items() if chains[mean] for task in tasks}
    first = [each for each in p_values if each[1] == 0 and each not in mean_of.values()]
    share = dict.fromkeys(p_values, 0.0)
    for each in first:
        share[each] += (1 - OF_MEAN if each[0] in mean_of else 1.0) / len(first)
        if each[0] in mean_of:
            share[mean_of[each[0]]] += OF_MEAN / len(first)
    hands = {each: _hands_to(each, [*p_values], first, mean_of) for each in p_values}
    adjusted, least = [[1.0] * len(own) for own in chains], 0.0
    while ready := [each for each in hands if share[each] > 0]:
        chain, place = decided = min(ready, key=lambda each: p_values[each] / share[each])
        least = max(least, min(1.0, p_values[decided] / share[decided]))
        adjusted[chain][place] = least
        _take_out(decided, share, hands)
    return adjusted


Place = tuple[int, int]
"""A chain, and a question in it."""


def _hands_to(
    each: Place, every: Sequence[Place], first: Sequence[Place], mean_of: Mapping[int, Place]
) -> dict[Place, float]:
    """Parts of its share that a question hands on when it is decided; they sum to 1, or to 0 where there is none."""
    if each[0] in mean_of:
        outside = [mean_of[each[0]]]
    else:
        heads = dict.fromkeys(mean_of.get(chain, (chain, place)) for chain, place in first)
        outside = [head for head in heads if head[0] != each[0]]
    own = [other for other in every if other[0] == each[0] and other[1] > 0 and other != each]
    if each in mean_of.values():
        own = [other for other in first if mean_of.get(other[0]) == each]
    to_outside = (EPSILON if own else 1.0) if outside else 0.0
    return {other: (1 - to_outside) / len(own) for other in own} | {
        other: to_outside / len(outside) for other in outside
    }


def _take_out(decided: Place, share: dict[Place, float], hands: dict[Place, dict[Place, float]]) -> None:
    """Its share goes to those that it hands to, and who handed to it hands to them from now on."""
    own = hands.pop(decided)
    for each, part in own.items():
        share[each] += share[decided] * part
    for each, parts in hands.items():
        if through := parts.pop(decided, 0.0):
            new = {other: parts.get(other, 0.0) + through * own.get(other, 0.0) for other in {**parts, **own}}
            new.pop(each, None)
            total = sum(new.values())  # 1 without what would come back; a difference from 1 would lose digits
            hands[each] = {other: part / total for other, part in new.items()} if total else {}
