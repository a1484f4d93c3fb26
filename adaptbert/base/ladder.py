"""The section `ladder` of params.yaml: starts, arms and draws by name; adaptbert.base.plan makes rungs and cells.

A start is what all arms climb from. An arm says what is trained on top of it, and a draw repeats that with other seeds.
"""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction
from adaptbert.codes import Code
from adaptbert.errors import shortened

GENERAL = "general"
"""The corpus of general pre-training; further training on it is the control of domain transfer."""
NONE, OWN, ALL = "none", "own", "all"
RESERVED = (NONE, OWN, ALL, "true", "false", "null", "yes", "no", "on", "off")
"""Words of the schema and of YAML, so no start, corpus, task or arm can have these names."""


_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_NO_WORD = re.compile(r"[^\w]+")
_OF_NAMES = "names begin with a letter a-z and go on with a-z, 0-9 and _, 40 characters at most"


def is_name(text: str) -> bool:
    """Whether this can be the name of a start, a corpus, a task or an arm: part of the names of stages and files.

    Without `-`, which joins the names of a rung, so that no two rungs have one key.
    """
    return _NAME.fullmatch(text) is not None and text not in RESERVED


def plain(text: str) -> str:
    """The text in small letters, with `_` in place of what is no letter or digit; it may still be no name."""
    return _NO_WORD.sub("_", unicodedata.normalize("NFKC", text)).strip("_").lower()


def why_no_name(text: str, taken: Collection[str] = ()) -> tuple[str, str]:
    """The problem of a text that is no name, and the remedy: a name like it, where that is not taken."""
    if text in RESERVED:
        return f"'{text}' is a word of the ladder or of YAML", "give it another name"
    like = plain(text)
    offer = f"call it {like}: " if is_name(like) and like not in taken else ""
    return f"'{shortened(text)}' cannot be the name of a stage", offer + _OF_NAMES


def _checked(text: str) -> str:
    if not is_name(text):
        raise contradiction(*why_no_name(text), Code.BAD_NAME)
    return text


Name = Annotated[str, AfterValidator(_checked)]
Names = Annotated[list[Name], Field(max_length=bounds.NAMES)]


@dataclass(frozen=True)
class Climb:
    """What weights have been trained on.

    Attributes:
        is_random: whether they began at random instead of with general pre-training.
        corpora: of domain transfer, in order.
        with_task_text: whether task transfer follows.
    """

    is_random: bool = False
    corpora: tuple[str, ...] = ()
    with_task_text: bool = False


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class ArmConfig(Config):
    """What an arm is trained on before fine-tuning; an arm without keys is its start after general pre-training."""

    pretrain: Literal["none"] | None = None
    """`none`: random weights of the shape of the start."""
    domain_transfer: Annotated[Names, BeforeValidator(_listed)] = Field(default_factory=list)
    """A corpus, or several in a list, one after the other."""
    task_transfer: Literal["own"] | None = None
    """`own`: the training text of the task, without labels; it comes last."""
    again: Name | None = None
    """Another arm, whose rungs are trained once more with other seeds: an A/A control. It says no more than that, and
    which `tasks` and `starts` have it; left out: those of the other arm."""
    tasks: Names | None = None
    """Tasks that have this arm; left out: all."""
    starts: Names | None = None
    """Starts that have this arm; left out: all."""

    @model_validator(mode="after")
    def _is_again_alone(self) -> "ArmConfig":
        if self.again is not None and self.climb != Climb():
            remedy = f"leave out all but again: {self.again}; only tasks and starts may stand beside it"
            raise contradiction("'again' beside what an arm is trained on", remedy)
        return self

    @property
    def climb(self) -> Climb:
        """What it is trained on; of an arm with `again` in a `LadderConfig` that of the other arm."""
        return Climb(self.pretrain == NONE, tuple(self.domain_transfer), self.task_transfer is not None)


class TaskArms(Config):
    """The arms and starts of one task, where it has not all of them."""

    arms: Names | None = None
    """Arms that the task has; left out: all."""
    starts: Names | None = None
    """Starts that the task has; left out: all."""


def _filled(values: dict[str, Any]) -> dict[str, Any]:
    if not values:
        raise contradiction("empty, so nothing to compare", "add one, as in presets/demo.yaml", Code.UNKNOWN_KEY)
    return values


def _with_steps_of_others(arms: dict[str, ArmConfig]) -> dict[str, ArmConfig]:
    """The arms; those with `again` have the steps of the arm that it names."""
    resolved = dict(arms)
    for name, arm in arms.items():
        if arm.again is None:
            continue
        if (other := arms.get(arm.again)) is None or arm.again == name:
            problem = f"arms.{name}.again names '{arm.again}', which is no other arm"
            raise contradiction(problem, f"known: {', '.join(each for each in arms if each != name) or 'none'}")
        if other.again is not None:
            problem = f"arms.{name}.again names '{arm.again}', which repeats another arm itself"
            raise contradiction(problem, f"write again: {other.again}, and leave one of the two out")
        if not (other.climb.corpora or other.climb.with_task_text):
            problem = f"arms.{name}.again names '{arm.again}', which has no rung that is trained for each draw"
            raise contradiction(problem, "name an arm with domain_transfer or task_transfer, which says so itself")
        own = {key: values for key in ("tasks", "starts") if (values := getattr(arm, key)) is not None}
        resolved[name] = other.model_copy(update={"again": arm.again, **own})
    return resolved


class LadderConfig(Config):
    """Names of all starts and arms, and how often their rungs are trained."""

    draws: Annotated[int, Field(ge=1, le=bounds.RUNS)]
    """Every rung above general pre-training is trained so many times, each time with other seeds."""
    starts: Annotated[dict[Name, dict[str, Any]], AfterValidator(_filled)]
    """Public checkpoints or random weights; their values are read by `pretrain`."""
    arms: Annotated[dict[Name, ArmConfig], AfterValidator(_filled), AfterValidator(_with_steps_of_others)]
    tasks: dict[Name, TaskArms] = Field(default_factory=dict)
    """Tasks that do not have every arm and every start."""

    @model_validator(mode="after")
    def _names(self) -> "LadderConfig":
        for owner, named, known in self._references():
            for name in named:
                if name not in known:
                    raise contradiction(f"{owner} names '{name}', which is not there", f"known: {', '.join(known)}")
        return self

    def _references(self) -> list[tuple[str, list[str], list[str]]]:
        starts, arms = list(self.starts), list(self.arms)
        return [
            *((f"arms.{name}.starts", arm.starts or [], starts) for name, arm in self.arms.items()),
            *((f"tasks.{name}.arms", task.arms or [], arms) for name, task in self.tasks.items()),
            *((f"tasks.{name}.starts", task.starts or [], starts) for name, task in self.tasks.items()),
        ]

    @property
    def again(self) -> dict[str, str]:
        """A/A arm -> the arm whose rungs it trains once more."""
        return {name: arm.again for name, arm in self.arms.items() if arm.again is not None}

    def arms_of(self, task: str, start: str) -> dict[str, ArmConfig]:
        """The arms of a task from a start, in the order of params.yaml."""
        own = self.tasks.get(task, TaskArms())
        if own.starts is not None and start not in own.starts:
            return {}
        return {
            name: arm
            for name, arm in self.arms.items()
            if (own.arms is None or name in own.arms)
            and (arm.tasks is None or task in arm.tasks)
            and (arm.starts is None or start in arm.starts)
        }
