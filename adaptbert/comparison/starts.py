"""Scores of one task from several starts -> the starts side by side, arm by arm. Pure.

The order is chosen on the dev split. What is compared are the starts as they are: checkpoints, or weights that were
trained once. Their general pre-training is not repeated, so nothing here speaks of another run of it, and only
published checkpoints have verdicts.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from statistics import mean

from adaptbert.comparison.records import Arm, ArmFromStarts, Ranking, Standing
from adaptbert.statistics.multiplicity import adjusted_p
from adaptbert.statistics.study import Study
from adaptbert.statistics.verdicts import verdicts


def ranking(
    task: str,
    metric: str,
    starts: Mapping[str, Mapping[str, Arm]],
    published: Collection[str],
    study: Study,
    worth: float,
) -> Ranking | None:
    """The starts of a task, compared in each arm that several of them have; None where no arm has two results.

    Args:
        starts: start -> its arms by name.
        published: rungs that are published checkpoints or stand on them. All other weights were made here, general
            pre-training once for each start.
        study: the runs of all arms from all starts, by `study_key`.
        worth: the smallest difference worth having.
    """
    dev = {
        arm: {start: mean(arms[arm].dev.values()) for start, arms in starts.items() if arm in arms and arms[arm].dev}
        for arm in dict.fromkeys(arm for arms in starts.values() for arm in arms)
    }
    shared = {arm: scores for arm, scores in dev.items() if len(scores) > 1}
    if not shared:
        return None
    # An arm that fewer starts have may not leave a start out of the order.
    chosen = max(shared, key=lambda arm: (len(shared[arm]), mean(shared[arm].values())))
    order = sorted(starts, key=lambda start: -shared[chosen].get(start, float("-inf")))
    compared = [chosen, *(arm for arm in shared if arm != chosen)]
    arms = [ArmFromStarts(arm, _standings(arm, order, starts, study)) for arm in compared]
    there = [(start, own[arm]) for start, own in starts.items() for arm in compared if arm in own]
    trained = [sum(draw > 0 for draw in arm.by_draw) for _, arm in there]
    draws = [count for count in trained if count]
    ends = (min(draws, default=0), max(draws, default=0))
    once = {(arm.name, start) for start, arm in there if arm.rung not in published}
    judged = _judged(arms, once, worth, study.confidence)
    made_here = [start for start in order if any((arm, start) in once for arm in compared)]
    return Ranking(task, metric, chosen, order, shared[chosen], judged, ends, made_here)


def study_key(arm: str, start: str) -> str:
    """The name of an arm from a start, in a study of all starts."""
    return f"{start}/{arm}"


def _standings(arm: str, order: Sequence[str], starts: Mapping[str, Mapping[str, Arm]], study: Study) -> list[Standing]:
    """Without adjusted p-values and verdicts, which need all arms."""
    first = order[0]
    return [
        Standing(
            start,
            starts[start][arm].interval,
            starts[start][arm].cost,
            study.difference(study_key(arm, start), study_key(arm, first)) if start != first else None,
            None,
            None,
        )
        for start in order
        if arm in starts[start]
    ]


def _judged(
    arms: Sequence[ArmFromStarts], made_once: Collection[tuple[str, str]], worth: float, confidence: float
) -> list[ArmFromStarts]:
    """What was trained once from a start has no verdict, and is none of those that p is adjusted for.

    Args:
        made_once: arm and start, where the weights that the arm climbs from were made here.
    """
    first = arms[0].standings[0].start

    def is_repeated(arm: str, each: Standing) -> bool:
        """Whether both sides are published checkpoints, or stand on them and were trained several times."""
        once = {(arm, each.start), (arm, first)} & set(made_once)
        return each.difference is not None and each.difference.draws != 1 and not once

    others = [(arm.arm, each) for arm in arms for each in arm.standings if each.start != first]
    tested = [each.difference if is_repeated(arm, each) else None for arm, each in others]
    p_values = [None if each is None else each.p for each in tested]
    adjusted = iter(adjusted_p([p for p in p_values if p is not None]))
    judged = {}
    for (arm, each), p, verdict in zip(others, p_values, verdicts(tested, worth, confidence), strict=True):
        once = each.difference is not None and each.difference.testable and not is_repeated(arm, each)
        p_holm = None if p is None else next(adjusted)
        judged[arm, each.start] = replace(each, p_holm=p_holm, verdict="one_draw" if once else verdict)
    return [replace(arm, standings=[judged.get((arm.arm, each.start), each) for each in arm.standings]) for arm in arms]
