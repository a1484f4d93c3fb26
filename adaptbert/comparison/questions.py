"""The roles that an arm can have, and which roles are compared: the names of arms do not matter."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from adaptbert.config.schema.bases import ARMS, DOMAIN, GENERAL, Arm, TrainedOn
from adaptbert.config.schema.comparison import Compare


def _written(steps: Mapping[str, str]) -> str:
    shown = (f"{step}: {'<corpus>' if what == DOMAIN else what}" for step, what in steps.items())
    return f"{{{', '.join(shown)}}}"


ROLES = {name: _written(steps) for name, steps in ARMS.items()}
"""Role -> how an arm that has it is written. An arm with the name of a role must have it."""
_ROLE_OF = {Arm.model_validate(steps).trained_on: name for name, steps in ARMS.items()}
RECIPE = "recipe"
QUESTIONS: Mapping[str, Sequence[tuple[str, str]]] = {
    RECIPE: [
        *((top, "general") for top in ("domain_task", "domain", "task")),
        *((top, "scratch") for top in ("domain_task", "domain", "task", "scratch_task")),
    ],
    "domain_transfer": [("domain", "general")],
    "task_transfer": [
        ("domain_task", "domain"),
        ("task", "general"),
        ("general_long_task", "general_long"),
        ("scratch_task", "scratch"),
    ],
    "domain_text": [("domain", "general_long")],
    "pretrain": [("general", "scratch")],
    "more_training": [("general_long", "general")],
}
"""Question -> the roles that answer it, with what is asked for and without. `recipe` is all steps beside the base that
is fine-tuned directly, and takes the first pair that is there. `domain_transfer` = `more_training` + `domain_text`."""
BASELINES = ("majority", "tfidf_logistic", "tfidf_ridge", "question_overlap", "word_majority", "window_logistic")
DIFFERENCES = "differences"
NO_ARMS = {DIFFERENCES: "a section of metrics/metrics.json", **dict.fromkeys(BASELINES, "a baseline")}
"""Name beside those of arms in metrics/metrics.json, which no arm can have -> what it is."""
Arms = Mapping[str, TrainedOn]
"""The arms of a task from one base: name -> what its checkpoint was trained on."""


@dataclass(frozen=True)
class Pair:
    """A question about two arms of a task.

    Attributes:
        arm, other: with what is asked for and without.
        variant: the arm, where it is not the one that the question is about first: a second domain corpus, or task
            transfer that does not follow domain transfer.
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
        question: that it would answer beside an arm that is in none.
        there: the arm of other tasks or bases that is just this one; None: no arm is.
    """

    role: str
    question: str
    there: str | None = None


def role(trained_on: TrainedOn) -> str | None:
    """A key of `ROLES`; None: what no comparison knows: domain transfer of random weights."""
    corpus = GENERAL if set(trained_on.corpora) == {GENERAL} else DOMAIN
    return _ROLE_OF.get(replace(trained_on, corpora=(corpus,) if trained_on.corpora else ()))


def question(trained_on: TrainedOn, other: TrainedOn) -> str | None:
    """The question about one step that two arms answer by what they were trained on; None where they differ by more.

    Task transfer is compared only with the checkpoint that it began with.
    """
    if trained_on.with_task_text and other != replace(trained_on, with_task_text=False):
        return None
    roles = role(trained_on), role(other)
    return next((name for name, pairs in QUESTIONS.items() if name != RECIPE and roles in pairs), None)


def answered(arms: Arms, variants: Collection[str], compare: Compare) -> list[Pair]:
    """Every question that arms of a task answer: about steps, and those that params.yaml names itself.

    Args:
        variants: those with options of their own in `finetune`, e.g. a frozen encoder. Beside an arm without them, more
            than a step differs.
    """
    alike = {name: trained_on for name, trained_on in arms.items() if name not in variants}
    named = [Pair(name, arm, other) for name, (arm, other) in compare.questions.items() if {arm, other} <= arms.keys()]
    return [*pairs(alike, compare.order), *named]


def pairs(arms: Arms, order: Sequence[str] = tuple(QUESTIONS)) -> list[Pair]:
    """Every question about steps that two of the arms answer. Two arms answer one question, the first in this order."""
    found: dict[tuple[str, str], Pair] = {}
    for name in dict.fromkeys([*(name for name in order if name in QUESTIONS), *QUESTIONS]):
        by_roles = [_with_roles(arms, roles) for roles in QUESTIONS[name]]
        if name == RECIPE:
            both = next(filter(None, by_roles), [])
        else:
            both = [each for several in by_roles for each in several if question(*map(arms.__getitem__, each)) == name]
        for place, each in enumerate(both):
            found.setdefault(each, Pair(name, *each, variant=each[0] if place else None))
    return [*found.values()]


def _with_roles(arms: Arms, roles: tuple[str, str]) -> list[tuple[str, str]]:
    """Arms that have these roles; one that is called by its role comes first."""
    by_name = sorted(arms, key=lambda name: name not in roles)
    with_it, without = ([name for name in by_name if role(arms[name]) == each] for each in roles)
    return list(product(with_it, without))


def asked(pairs: Sequence[Pair], order: Sequence[str]) -> list[Pair]:
    """Pairs of one task that are tested, in this order of their names."""
    by_name = {pair.name: pair for pair in pairs}
    return [by_name[name] for name in dict.fromkeys(order) if name in by_name]


def advice(arms: Arms, beside: str, every: Arms | None = None) -> Advice | None:
    """The arm that would be compared with this one, which is in no question itself.

    None only for arms without a role: without random weights, general pre-training and the checkpoint before a task
    transfer there is always one to add.

    Args:
        every: the arms of all tasks and bases, one of which may be the arm to add.
    """
    there = {trained_on: name for name, trained_on in (every or {}).items()}
    order, candidates, own = list(QUESTIONS), [], arms[beside]
    below = replace(own, with_task_text=False)
    for trained_on in dict.fromkeys([TrainedOn(is_random=True), TrainedOn(), TrainedOn(corpora=(GENERAL,)), below]):
        asked, named = question(trained_on, own) or question(own, trained_on), role(trained_on)
        if asked is not None and trained_on not in arms.values() and named is not None:
            candidates.append(Advice(named, asked, there.get(trained_on)))
    return min(candidates, key=lambda each: order.index(each.question), default=None)
