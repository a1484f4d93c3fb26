"""What the head of every task type does; adaptbert.tasks.heads lists them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from adaptbert.data.task_description import TaskDescription
from adaptbert.model.classes import Head
from adaptbert.model.encoder import Tokens, encode, token_scores
from adaptbert.tasks.batches import LabelledBatch
from adaptbert.tasks.examples import Examples, Float64, Row, in_chunks
from adaptbert.tasks.metrics.scoring import COMPARED_BY, SCORING, right_answers
from adaptbert.text.tokenizer import Tokenizer

Weights = Sequence[float] | None
"""Factors of the labels in the loss; None: all 1."""


class Decoded(NamedTuple):
    """What scores say of some rows.

    Attributes:
        answers: to each row.
        confidence: in each answer, (rows,); NaN for regression.
        details: computes details of each answer: `probabilities` of the classes of a row or of each of its words; for
            an extractive answer its position and the margin to no answer.
    """

    answers: list[Any]
    confidence: Float64
    details: Callable[[], list[dict[str, Any]]]


class TaskHead(ABC):
    """A task type with its head: encodes rows, computes the loss, and decodes scores.

    Args:
        task: its answers are scored.
        classes: of the head, in the order of their numbers; none where it does not classify.

    Attributes:
        head: the kind of the model with the head of this task type.
        skips_padding: whether the loss leaves out places with `NO_TARGET`, so that batches may be padded.
        target: what it answers with.
        metric: by which arms are compared, the first of its target.
    """

    head: ClassVar[Head]
    skips_padding = True

    def __init__(self, task: TaskDescription, classes: Sequence[str] = ()) -> None:
        self._task, self.target, self.metric = task, task.target, COMPARED_BY[task.target]
        self.classes = list(classes)

    def extend(self, model: Any) -> "TaskHead":
        """Add the modules that its Hugging Face class lacks, before training. Returns the model's head."""
        return self

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """The keys of the head in the Hugging Face config."""

    def examples(self, rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Examples:
        """Rows as tokens, `max_length` at most in an example; labels are not read."""
        return in_chunks(rows, lambda some: self._encode(some, tokenizer, max_length))

    @abstractmethod
    def _encode(self, rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Examples:
        """Examples of some rows, numbered from 0."""

    @abstractmethod
    def targets(self, rows: Sequence[Row], examples: Examples) -> NDArray[Any]:
        """The targets at each place of the examples of these rows, (places, ...)."""

    def unanswerable(self, rows: Sequence[Row], examples: Examples) -> dict[str, int]:
        """The number of rows whose right answer cannot be predicted, by reason; always the same reasons."""
        return {}

    def logits(self, model: Any, batch: LabelledBatch) -> Tensor:
        """Scores at the places of a batch, (places, scores), by the head of the class of transformers."""
        hidden = encode(model.base_model, batch.rows, Tokens(batch.ids, batch.segments), batch.places)
        return token_scores(model, hidden)

    @abstractmethod
    def loss(self, logits: Tensor, batch: LabelledBatch) -> Tensor:
        """The training loss: the `mean` of a sum over a micro-batch."""

    def fold_scale(self, model: Any) -> "TaskHead":
        """Move, after training, the scale of the targets into the weights. Returns the head of the saved model."""
        return self

    def check_tuned(self, tuned: Mapping[str, float]) -> None:  # noqa: B027 - most task types tune nothing
        """Raise KeyError or ValueError for values that `tune` cannot have chosen."""

    def tune(self, rows: Sequence[Row], examples: Examples, logits: Float64) -> dict[str, float]:
        """Values that are chosen on the dev rows and saved with the checkpoint, by name."""
        return {}

    @abstractmethod
    def decode(self, rows: Sequence[Row], examples: Examples, logits: Float64, tuned: Mapping[str, float]) -> Decoded:
        """The answers to rows."""

    def gold(self, rows: Sequence[Row]) -> list[Any]:
        """The right answers."""
        return right_answers(rows, self.target)

    def score(self, gold: Sequence[Any], answers: Sequence[Any]) -> dict[str, float]:
        """Metrics by name."""
        return SCORING[self.target].score(gold, answers, self._task)


def named(classes: Sequence[str]) -> dict[str, Any]:
    """Classes as a Hugging Face config names them."""
    numbers = dict(enumerate(classes))
    label2id = {name: number for number, name in numbers.items()}
    return {"num_labels": len(numbers), "id2label": numbers, "label2id": label2id}


def cross_entropy(scores: Tensor, batch: LabelledBatch, weights: Tensor | None = None) -> Tensor:
    """The loss of classes, one for each place.

    Args:
        weights: of the classes, (classes,). The sum is divided by the number of targets, not by their weights: the loss
            of an example does not depend on the classes of the others.
    """
    total = functional.cross_entropy(scores.float(), batch.targets, weight=weights, reduction="sum")
    return batch.mean(total, "places")


def softmax(scores: Float64) -> Float64:
    """Probabilities of the classes, the last axis."""
    probabilities: Float64 = torch.softmax(torch.from_numpy(scores), -1).numpy()
    return probabilities
