"""card.json, typed: the provenance of a checkpoint, and of a fine-tuned one how it encodes and decodes its task."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from adaptbert.codes import Code
from adaptbert.config.plan import SCRATCH
from adaptbert.config.schema.task_types import SPECS, Target, TaskType, Type
from adaptbert.core.files import file_digest
from adaptbert.core.record import Number, Record, validated
from adaptbert.errors import BadData
from adaptbert.model.checkpoint_files import CONFIG, COPY, WEIGHTS

CARD = "card.json"
_OURS = {"stage", "rung", "weights", "tokenizer"}
"""Keys of the cards of this project; a card with two of them counts as one of this project."""

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class CardRecord(Record):
    """A part of a card; unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore")


class TaskCard(CardRecord):
    """How a task was read when the checkpoint was evaluated."""

    name: str
    type: Type
    labels: list[str]
    range: list[Number] | None = None
    """For regression: the least and the largest training value."""
    no_answer: bool | None = None
    replace: list[Annotated[list[str], Field(min_length=2, max_length=2)]] | None = None
    positive: str | None = None
    options: dict[str, Any]
    """Of the task type; see `adaptbert.tasks.heads.from_card`."""
    max_length: Annotated[int, Field(ge=3, le=1_000_000)]
    tuned: dict[str, Number]

    @property
    def shape(self) -> TaskType:
        """What a row holds."""
        return SPECS[self.type].task_type

    @property
    def target(self) -> Target:
        """What is predicted."""
        return SPECS[self.type].target

    @model_validator(mode="after")
    def _agree(self) -> "TaskCard":
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("a label twice")
        return self


_OF_A_TASK = {name for name, field in TaskCard.model_fields.items() if field.is_required()}


class Provenance(CardRecord):
    """The provenance of the weights of a rung or a cell."""

    stage: str
    rung: str
    """Its folder below models/, which names base and replicate: `finetune/section-domain-small-1`."""
    params: dict[str, Any]
    task: TaskCard | None = None
    """Of a cell."""
    init: str | None
    """Digest of the checkpoint that training began from; None: random weights."""
    texts: list[dict[str, Any]] | None = None
    """The ledger: all text that the weights have seen, oldest first."""
    measured: dict[str, dict[str, float]] | None = None
    """By held-out text."""
    vocabulary: dict[str, str | int] | None = None
    """Where it was extended in this rung: from which tokenizer, by how many tokens."""
    random_head: bool | None = None
    """Whether the head of masked-language modelling is still at chance level; only where it began untrained."""


class Card(Provenance):
    """card.json."""

    weights: Digest | None
    """Of model.safetensors; None: an architecture, whose weights are drawn by whoever trains it."""
    config: Digest
    """Of config.json."""
    tokenizer: Digest


def read_card(values: Mapping[str, Any], file: Path) -> Card | None:
    """The checked values of a card; None for a card of another project.

    Raises:
        BadData: values are missing or of another type; or `weights` is null for a rung that was trained.
    """
    if len(_OURS & values.keys()) < 2:
        return None
    task = values.get("task")
    if isinstance(task, Mapping) and _OF_A_TASK - task.keys():
        raise incomplete_task(file)
    card = validated(Card, values, file, COPY)
    if card.weights is None and (card.rung.partition("/")[0] != SCRATCH or card.task is not None):
        problem = f"`weights` is null, but {card.rung} was trained: its answers would be those of random weights"
        raise BadData(Code.DAMAGED_CHECKPOINT, file, problem, COPY)
    return card


def check_digests(card: Card, folder: Path, fingerprint: str) -> None:
    """Refuse files that differ from those that the card was written for.

    Args:
        card: as `read_card` returns it.
        fingerprint: of the tokenizer in the folder.
    """
    weights = folder / WEIGHTS
    if card.weights is None and weights.exists():
        problem = f"`weights` is null, but there is {WEIGHTS}, which would not be read"
        raise BadData(Code.DAMAGED_CHECKPOINT, folder / CARD, problem, COPY)
    for file, expected in ((weights, card.weights), (folder / CONFIG, card.config)):
        if expected is None:
            continue
        if not file.is_file():
            remedy = "copy the whole checkpoint, or run its stage again"
            raise BadData(Code.DAMAGED_CHECKPOINT, file, "file is missing", remedy)
        if (digest := file_digest(file)) != expected:
            problem = f"sha256 mismatch: card {expected[:12]}, file {digest[:12]}"
            remedy = "the file is damaged: restore it with `dvc checkout --force`"
            raise BadData(Code.DAMAGED_CHECKPOINT, file, problem, remedy)
    if card.tokenizer != fingerprint:
        problem = f"tokenizer {fingerprint[:12]}, card says {card.tokenizer[:12]}"
        raise BadData(Code.TOKENIZER, folder, problem, "restore the folder with `dvc checkout --force`")


def incomplete_task(file: Path) -> BadData:
    """The error for a fine-tuned checkpoint whose card lacks keys that predictions need."""
    problem = "it does not say how the task was read"
    return BadData(Code.NOT_FINE_TUNED, file, problem, "fine-tune again with this version")
