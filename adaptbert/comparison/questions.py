"""The roles that an arm can have, and which roles are compared: the names of arms do not matter."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from adaptbert.config.schema.bases import GENERAL, Climb

ROLES = {
    "scratch": "{pretrain: none}",
    "general": "{}",
    "general_long": f"{{domain_transfer: {GENERAL}}}",
    "domain": "{domain_transfer: <corpus>}",
    "task": "{task_transfer: own}",
    "domain_task": "{domain_transfer: <corpus>, task_transfer: own}",
    "scratch_task": "{pretrain: none, task_transfer: own}",
    "general_long_task": f"{{domain_transfer: {GENERAL}, task_transfer: own}}",
}
"""Role -> how an arm that has it is written. An arm with the name of a role must have it."""

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

Arms = Mapping[str, Climb]
"""The arms of a task from one start: name -> climb."""


@dataclass(frozen=True)
class Pair:
    """A question about two arms of a task.

    Attributes:
        arm, other: with the step and without it.
        variant: the arm, where it is not called by its role, so that several domain corpora are several steps.
    """

    question: str
    arm: str
    other: str
    variant: str | None = None

    @property
    def name(self) -> str:
        """The question; with its variant behind it: `domain_transfer/news`."""
        return f"{self.question}/{self.variant}" if self.variant else self.question


@dataclass(frozen=True)
class Advice:
    """One more arm that a task could have.

    Attributes:
        role: a key of `ROLES`.
        beside: arms that the new one would be compared with.
        questions: one for each of these arms, that the new arm would answer.
        there: the arm of the ladder that is just this one, and that this task or this start has not; None: no arm is.
    """

    role: str
    beside: list[str]
    questions: list[str]
    there: str | None = None


def role(climb: Climb) -> str | None:
    """A key of `ROLES`; None: a climb that no comparison knows, domain transfer of random weights."""
    if climb.is_random and climb.corpora:
        return None
    if climb.is_random:
        below = "scratch"
    elif not climb.corpora:
        below = "general"
    else:
        below = "general_long" if set(climb.corpora) == {GENERAL} else "domain"
    return _WITH_TASK_TEXT[below] if climb.with_task_text else below


def question(climb: Climb, other: Climb) -> str | None:
    """The question that arms with these climbs answer; None where they differ by more than one step.

    Task transfer is compared only with the rung that it started from.
    """
    if climb.with_task_text and other != replace(climb, with_task_text=False):
        return None
    roles = role(climb), role(other)
    return next((name for name, pair in QUESTIONS.items() if pair == roles), None)


def without_variants(arms: Arms, with_options: Collection[str]) -> Arms:
    """The arms that questions about steps compare.

    A variant has options of its own in `finetune`, e.g. a frozen encoder. Beside an arm without them, more than a step
    differs.
    """
    return {name: climb for name, climb in arms.items() if name not in with_options}


def named_pairs(arms: Collection[str], named: Mapping[str, Sequence[str]]) -> list[Pair]:
    """The pairs of arms that params.yaml names itself, of those that this task has.

    Args:
        named: question -> the arm and the other.
    """
    return [Pair(name, arm, other) for name, (arm, other) in named.items() if arm in arms and other in arms]


def pairs(arms: Arms) -> list[Pair]:
    """Every question that two of the arms answer, in the order of `QUESTIONS`."""
    answered = [
        (name, arm, other)
        for arm, climb in arms.items()
        for other, below in arms.items()
        if (name := question(climb, below)) is not None
    ]
    answered.sort(key=lambda each: list(QUESTIONS).index(each[0]))
    return [Pair(name, arm, other, None if arm == QUESTIONS[name][0] else arm) for name, arm, other in answered]


def uncompared(arms: Arms) -> list[str]:
    """Arms that are in no question."""
    compared = {name for pair in pairs(arms) for name in (pair.arm, pair.other)}
    return [arm for arm in arms if arm not in compared]


def advice_of(arms: Arms, variants: Collection[str | None], named: Sequence[Pair], ladder: Arms) -> list[Advice]:
    """One piece of advice for the whole task where no arm is in a step, else one for each arm that is in none.

    Args:
        arms: those that questions about steps compare.
        variants: roles of arms that are there and fine-tuned otherwise; another arm of the same role is no help.
        named: pairs that params.yaml names itself; their arms are compared.
        ladder: the arms of all tasks and starts.
    """
    compared = {name for pair in named for name in (pair.arm, pair.other)}
    alone = [arm for arm in uncompared(arms) if arm not in compared]
    groups = [alone] if alone and len(alone) == len(arms) else [[arm] for arm in alone]
    pieces = [advice(arms, group, ladder) for group in groups]
    return [more for more in pieces if more is not None and more.role not in variants]


def advice(arms: Arms, beside: Sequence[str], ladder: Arms | None = None) -> Advice | None:
    """The arm that would be compared with most of these arms, which are in no question themselves.

    None only for climbs without a role: without random weights, general pre-training and the climb below a task
    transfer there is always one to add.

    Args:
        ladder: the arms of all tasks and starts, one of which may be the arm to add.
    """
    there = {climb: name for name, climb in (ladder or {}).items()}
    order, candidates = list(QUESTIONS), []
    below = [replace(arms[arm], with_task_text=False) for arm in beside]
    for climb in dict.fromkeys([Climb(is_random=True), Climb(), Climb(corpora=(GENERAL,)), *below]):
        questions = {arm: question(climb, arms[arm]) or question(arms[arm], climb) for arm in beside}
        answers = {arm: name for arm, name in questions.items() if name is not None}
        named = role(climb)
        if answers and climb not in arms.values() and named is not None:
            candidates.append(Advice(named, list(answers), list(answers.values()), there.get(climb)))
    return min(candidates, key=lambda each: (-len(each.beside), min(map(order.index, each.questions))), default=None)
