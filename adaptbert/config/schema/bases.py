"""Bases, arms: what all weights begin with, and which steps precede fine-tuning."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from adaptbert.codes import Code
from adaptbert.config.schema.section import Contradiction, Name, Section

FOLDERS = "models/init/"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
MOST_WEIGHTS = 20_000_000_000
"""Parameters of the largest encoder: 80 GB in float32, before gradients and the two moments of the optimizer."""
_SIZES = "{layers: 2, hidden_size: 256, heads: 4, intermediate_size: 1024, max_positions: 512}"


def is_hub_name(text: str) -> bool:
    """Whether this can be the name of a model on the hub, `bert-base-chinese` or `hfl/rbt3`; else it is a path."""
    return _HUB_NAME.fullmatch(text) is not None and not text.startswith("models/")


class Base(Section):
    """A public checkpoint, or the sizes of a BERT with random weights (Devlin et al. 2019, section 3), at most those of
    the largest language models: 96 layers, 16,384 wide.

    A text is the checkpoint: `base: google-bert/bert-base-chinese`.
    """

    checkpoint: Annotated[str, Field(min_length=1)] | None = None
    """The name of a model on the hub, or a Hugging Face folder, `models/init/<base>`."""
    revision: Annotated[str, Field(min_length=1)] | None = None
    """Version of a model on the hub: a commit, a tag or a branch; left out: `main`, which may move."""
    layers: Annotated[int, Field(ge=1, le=96)] | None = None
    """Transformer layers. This and the other sizes are those of random weights; a checkpoint brings its own."""
    hidden_size: Annotated[int, Field(ge=8, le=16_384)] | None = None
    """Width of the encoder."""
    heads: Annotated[int, Field(ge=1, le=1_024)] | None = None
    """Attention heads; they divide `hidden_size`."""
    intermediate_size: Annotated[int, Field(ge=8, le=65_536)] | None = None
    """Width of the feed-forward layers."""
    max_positions: Annotated[int, Field(ge=8, le=8_192)] | None = None
    """Tokens of the longest document that it can read."""

    def _agree(self) -> None:
        layers, hidden, heads, intermediate = self.layers, self.hidden_size, self.heads, self.intermediate_size
        if self.checkpoint is not None:
            if any(size is not None for size in (layers, hidden, heads, intermediate, self.max_positions)):
                problem = f"checkpoint is {self.checkpoint} and sizes are given"
                raise Contradiction(problem, "take the sizes out: a checkpoint brings its own")
            if self.revision is not None and self.is_folder:
                problem = f"checkpoint is {self.checkpoint} and revision is given"
                raise Contradiction(problem, "take it out: it is of a model on the hub")
            return
        if not (layers and hidden and heads and intermediate and self.max_positions) or self.revision is not None:
            raise Contradiction("neither a checkpoint nor all sizes", f"name a checkpoint, or write {_SIZES}")
        if remainder := hidden % heads:
            fewer = next(number for number in range(heads, 0, -1) if hidden % number == 0)
            problem = f"hidden_size {hidden} % heads {heads} = {remainder}, not 0"
            raise Contradiction(problem, f"write heads: {fewer}, or a hidden_size that {heads} divides")
        weights = layers * (4 * hidden**2 + 2 * hidden * intermediate)
        if weights > MOST_WEIGHTS:
            problem = f"{weights:,} weights in {layers} layers, more than {MOST_WEIGHTS:,}"
            raise Contradiction(problem, "write smaller sizes; BERT-base has 12 layers of 768 and 3072")

    @property
    def is_random(self) -> bool:
        return self.checkpoint is None

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of this project, and no name on the hub."""
        return self.checkpoint is not None and not is_hub_name(self.checkpoint)


BaseValue = Annotated[Base, BeforeValidator(lambda value: {"checkpoint": value} if isinstance(value, str) else value)]

GENERAL, DOMAIN = "general", "domain"
"""The corpus of general pre-training, of the control of domain transfer, and of what domain transfer replays; the usual
name of the other. A project may have neither."""
TRANSFERS = DOMAIN_TRANSFER, TASK_TRANSFER = ("domain_transfer", "task_transfer")
"""The steps that an arm can have, in their order: a key of `Arm`, a stage and a table of the plan each."""
RANDOM = "none"
"""Stands in the key of a checkpoint before its corpora where the weights began at random."""


@dataclass(frozen=True)
class TrainedOn:
    """What weights have been trained on.

    Attributes:
        is_random: whether they began at random instead of with general pre-training.
        corpora: of domain transfer, in order.
        with_task_text: whether task transfer follows.
    """

    is_random: bool = False
    corpora: tuple[str, ...] = ()
    with_task_text: bool = False

    @property
    def steps(self) -> tuple[str, ...]:
        """Steps of `TRANSFERS` that it has, in their order."""
        return (DOMAIN_TRANSFER,) * len(self.corpora) + (TASK_TRANSFER,) * self.with_task_text

    def after(self, step: str, corpus: str) -> "TrainedOn":
        """This with one step more."""
        if step == TASK_TRANSFER:
            return replace(self, with_task_text=True)
        return replace(self, corpora=(*self.corpora, corpus))

    def names(self, task: str) -> dict[str, str]:
        """What its last step is made of."""
        return {"task": task} if self.with_task_text else {"corpus": self.corpora[-1]}

    def path(self, task: str) -> list[str]:
        """Parts of the name of its checkpoint: task (of task transfer), corpora."""
        return [*([task] if self.with_task_text else []), *([RANDOM] if self.is_random else []), *self.corpora]


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Names = Annotated[list[Name], Field(min_length=1, max_length=100)]


class Arm(Section):
    """The steps before fine-tuning; an arm without keys is its base after general pre-training."""

    pretrain: Literal["none"] | None = None
    """`none`: random weights of the sizes of the base."""
    domain_transfer: Annotated[list[Name], BeforeValidator(_listed), Field(max_length=100)] = []
    """A corpus, or several in a list, one after the other."""
    task_transfer: Literal["own"] | None = None
    """`own`: the training text of the task, without labels; it comes last."""
    tasks: Names | None = None
    """Tasks that have this arm; left out: all."""
    bases: Names | None = None
    """Bases that have this arm; left out: all."""

    @property
    def trained_on(self) -> TrainedOn:
        """What it is trained on."""
        return TrainedOn(self.pretrain == "none", tuple(self.domain_transfer), self.task_transfer is not None)

    def names(self) -> dict[str, tuple[str, list[str]]]:
        """Key -> the kind of what it names, and these names."""
        return {
            "domain_transfer": ("corpus", self.domain_transfer),
            "tasks": ("task", self.tasks or []),
            "bases": ("base", self.bases or []),
        }

    def is_of(self, task: str, base: str) -> bool:
        """Whether a task has it from a base."""
        return (self.tasks is None or task in self.tasks) and (self.bases is None or base in self.bases)


ARMS: Mapping[str, dict[str, Any]] = {
    "scratch": {"pretrain": "none"},
    "general": {},
    "general_long": {"domain_transfer": GENERAL},
    "domain": {"domain_transfer": DOMAIN},
    "task": {"task_transfer": "own"},
    "domain_task": {"domain_transfer": DOMAIN, "task_transfer": "own"},
    "scratch_task": {"pretrain": "none", "task_transfer": "own"},
    "general_long_task": {"domain_transfer": GENERAL, "task_transfer": "own"},
}
"""Arms that a list can name."""


def usual_arms(corpora: Collection[str]) -> list[str]:
    """All that the corpora allow; `general_long` where there is domain text that it is the control of."""
    of_domain = ["domain"] if DOMAIN in corpora else []
    control = ["general_long"] if of_domain and GENERAL in corpora else []
    return ["general", *control, *of_domain, "task", *(f"{arm}_task" for arm in of_domain)]


def _spelled_out(value: object) -> object:
    """A list of known names, and of mappings of others, as one mapping."""
    if not isinstance(value, list):
        return value
    arms: dict[Any, Any] = {}
    for each in value:
        if isinstance(each, str) and each not in ARMS:
            remedy = f"known: {', '.join(ARMS)}; write others as {{{each}: {{domain_transfer: CORPUS}}}}"
            raise Contradiction(f"'{each}' is none of the arms that a list can name", remedy, Code.UNKNOWN_KEY)
        if not isinstance(each, str | dict):
            return value
        arms |= {each: ARMS[each]} if isinstance(each, str) else each
    return arms


Arms = Annotated[dict[Name, Arm], BeforeValidator(_spelled_out), Field(min_length=1)]
