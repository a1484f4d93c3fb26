"""What every task type does; adaptbert.tasks.shapes lists them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.metrics.targets import COMPARED_BY, SCORING, right_answers
from adaptbert.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from adaptbert.tasks.labelled_batch import LabelledBatch

Row = Mapping[str, Any]
Float64 = NDArray[np.float64]


class Shape(ABC):
    """A task type with its head: encodes rows, computes the loss, and decodes scores.

    Args:
        task: its target is scored.

    Attributes:
        classes: of the head, in the order of their numbers; none where it does not classify.
        metric: by which cells are compared, see `adaptbert.tasks.metrics.targets.COMPARED_BY`.
    """

    def __init__(self, task: TaskDescription) -> None:
        self._task, self.metric = task, COMPARED_BY[task.target]
        self.classes: list[str] = []

    def extend(self, model: Any) -> "Shape":
        """Before training: add the modules that its Hugging Face class lacks to the model. Returns the model's
        shape."""
        return self

    @abstractmethod
    def hugging_face_class(self) -> Any:
        """The model class with the head of this task type."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """The keys of the head in the Hugging Face config."""

    @abstractmethod
    def examples(self, rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Examples:
        """Rows as tokens, `max_length` at most in an example; labels are not read."""

    @abstractmethod
    def targets(self, rows: Sequence[Row], examples: Examples) -> NDArray[Any]:
        """The targets at each place of the examples of these rows, (places, ...)."""

    def unanswerable(self, rows: Sequence[Row], examples: Examples) -> dict[str, int]:
        """The number of rows whose right answer cannot be predicted, by reason; always the same reasons."""
        return {}

    @abstractmethod
    def logits(self, model: Any, hidden: "Tensor") -> "Tensor":
        """Scores, (places, scores), from the hidden states at the places, (places, hidden)."""

    @abstractmethod
    def loss(self, logits: "Tensor", batch: "LabelledBatch") -> "Tensor":
        """The training loss, the mean over a batch."""

    @abstractmethod
    def log_probabilities(self, logits: "Tensor", batch: "LabelledBatch") -> "Tensor":
        """Of all outcomes of each decision, in any layout."""

    def fold_scale(self, model: Any) -> "Shape":
        """After training: move the scale of the targets into the weights. Returns the shape of the saved model."""
        return self

    def check_tuned(self, tuned: Mapping[str, float]) -> None:  # noqa: B027 - most task types tune nothing
        """Raise KeyError or ValueError for values that `tune` cannot have chosen."""

    def tune(self, rows: Sequence[Row], examples: Examples, logits: Float64) -> dict[str, float]:
        """Values that are chosen on the dev rows and saved with the checkpoint, by name."""
        return {}

    @abstractmethod
    def answers(
        self, rows: Sequence[Row], examples: Examples, logits: Float64, tuned: Mapping[str, float]
    ) -> tuple[list[Any], Float64]:
        """The answer to each row, and its confidence (NaN for regression), (rows,)."""

    @abstractmethod
    def details(
        self, rows: Sequence[Row], examples: Examples, logits: Float64, tuned: Mapping[str, float]
    ) -> list[dict[str, Any]]:
        """Details of each answer: `probabilities` of the classes of a row or of each of its words; for an extractive
        answer its position and the margin to no answer.
        """

    def gold(self, rows: Sequence[Row]) -> list[Any]:
        """The right answers."""
        return right_answers(rows, self._task.target)

    def score(self, gold: Sequence[Any], answers: Sequence[Any]) -> dict[str, float]:
        """Metrics by name."""
        return SCORING[self._task.target].score(gold, answers, self._task)

    def is_degenerate(self, answers: Sequence[Any]) -> bool:
        """Whether all answers are the same."""
        return len({json.dumps(answer) for answer in answers}) < 2
