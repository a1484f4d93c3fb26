"""A fine-tuned checkpoint that answers rows by the functions and the batches of evaluation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import torch
from pydantic import Field

from adaptbert.codes import Code
from adaptbert.config.schema.training import Precision
from adaptbert.core.record import Record, validated
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData, BadParams
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import CARD, COPY, TaskCard, incomplete_task
from adaptbert.model.classes import longest
from adaptbert.model.device import chosen, fastest_device
from adaptbert.tasks.head import Decoded, TaskHead
from adaptbert.tasks.heads import from_card, load_fine_tuned
from adaptbert.tasks.outputs import PREDICT_ROWS, outputs


class Evaluated(Record, extra="ignore"):
    """How a cell was evaluated: of the `params` of its card."""

    block_size: Annotated[int, Field(ge=3, le=10_000_000)]
    precision: Literal["bf16-mixed", "32-true"]


class FineTuned:
    """A fine-tuned checkpoint as what answers rows, by the functions and the batches of evaluation."""

    def __init__(self, folder: Path, precision: str | None) -> None:
        if precision is not None and precision not in (known := get_args(Precision)):
            problem = f"'{precision}' is unknown"
            raise BadParams(Code.CONTRADICTION, "precision", problem, f"write one of {', '.join(known)}")
        checkpoint = Checkpoint.load(folder)
        self._card, evaluated, head = _evaluation(checkpoint, folder)
        with torch.random.fork_rng(devices=[]):  # weights are drawn on the processor
            self._model, self._head = load_fine_tuned(checkpoint, head)
        for weight in self._model.parameters():
            # The alignment of memory-mapped weights varies, and a library splits a vector sum by alignment: copy them.
            weight.data = weight.data.clone()
        self._model.to(fastest_device())
        self._block_size, self._precision = evaluated.block_size, chosen(precision or evaluated.precision)
        self._tokenizer = checkpoint.tokenizer
        self.task, self.rows_at_once = TaskDescription.of(self._card.as_json()), PREDICT_ROWS

    def decode(self, rows: Sequence[Mapping[str, Any]]) -> Decoded:
        """The answers to rows."""
        examples = self._head.examples(rows, self._tokenizer, self._card.max_length)
        scores = outputs(self._model, self._head.logits, examples, self._block_size, self._precision)
        return self._head.decode(rows, examples, scores, self._card.tuned)


def _evaluation(checkpoint: Checkpoint, folder: Path) -> tuple[TaskCard, Evaluated, TaskHead]:
    """How a cell was evaluated, and its head.

    Raises:
        BadData: the card is incomplete, or card, config and head disagree.
    """
    if checkpoint.card is None or checkpoint.card.task is None:
        problem = "not a checkpoint that was fine-tuned on a task"
        raise BadData(Code.NOT_FINE_TUNED, folder, problem, "name a folder below models/finetune or models/linear")
    card = folder / CARD
    task, config = checkpoint.card.task, checkpoint.config()
    try:
        head = from_card(task)
    except (KeyError, ValueError):
        raise incomplete_task(card) from None
    read = validated(Evaluated, checkpoint.card.params, f"{card}: params", COPY)
    room = min(read.block_size, longest(config))
    if task.max_length > room:
        problem = f"task.max_length {task.max_length}, but the encoder reads {room} tokens"
        raise BadData(Code.DAMAGED_CHECKPOINT, card, problem, COPY)
    expected = head.config()
    if config.num_labels != expected["num_labels"]:
        problem = f"head has {config.num_labels} labels, task has {expected['num_labels']}"
        raise BadData(Code.OTHER_ARCHITECTURE, folder, problem, COPY)
    if config.id2label != expected.get("id2label", config.id2label):
        raise BadData(Code.OTHER_ARCHITECTURE, folder, "the labels of config.json are not those of card.json", COPY)
    return task, read, head
