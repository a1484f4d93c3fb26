"""All tasks -> the start of the page: the answer to each primary question, and a matrix step x task."""

from dataclasses import dataclass

from adaptbert.comparison.questions import QUESTIONS
from adaptbert.comparison.records import Comparison, Step, Task
from adaptbert.report.language import EMPTY, Text, joined, same, t, within
from adaptbert.report.sentences import repetition, starts
from adaptbert.report.sentences.steps import verdict_with
from adaptbert.report.terms import step_name
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.verdicts import GAINS, Verdict


@dataclass(frozen=True)
class Row:
    """The results of one step on every task.

    Attributes:
        arms: the compared arms, by their own names; tasks may name them differently.
        answers: task, its step; None where the task has no such two arms.
    """

    name: Text
    arms: list[str]
    answers: list[tuple[Task, Step | None]]


def matrix(comparison: Comparison) -> list[Row]:
    """The rows, in the order of the questions; a step that several tasks have is one row."""
    steps = {step.name: step for task in comparison.tasks for step in task.steps}
    order = [*QUESTIONS, *(step.question for step in steps.values())]  # those that params.yaml names come last
    names = sorted(steps, key=lambda name: order.index(steps[name].question))
    rows = []
    for name in names:
        answers = [(task, task.step(name)) for task in comparison.tasks]
        arms = dict.fromkeys(f"{step.arm} − {step.other}" for _, step in answers if step is not None)
        rows.append(Row(step_name(steps[name].question, steps[name].variant), list(arms), answers))
    return rows


def heading(comparison: Comparison) -> Text:
    """Of the page: a question only where an answer names a step."""
    steps = [step for task in comparison.tasks for step in task.steps]
    if any(step.verdict in GAINS for step in steps):
        return t("Which steps helped?")
    if comparison.replicates == 1 and {step.verdict for step in steps if step.primary} == {"one_draw"}:
        return t("No verdict yet: each step was trained once")
    return t("No step is shown to help")


def verdict(comparison: Comparison) -> list[Text]:
    """The answer to every primary question, on which tasks, and what was repeated for it."""
    if not comparison.tasks:
        return [t("No task was fine-tuned, so no step was compared.")]
    ranked = [starts.headline(each) for each in comparison.rankings]
    rows = matrix(comparison)
    if not rows:
        return ranked or [t("No step was compared on any task.")]
    answers = [
        _answer(row, comparison.worth)
        for row in rows
        if any(step.primary for _, step in row.answers if step is not None)
    ]
    if not answers:
        answers = [t("No primary question was asked, so there is no verdict.")]
    return [*ranked, *answers, *_several(comparison), repetition.once(comparison)]


def _answer(row: Row, worth: float) -> Text:
    """One question on all tasks: verdict after verdict, each with its differences and their intervals."""
    by_verdict: dict[Verdict, list[Text]] = {}
    for task, step in row.answers:
        if step is not None:
            by_verdict.setdefault(step.verdict, []).append(_size(task.name, step.difference))
    parts = [
        t("{name} ({of})", name=verdict_with(verdict, worth), of=joined(sizes, "; ", "；"))
        for verdict, sizes in by_verdict.items()
    ]
    return t("{question}: {answers}.", question=row.name, answers=joined(parts, "; ", "；"))


def _size(task: str, difference: Difference | None) -> Text:
    """A difference on a task in points, with its interval where there is one."""
    if difference is None:
        return same(task)
    mean, low, high = difference.mean, difference.low, difference.high
    if low is None or high is None:
        return t("{task} {mean:change} points", task=task, mean=mean)
    return t("{task} {mean:change} points, {low:change} to {high:change}", task=task, mean=mean, low=low, high=high)


def _several(comparison: Comparison) -> list[Text]:
    """Questions that several tasks answer with draws: in how many of them, at least, there is an effect."""
    sentences = []
    for each in comparison.replicated:
        of = f" ({each.base})" if len(comparison.bases) > 1 else EMPTY
        name = within(step_name(each.question, each.variant))
        for count, what in ((each.gains, t("a gain")), (each.losses, t("a loss"))):
            if count:
                sentences.append(
                    t(
                        "On at least {count} of these {tasks} tasks, {step}{of} brings {what}.",
                        count=count,
                        tasks=each.tasks,
                        step=name,
                        of=of,
                        what=what,
                    )
                )
    return sentences


def price(step: Step, task: Task) -> Text | None:
    """What the step costs in training beyond the arm without it; None where that is unknown."""
    arm, other = task.arm(step.arm), task.arm(step.other)
    if arm is None or other is None or arm.cost is None or other.cost is None:
        return None
    tokens = arm.cost.tokens - other.cost.tokens
    return t("{tokens:millions} M tokens", tokens=tokens) if tokens else t("same number of tokens")
