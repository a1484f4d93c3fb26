"""Differences -> verdicts: which comparisons are tested together, what they show, and what would settle them."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import mean

from adaptbert.comparison.arms import TaskResults
from adaptbert.comparison.questions import Pair
from adaptbert.comparison.records import (
    Arm,
    ArmOfBases,
    Cost,
    Detectable,
    Needed,
    Ranking,
    Standing,
    Step,
    Task,
)
from adaptbert.config.schema.bases import TrainedOn
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.power import QuestionSpread, cheapest, spread_range
from adaptbert.statistics.study import Study
from adaptbert.statistics.verdicts import Verdict, adjusted_p, judge, verdicts

Results = Mapping[tuple[str, str], TaskResults]
"""Task and base -> its runs."""


# ---- the questions of a task


def steps_of(
    pairs: Iterable[Pair],
    by_arm: Mapping[str, TrainedOn],
    arms: Iterable[Arm],
    study: Study,
    primary: Collection[str],
) -> list[Step]:
    """The questions of one task with their differences; verdicts need all tasks.

    Args:
        by_arm: arm -> what its checkpoint was trained on.
        primary: a question counts for the arm that is called by its role (`domain_text`: the arm `domain`); where there
            is none, for all arms that it is about. `domain_text/news` is the one of the arm `news`.
    """
    steps, pairs, by_name = [], list(pairs), {arm.name: arm for arm in arms}
    names = {pair.name for pair in pairs}
    for pair in pairs:
        arm, other = by_name[pair.arm], by_name[pair.other]
        difference = study.difference(pair.arm, pair.other)
        replicates = None
        if arm.checkpoint != other.checkpoint:
            of_weights = by_arm[pair.arm].is_random != by_arm[pair.other].is_random
            replicates = 1 if of_weights or difference is None else max(1, difference.replicates)
        steps.append(
            Step(
                name=pair.name,
                question=pair.question,
                variant=pair.variant,
                arm=pair.arm,
                other=pair.other,
                difference=difference,
                replicates=replicates,
                own_values=[each.name for each in (arm, other) if each.has_own_values],
                primary=pair.name in primary or (pair.question in primary and pair.question not in names),
            )
        )
    return steps


def family(tasks: Iterable[Task]) -> list[Step]:
    """The comparisons that are tested together, in this order: the primary ones, but those of what was trained once."""
    return [step for task in tasks for step in task.steps if step.primary and step.replicates != 1]


def judged(
    tasks: Sequence[Task], results: Results, min_gain: float, confidence: float, one_more: Cost | None
) -> list[Task]:
    """The tasks with a verdict on every step.

    Args:
        one_more: what one more replicate of all steps would cost.
    """
    primary = family(tasks)
    judged = judge([step.difference for step in primary], min_gain, confidence)
    judgements = dict(zip(map(id, primary), judged, strict=True))

    def of_step(step: Step, task: Task) -> Step:
        verdict: Verdict
        verdict, p_holm = judgements.get(id(step), ("one_draw" if step.primary else "descriptive", None))
        if step.difference is None or not step.difference.testable:
            return replace(step, verdict=verdict if id(step) in judgements else "untested")
        own = results[task.task, task.base]
        level = (1 - confidence) / (len(primary) if id(step) in judgements else 1)
        question, needed = own.study.question(step.arm, step.other, level), None
        # Where the two arms have no replicates, more of them would change nothing.
        if verdict in ("undecided", "no_worse") and one_more is not None and step.replicates is not None:
            needed = _needed(question, task, min_gain, one_more.tflop, own.tflop_of_run)
        least = _detectable(step.difference, question)
        return replace(step, verdict=verdict, p_holm=p_holm, detectable=least, needed=needed)

    return [replace(task, steps=[of_step(step, task) for step in task.steps]) for task in tasks]


def _detectable(difference: Difference, question: QuestionSpread) -> Detectable | None:
    value = question.power.detectable
    if value is None:
        return None
    low, high = spread_range(difference.df)
    return Detectable(value, value * low, value * high)


def _needed(question: QuestionSpread, task: Task, min_gain: float, replicate: float, run: float) -> Needed:
    if question.of_rows_alone > min_gain:
        return Needed(None, math.ceil(task.rows["test"] * (question.of_rows_alone / min_gain) ** 2))
    return Needed(cheapest(question, min_gain, replicate, run), None)


# ---- the bases of a task, side by side


def ranking(
    task: str,
    metric: str,
    bases: Mapping[str, Mapping[str, Arm]],
    published: Collection[str],
    study: Study,
    min_gain: float,
) -> Ranking | None:
    """The bases of a task, compared in each arm that several of them have; None where no arm has two results.

    The order is chosen on the dev split. What is compared are the bases as they are: checkpoints, or weights that were
    trained once. Their general pre-training is not repeated, so nothing here speaks of another run of it, and only
    published checkpoints have verdicts.

    Args:
        bases: base -> its arms by name.
        published: names of checkpoints that are public or stand on them. All other weights were made here, general
            pre-training once for each base.
        study: the runs of all arms from all bases, by `study_key`.
        min_gain: the smallest difference worth having.
    """
    dev = {
        name: {base: dev for base, arms in bases.items() if name in arms and (dev := arms[name].dev) is not None}
        for name in dict.fromkeys(name for arms in bases.values() for name in arms)
    }
    shared = {name: scores for name, scores in dev.items() if len(scores) > 1}
    if not shared:
        return None
    # An arm that fewer bases have may not leave a base out of the order.
    chosen = max(shared, key=lambda name: (len(shared[name]), mean(shared[name].values())))
    order = sorted(bases, key=lambda base: -shared[chosen].get(base, float("-inf")))
    compared = [chosen, *(name for name in shared if name != chosen)]
    arms = {name: {base: bases[base][name] for base in order if name in bases[base]} for name in compared}
    once = {(name, base) for name, own in arms.items() for base in own if own[base].checkpoint not in published}
    trained = [sum(number > 0 for number in arm.by_replicate) for own in arms.values() for arm in own.values()]
    counts = [count for count in trained if count]
    return Ranking(
        task=task,
        metric=metric,
        arm=chosen,
        order=order,
        dev=shared[chosen],
        arms=_standings(arms, order[0], once, study, min_gain),
        replicates=(min(counts, default=0), max(counts, default=0)),
        made_here=[base for base in order if any((name, base) in once for name in compared)],
    )


def study_key(arm: str, base: str) -> str:
    """The name of an arm from a base, in a study of all bases."""
    return f"{base}/{arm}"


def _standings(
    arms: Mapping[str, Mapping[str, Arm]], first: str, once: Collection[tuple[str, str]], study: Study, min_gain: float
) -> list[ArmOfBases]:
    """What was trained once from a base has no verdict, and is none of those that p is adjusted for.

    Args:
        arms: arm -> base -> its arm.
        once: arm and base, where the weights below the arm were made here.
    """
    differences = {
        (name, base): study.difference(study_key(name, base), study_key(name, first))
        for name, own in arms.items()
        for base in own
        if base != first
    }
    # Both sides are published checkpoints, or stand on them and were trained several times.
    repeated = {
        (name, base): difference
        for (name, base), difference in differences.items()
        if difference is not None and difference.replicates != 1 and not {(name, base), (name, first)} & set(once)
    }
    tested = {key: difference.p for key, difference in repeated.items() if difference.p is not None}
    adjusted = dict(zip(tested, adjusted_p([*tested.values()]), strict=True))
    judged = verdicts([repeated.get(key) for key in differences], min_gain, study.confidence)
    by_key = dict(zip(differences, judged, strict=True))

    def standing(name: str, base: str, arm: Arm) -> Standing:
        key, difference = (name, base), differences.get((name, base))
        is_once = key not in repeated and difference is not None and difference.testable
        verdict = "one_draw" if is_once else by_key.get(key)
        return Standing(base, arm.interval, arm.cost, difference, adjusted.get(key), verdict)

    return [ArmOfBases(name, [standing(name, base, arm) for base, arm in own.items()]) for name, own in arms.items()]
