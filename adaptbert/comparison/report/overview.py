"""All tasks -> the start of the page: on how many tasks each step gained, and a matrix step x task."""

from dataclasses import dataclass

from adaptbert.comparison.questions import QUESTIONS
from adaptbert.comparison.records import Comparison, Step, Task
from adaptbert.comparison.report.terms import Words, listed, millions, step_name, within

SHOWN = {"gain": Words("A gain was shown", "证实有提升"), "loss": Words("A loss was shown", "证实有下降")}


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

    @property
    def judged(self) -> list[Step]:
        """The steps that could be tested."""
        return [step for _, step in self.answers if step is not None and step.verdict != "untested"]

    def count(self, verdict: str) -> int:
        return sum(step.verdict == verdict for step in self.judged)


def matrix(comparison: Comparison) -> list[Row]:
    """The rows, in the order of the questions; a step that several tasks have is one row."""
    questions = {step.name: step.question for task in comparison.tasks for step in task.steps}
    names = sorted(questions, key=lambda name: list(QUESTIONS).index(questions[name]))
    rows = []
    for name in names:
        answers = [(task, task.step(name)) for task in comparison.tasks]
        arms = dict.fromkeys(f"{step.arm} − {step.other}" for _, step in answers if step is not None)
        rows.append(Row(step_name(questions[name], name), list(arms), answers))
    return rows


def verdict(comparison: Comparison) -> list[Words]:
    """Which steps gained and lost, and on how many of the tasks on which they could be tested."""
    rows = matrix(comparison)
    if not comparison.tasks:
        return [Words("No task was fine-tuned, so no step was compared.", "没有微调任何任务，因此没有比较任何一步。")]
    if not rows:
        return [Words("No step was compared on any task.", "在所有任务上都没有比较任何一步。")]
    judged = [row for row in rows if row.judged]
    sentences = []
    for what, lead in SHOWN.items():
        if parts := [_count(row, row.count(what)) for row in judged if row.count(what)]:
            sentences.append(Words(f"{lead.en} for {listed(parts).en}.", f"{lead.zh}：{listed(parts).zh}。"))
    if neither := [_count(row, None) for row in judged if not any(row.count(what) for what in SHOWN)]:
        names = listed(neither)
        sentences.append(Words(f"Neither gain nor loss was shown for {names.en}.", f"提升与下降均未证实：{names.zh}。"))
    if unjudged := [within(row.name) for row in rows if not row.judged]:
        names = listed(unjudged)
        sentences.append(Words(f"Not testable on any task: {names.en}.", f"在任何任务上都无法检验：{names.zh}。"))
    if judged:
        sentences.append(
            Words(
                "Only fine-tuning was repeated, over seeds. Each rung was trained once; training it again may give "
                "another result.",
                "重复的只有微调（换种子）；每一级只训练了一次，重新训练可能得到不同的结果。",
            )
        )
    return sentences


def _count(row: Row, shown: int | None) -> Words:
    """A step with the number of tasks on which it could be tested, and on how many of them a result was shown."""
    n = len(row.judged)
    tasks = f"{n} task{'s' * (n != 1)}"
    if shown is None:
        return Words(f"{within(row.name).en} ({tasks})", f"{row.name.zh}（{n} 个任务）")
    return Words(f"{within(row.name).en} on {shown} of {tasks}", f"{row.name.zh}（{n} 个任务中的 {shown} 个）")


def price(step: Step, task: Task) -> Words | None:
    """What the step costs in training beyond the arm without it; None where that is unknown."""
    arm, other = task.arm(step.arm), task.arm(step.other)
    if arm is None or other is None or arm.cost is None or other.cost is None:
        return None
    tokens = arm.cost.tokens - other.cost.tokens
    if tokens == 0:
        return Words("same number of tokens", "词元数相同")
    return Words(f"{millions(tokens)} M tokens", f"{millions(tokens)} 百万词元")
