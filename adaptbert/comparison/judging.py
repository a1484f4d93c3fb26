"""The differences of all tasks -> verdicts on the primary questions, detectable differences, what would settle them."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from adaptbert.comparison.questions import Arms, Pair
from adaptbert.comparison.records import Arm, Detectable, Needed, OnSeveralTasks, Step, Task
from adaptbert.comparison.rungs import Cost
from adaptbert.config.schema.bases import Climb
from adaptbert.statistics.designs import Prices, QuestionSpread, cheapest
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.multiplicity import adjusted_p, tasks_with_effect
from adaptbert.statistics.power import spread_range
from adaptbert.statistics.study import TaskStudy
from adaptbert.statistics.verdicts import Verdict, verdicts

Studies = Mapping[tuple[str, str], TaskStudy]
"""Task and start -> its runs."""


def steps_of(
    pairs: Iterable[Pair], climbs: Arms, arms: Iterable[Arm], study: TaskStudy, primary: Collection[str]
) -> list[Step]:
    """The questions of one task with their differences; verdicts need all tasks.

    Args:
        primary: a question counts for the arm that is called by its role (`domain_text`: the arm `domain`); where there
            is none, for all arms that it is about. `domain_text/news` is the one of the arm `news`.
    """
    steps, pairs, by_name = [], list(pairs), {arm.name: arm for arm in arms}
    names = {pair.step for pair in pairs}
    for pair in pairs:
        difference = study.study.difference(pair.arm, pair.other)
        steps.append(
            Step(
                name=pair.step,
                question=pair.question,
                arm=pair.arm,
                other=pair.other,
                difference=difference,
                draws=None
                if _on_the_same_rungs(by_name[pair.arm], by_name[pair.other])
                else _draws(climbs[pair.arm], climbs[pair.other], difference),
                own_values=[name for name in (pair.arm, pair.other) if by_name[name].has_own_values],
                primary=pair.step in primary or (pair.question in primary and pair.question not in names),
            )
        )
    return steps


def _on_the_same_rungs(arm: Arm, other: Arm) -> bool:
    """Whether all that was trained before fine-tuning is the same; an A/A arm has other draws."""
    return (arm.rung, arm.planned) == (other.rung, other.planned)


def _draws(climb: Climb, other: Climb, difference: Difference | None) -> int:
    if climb.is_random != other.is_random or difference is None:
        return 1
    return max(1, difference.draws)


def judged(
    tasks: Sequence[Task], studies: Studies, worth: float, confidence: float, one_more_draw: Cost | None
) -> list[Task]:
    """The tasks with a verdict on every step.

    Args:
        one_more_draw: what one more draw of all rungs would cost.
    """
    primary = [step for task in tasks for step in task.steps if step.primary and step.draws != 1]
    judged_differences = verdicts([step.difference for step in primary], worth, confidence)
    judgements = dict(zip(map(id, primary), judged_differences, strict=True))
    adjusted = dict(zip(map(id, primary), adjusted_p([_p(step) for step in primary]), strict=True))

    def of_step(step: Step, task: Task) -> Step:
        difference = step.difference
        if difference is None or not difference.testable:
            return replace(step, verdict=judgements.get(id(step), "untested"))
        judged = id(step) in judgements
        level = (1 - confidence) / (len(primary) if judged else 1)
        verdict: Verdict = judgements.get(id(step), "one_draw" if step.primary else "descriptive")
        study = studies[task.task, task.start]
        question = study.study.question(step.arm, step.other, level)
        more = None
        # Where the two arms have no draws, more of them would change nothing.
        if verdict in ("undecided", "no_worse") and one_more_draw is not None and step.draws is not None:
            more = _needed(question, task, worth, Prices(one_more_draw.tflop, study.tflop_of_run))
        smallest = _detectable(difference, question)
        return replace(step, verdict=verdict, p_holm=adjusted.get(id(step)), detectable=smallest, needed=more)

    return [replace(task, steps=[of_step(step, task) for step in task.steps]) for task in tasks]


def _p(step: Step) -> float:
    """1 where it cannot be tested: a cell that failed makes no other question easier to answer."""
    p = None if step.difference is None else step.difference.p
    return 1.0 if p is None else p


def _detectable(difference: Difference, question: QuestionSpread) -> Detectable | None:
    value = question.power.detectable
    if value is None:
        return None
    low, high = spread_range(difference.df)
    return Detectable(value, value * low, value * high)


def _needed(question: QuestionSpread, task: Task, worth: float, prices: Prices) -> Needed:
    if question.of_rows_alone > worth:
        return Needed(None, math.ceil(task.rows["test"] * (question.of_rows_alone / worth) ** 2))
    return Needed(cheapest(question, worth, prices), None)


def on_several(tasks: Sequence[Task], level: float) -> list[OnSeveralTasks]:
    """Every primary question that several tasks of a start ask and answer with draws."""
    by_question: dict[tuple[str, str], list[Difference]] = {}
    for task in tasks:
        for step in task.steps:
            if step.primary and (step.draws or 0) > 1 and step.difference is not None and step.difference.testable:
                by_question.setdefault((step.name, task.start), []).append(step.difference)
    several = {key: differences for key, differences in by_question.items() if len(differences) > 1}
    each = level / (2 * max(1, len(several)))  # two directions of every question
    return [
        OnSeveralTasks(
            question=question,
            start=start,
            tasks=len(differences),
            gains=tasks_with_effect([_one_sided(own, up=True) for own in differences], each),
            losses=tasks_with_effect([_one_sided(own, up=False) for own in differences], each),
        )
        for (question, start), differences in several.items()
    ]


def _one_sided(difference: Difference, *, up: bool) -> float:
    p = difference.p
    assert p is not None
    return p / 2 if (difference.mean > 0) == up else 1 - p / 2
