"""All tasks -> the start of the page: the answer to each primary question, and a matrix step x task."""

from dataclasses import dataclass

from adaptbert.comparison.questions import QUESTIONS
from adaptbert.comparison.records import Comparison, Step, Task
from adaptbert.report.sentences import repetition, starts
from adaptbert.report.sentences.steps import verdict_with
from adaptbert.report.terms import Words, change, millions, same, step_name, within
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.verdicts import GAINS, Verdict


@dataclass(frozen=True)
class Row:
    """The results of one step on every task.

    Attributes:
        arms: the compared arms, by their own names; tasks may name them differently.
        answers: task, its step; None where the task has no such two arms.
    """

    name: Words
    arms: list[str]
    answers: list[tuple[Task, Step | None]]


def matrix(comparison: Comparison) -> list[Row]:
    """The rows, in the order of the questions; a step that several tasks have is one row."""
    questions = {step.name: step.question for task in comparison.tasks for step in task.steps}
    order = [*QUESTIONS, *questions.values()]  # those that params.yaml names come last
    names = sorted(questions, key=lambda name: order.index(questions[name]))
    rows = []
    for name in names:
        answers = [(task, task.step(name)) for task in comparison.tasks]
        arms = dict.fromkeys(f"{step.arm} − {step.other}" for _, step in answers if step is not None)
        rows.append(Row(step_name(questions[name], name), list(arms), answers))
    return rows


def heading(comparison: Comparison) -> Words:
    """Of the page: a question only where an answer names a step."""
    steps = [step for task in comparison.tasks for step in task.steps]
    if any(step.verdict in GAINS for step in steps):
        return Words("Which steps helped?", "哪些步骤有效？")
    if comparison.draws == 1 and {step.verdict for step in steps if step.primary} == {"one_draw"}:
        return Words("No verdict yet: each step was trained once", "尚无结论：每一步只训练了一次")
    return Words("No step is shown to help", "没有证实任何步骤有效")


def verdict(comparison: Comparison) -> list[Words]:
    """The answer to every primary question, on which tasks, and what was repeated for it."""
    if not comparison.tasks:
        return [Words("No task was fine-tuned, so no step was compared.", "没有微调任何任务，因此没有比较任何一步。")]
    ranked = [starts.headline(each) for each in comparison.rankings]
    rows = matrix(comparison)
    if not rows:
        return ranked or [Words("No step was compared on any task.", "在所有任务上都没有比较任何一步。")]
    answers = [
        _answer(row, comparison.worth)
        for row in rows
        if any(step.primary for _, step in row.answers if step is not None)
    ]
    if not answers:
        answers = [
            Words(
                "No primary question was asked: the arms that it compares are not there. The differences below are "
                "described, without a verdict.",
                "没有主要问题：缺少它所比较的组。下面只描述各项差别，不下结论。",
            )
        ]
    return [*ranked, *answers, *_several(comparison), repetition.once(comparison)]


def _answer(row: Row, worth: float) -> Words:
    """One question on all tasks: verdict after verdict, each with its differences and their intervals."""
    by_verdict: dict[Verdict, list[Words]] = {}
    for task, step in row.answers:
        if step is not None:
            by_verdict.setdefault(step.verdict, []).append(_size(task.name, step.difference))
    parts = [
        Words(
            f"{name.en} ({'; '.join(each.en for each in sizes)})",
            f"{name.zh}（{'；'.join(each.zh for each in sizes)}）",
        )
        for name, sizes in ((verdict_with(verdict, worth), sizes) for verdict, sizes in by_verdict.items())
    ]
    return Words(
        f"{row.name.en}: {'; '.join(part.en for part in parts)}.",
        f"{row.name.zh}：{'；'.join(part.zh for part in parts)}。",
    )


def _size(task: str, difference: Difference | None) -> Words:
    """A difference on a task in points, with its interval where there is one."""
    if difference is None:
        return same(task)
    mean = f"{task} {change(difference.mean)}"
    if difference.low is None or difference.high is None:
        return Words(f"{mean} points", f"{mean} 分")
    low, high = change(difference.low), change(difference.high)
    return Words(f"{mean} points, {low} to {high}", f"{mean} 分，{low} 到 {high}")


def _several(comparison: Comparison) -> list[Words]:
    """Questions that several tasks answer with draws: in how many of them, at least, there is an effect."""
    sentences = []
    for each in comparison.on_several:
        question, _, _ = each.question.partition("/")
        name, of = step_name(question, each.question), f" ({each.start})" if len(comparison.starts) > 1 else ""
        for count, what in ((each.gains, Words("a gain", "提升")), (each.losses, Words("a loss", "下降"))):
            if count:
                sentences.append(
                    Words(
                        f"On at least {count} of these {each.tasks} tasks, {within(name).en}{of} brings {what.en}.",
                        f"在这 {each.tasks} 个任务中的至少 {count} 个上，{name.zh}{of}带来{what.zh}。",
                    )
                )
    return sentences


def price(step: Step, task: Task) -> Words | None:
    """What the step costs in training beyond the arm without it; None where that is unknown."""
    arm, other = task.arm(step.arm), task.arm(step.other)
    if arm is None or other is None or arm.cost is None or other.cost is None:
        return None
    tokens = arm.cost.tokens - other.cost.tokens
    if tokens == 0:
        return Words("same number of tokens", "词元数相同")
    return Words(f"{millions(tokens)} M tokens", f"{millions(tokens)} 百万词元")
