"""The roles that a rung can have, and which roles are compared: the names of arms do not matter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adaptbert.base.ladder import GENERAL, PRETRAIN, SCRATCH, LadderConfig

ROLES = {
    "scratch": SCRATCH,
    "general": PRETRAIN,
    "general_long": f"domain_transfer/{GENERAL}",
    "domain": "domain_transfer/<corpus>",
    "task": f"task_transfer/<task>-<from> from {PRETRAIN}",
    "domain_task": "task_transfer/<task>-<from> from domain_transfer/<corpus>",
    "scratch_task": f"task_transfer/<task>-<from> from {SCRATCH}",
    "general_long_task": f"task_transfer/<task>-<from> from domain_transfer/{GENERAL}",
}
"""Role of a rung -> the rungs that have it. An arm with the name of a role starts from a rung of that role."""

_WITH_TASK_TEXT = {
    "scratch": "scratch_task",
    "general": "task",
    "general_long": "general_long_task",
    "domain": "domain_task",
}

QUESTIONS = {
    "pretrain": ("general", "scratch"),
    "more_training": ("general_long", "general"),
    "domain_transfer": ("domain", "general"),
    "domain_text": ("domain", "general_long"),
    "task_transfer": ("task", "general"),
    "task_transfer_after_domain": ("domain_task", "domain"),
    "task_transfer_after_general_long": ("general_long_task", "general_long"),
    "task_transfer_from_scratch": ("scratch_task", "scratch"),
    "climb": ("domain", "scratch"),
}
"""Question -> the role with the step and the role without it. `domain_transfer` = `more_training` + `domain_text`."""


@dataclass(frozen=True)
class Pair:
    """A question about two arms of a task.

    Attributes:
        step: the question; with the arm behind it where the arm is not called by its role (`domain_transfer/news`), so
            that several domain corpora are several steps.
        arm, other: with the step and without it.
    """

    step: str
    question: str
    arm: str
    other: str


@dataclass(frozen=True)
class Advice:
    """A rung of the ladder that one more arm of a task could start from.

    Attributes:
        beside: arms that the new one would be compared with.
        questions: one for each of these arms, that the new arm would answer.
    """

    rung: str
    role: str
    beside: list[str]
    questions: list[str]


def role(rung: str, start: str | None) -> str:
    """The role of a rung, a key of `ROLES`; it does not depend on the names of arms.

    Args:
        start: the rung whose weights it began with.
    """
    stage, _, corpus = rung.partition("/")
    if stage == "task_transfer" and start is not None:
        return _WITH_TASK_TEXT[role(start, None)]
    if stage == "domain_transfer":
        return "general_long" if corpus == GENERAL else "domain"
    return {SCRATCH: "scratch", PRETRAIN: "general"}[rung]


def question(rung: str, other: str, starts: Mapping[str, str | None]) -> str | None:
    """The question that arms from `rung` and `other` answer; None where they differ by more than one step.

    Task transfer is compared only with the rung that it started from.

    Args:
        starts: rung -> the rung that it starts from.
    """
    if rung.startswith("task_transfer/") and starts[rung] != other:
        return None
    roles = (role(rung, starts[rung]), role(other, starts[other]))
    return next((name for name, pair in QUESTIONS.items() if pair == roles), None)


def pairs(ladder: LadderConfig, task: str) -> list[Pair]:
    """Every question that two arms of the task answer, in the order of `QUESTIONS`."""
    starts, arms = ladder.starts(), ladder.arms_of(task)
    answered = [
        (name, arm, other)
        for arm, rung in arms.items()
        for other, beside in arms.items()
        if (name := question(rung, beside, starts)) is not None
    ]
    answered.sort(key=lambda each: list(QUESTIONS).index(each[0]))
    return [
        Pair(name if arm == QUESTIONS[name][0] else f"{name}/{arm}", name, arm, other) for name, arm, other in answered
    ]


def uncompared(ladder: LadderConfig, task: str) -> list[str]:
    """Arms of the task that are in no question."""
    compared = {name for pair in pairs(ladder, task) for name in (pair.arm, pair.other)}
    return [arm for arm in ladder.arms_of(task) if arm not in compared]


def advice(ladder: LadderConfig, task: str, beside: Sequence[str]) -> Advice:
    """The rung whose arm would be compared with most of these arms, which are in no question themselves.

    There always is one: random weights and general pre-training are in every ladder, and so is the rung that a task
    transfer started from.
    """
    starts, arms = ladder.starts(), ladder.arms_of(task)
    order, candidates = list(QUESTIONS), []
    for rung in starts:
        text = ladder.task_transfer.get(rung.removeprefix("task_transfer/"))
        if rung in arms.values() or (text is not None and text.task != task):
            continue
        questions = {arm: question(rung, arms[arm], starts) or question(arms[arm], rung, starts) for arm in beside}
        answers = {arm: name for arm, name in questions.items() if name is not None}
        if answers:
            candidates.append(Advice(rung, role(rung, starts[rung]), list(answers), list(answers.values())))
    return min(candidates, key=lambda each: (-len(each.beside), min(map(order.index, each.questions))))
