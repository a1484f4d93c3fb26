"""Task types by name: a new one is a file of its own, an entry of `SHAPES` and a field of `ShapeConfig`.

A task of a user's own needs nothing here when its task type and target are known: params name them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from adaptbert.base.config import Config
from adaptbert.base.task_types import TaskType
from adaptbert.finetuning.tasks import sentence_pair, single_sentence
from adaptbert.finetuning.tasks.examples import Examples
from adaptbert.finetuning.tasks.extractive_answer import ExtractiveAnswer, ExtractiveAnswerConfig
from adaptbert.finetuning.tasks.sentence_pair import SentencePairConfig
from adaptbert.finetuning.tasks.sentences import Sentences
from adaptbert.finetuning.tasks.sequence_labelling import SequenceLabelling, SequenceLabellingConfig
from adaptbert.finetuning.tasks.single_sentence import SingleSentenceConfig
from adaptbert.finetuning.tasks.targets import FOLDED, HEADS, Weights
from adaptbert.finetuning.tasks.task_options import TaskOptions
from adaptbert.rows.targets import TARGETS
from adaptbert.rows.task_description import TaskDescription
from adaptbert.tokenization.store.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from adaptbert.finetuning.tasks.labelled_batch import LabelledBatch

Row = Mapping[str, Any]


class Shape(Protocol):
    """A task type with its head: encodes rows, computes the loss, and decodes scores.

    Attributes:
        classes: of the head, in the order of their numbers; none where it does not classify.
        metric: by which cells are compared, see `adaptbert.finetuning.metrics.targets.COMPARED_BY`.
    """

    classes: list[str]
    metric: str

    def extend(self, model: Any) -> "Shape":
        """Before training: add the modules that its Hugging Face class lacks to the model. Returns the model's
        shape."""
        ...

    def hugging_face_class(self) -> Any:
        """The model class with the head of this task type."""
        ...

    def config(self) -> dict[str, Any]:
        """The keys of the head in the Hugging Face config."""
        ...

    def examples(self, rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Examples:
        """Rows as tokens, `max_length` at most in an example; labels are not read."""
        ...

    def targets(self, rows: Sequence[Row], examples: Examples) -> NDArray[Any]:
        """The targets at each place of the examples of these rows, (places, ...)."""
        ...

    def unanswerable(self, rows: Sequence[Row], examples: Examples) -> dict[str, int]:
        """The number of rows whose right answer cannot be predicted, by reason; always the same reasons."""
        ...

    def logits(self, model: Any, hidden: "Tensor") -> "Tensor":
        """Scores, (places, scores), from the hidden states at the places, (places, hidden)."""
        ...

    def loss(self, logits: "Tensor", batch: "LabelledBatch") -> "Tensor":
        """The training loss, the mean over a batch."""
        ...

    def log_probabilities(self, logits: "Tensor", batch: "LabelledBatch") -> "Tensor":
        """Of all outcomes of each decision, in any layout."""
        ...

    def fold_scale(self, model: Any) -> "Shape":
        """After training: move the scale of the targets into the weights. Returns the shape of the saved model."""
        ...

    def check_tuned(self, tuned: Mapping[str, float]) -> None:
        """Raise KeyError or ValueError for values that `tune` cannot have chosen."""
        ...

    def tune(self, rows: Sequence[Row], examples: Examples, logits: NDArray[np.float64]) -> dict[str, float]:
        """Values that are chosen on the dev rows and saved with the checkpoint, by name."""
        ...

    def answers(
        self, rows: Sequence[Row], examples: Examples, logits: NDArray[np.float64], tuned: Mapping[str, float]
    ) -> tuple[list[Any], NDArray[np.float64]]:
        """The answer to each row, and its confidence (NaN for regression), (rows,)."""
        ...

    def details(
        self, rows: Sequence[Row], examples: Examples, logits: NDArray[np.float64], tuned: Mapping[str, float]
    ) -> list[dict[str, Any]]:
        """Details of each answer: `probabilities` of the classes of a row or of each of its words; for an extractive
        answer its position and the margin to no answer.
        """
        ...

    def gold(self, rows: Sequence[Row]) -> list[Any]:
        """The right answers."""
        ...

    def score(self, gold: Sequence[Any], answers: Sequence[Any]) -> dict[str, float]:
        """Metrics by name."""
        ...

    def is_degenerate(self, answers: Sequence[Any]) -> bool:
        """Whether all answers are the same."""
        ...


class ShapeConfig(Config):
    """The options of a task type, under its name: one of these, that of the task."""

    single_sentence: SingleSentenceConfig | None = None
    sentence_pair: SentencePairConfig | None = None
    extractive_answer: ExtractiveAnswerConfig | None = None
    sequence_labelling: SequenceLabellingConfig | None = None

    @property
    def task_types(self) -> list[TaskType]:
        """The task types whose options are set; it should be one."""
        return [name for name in SHAPES if getattr(self, name) is not None]

    def options(self) -> TaskOptions:
        """Of the one task type."""
        (task_type,) = self.task_types
        options: TaskOptions = getattr(self, task_type)
        return options


@dataclass(frozen=True)
class ShapeSpec:
    """One task type.

    Attributes:
        options: of it, in params and in cards.
        make: builds the shape from a task, its options and the weights of its labels.
    """

    options: type[TaskOptions]
    make: Callable[[TaskDescription, Any, Weights], Shape]


def _single_sentence(task: TaskDescription, options: SingleSentenceConfig, weights: Weights) -> Shape:
    return Sentences(task, partial(single_sentence.arrange, options), HEADS[task.target](task, weights))


def _sentence_pair(task: TaskDescription, options: SentencePairConfig, weights: Weights) -> Shape:
    return Sentences(task, partial(sentence_pair.arrange, options), HEADS[task.target](task, weights))


SHAPES: Mapping[TaskType, ShapeSpec] = {
    "single_sentence": ShapeSpec(SingleSentenceConfig, _single_sentence),
    "sentence_pair": ShapeSpec(SentencePairConfig, _sentence_pair),
    "extractive_answer": ShapeSpec(
        ExtractiveAnswerConfig, lambda task, options, weights: ExtractiveAnswer(task, options)
    ),
    "sequence_labelling": ShapeSpec(
        SequenceLabellingConfig, lambda task, options, weights: SequenceLabelling(task, options)
    ),
}


def shape_of(task: TaskDescription, options: TaskOptions, class_weights: Weights = None) -> Shape:
    """The shape of a task.

    Args:
        options: of its task type.
        class_weights: one for each of its labels, while it is trained with them.
    """
    return SHAPES[task.task_type].make(task, options, class_weights)


def from_card(card: Mapping[str, Any]) -> Shape:
    """The shape of a fine-tuned checkpoint.

    Args:
        card: `task` of its card; `options`, `max_length` and `tuned` stand there, too.

    Raises:
        KeyError, ValueError: it is incomplete.
    """
    config = ShapeConfig.model_validate({card["shape"]: card["options"]})
    is_number = TARGETS[card["target"]].cell == "number"  # its unit is in the weights, whatever range the card names
    task = TaskDescription.of({**card, "range": list(FOLDED)} if is_number else card)
    shape = shape_of(task, config.options())
    shape.check_tuned(card["tuned"])
    return shape


def mismatch(config: ShapeConfig, task_type: TaskType, max_length: int) -> tuple[str, str] | None:
    """Why the options do not fit a task of this type, and the fix; None where they fit."""
    if config.task_types == [task_type]:
        return None
    problem = f"options of {' and '.join(config.task_types) or 'no shape'}, but the task's shape is {task_type}"
    example = SHAPES[task_type].options.example(max_length)
    return problem, f"write `{task_type}: {example}`{' in their place' if config.task_types else ''}"
