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
from adaptbert.base.task_types import Target, TaskType
from adaptbert.finetuning.tasks import sentence_pair, single_sentence
from adaptbert.finetuning.tasks.examples import Batch, Examples
from adaptbert.finetuning.tasks.extractive_answer import ExtractiveAnswer, ExtractiveAnswerConfig
from adaptbert.finetuning.tasks.pooling import LayersConfig, Pooling
from adaptbert.finetuning.tasks.sentence_pair import SentencePairConfig
from adaptbert.finetuning.tasks.sentences import Sentences
from adaptbert.finetuning.tasks.sequence_labelling import SequenceLabelling, SequenceLabellingConfig
from adaptbert.finetuning.tasks.single_sentence import SingleSentenceConfig
from adaptbert.finetuning.tasks.targets import FOLDED, HEADS, Weights
from adaptbert.rows.targets import TARGETS
from adaptbert.rows.task_description import TaskDescription
from adaptbert.tokenization.store.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

Row = Mapping[str, Any]


class Shape(Protocol):
    """How rows become tokens, where the head looks, and what its scores mean.

    Attributes:
        classes: of the head, in the order of their numbers; none where it does not tell classes apart.
        metric: by which cells are compared, see `adaptbert.finetuning.metrics.targets.COMPARED_BY`.
    """

    classes: list[str]
    metric: str

    @property
    def pooling(self) -> Pooling:
        """How the vectors of the head come from the encoder."""
        ...

    def extend(self, model: Any) -> "Shape":
        """Before anything is learned: the model gets what its Hugging Face class lacks. Returns the model's shape."""
        ...

    def hugging_face_class(self) -> Any:
        """The model whose head this shape trains."""
        ...

    def config(self) -> dict[str, Any]:
        """What the Hugging Face config says of the head."""
        ...

    def examples(self, rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Examples:
        """Rows as tokens, `max_length` at most in an example. What is right is not looked at."""
        ...

    def targets(self, rows: Sequence[Row], examples: Examples) -> NDArray[Any]:
        """What is right at each place of the examples of these rows, (places, ...)."""
        ...

    def unanswerable(self, rows: Sequence[Row], examples: Examples) -> dict[str, int]:
        """Rows whose right answer cannot be found in their examples, by reason; the same reasons for all rows."""
        ...

    def logits(self, model: Any, hidden: "Tensor") -> "Tensor":
        """Scores, (places, scores), from the hidden states at the places, (places, hidden)."""
        ...

    def loss(self, logits: "Tensor", batch: Batch) -> "Tensor":
        """What is trained: one number, the mean over a batch."""
        ...

    def log_probabilities(self, logits: "Tensor", batch: Batch) -> "Tensor":
        """Of all outcomes of each thing that is asked, in any layout."""
        ...

    def fold_scale(self, model: Any) -> "Shape":
        """After training: the model answers by itself as it will when it is opened elsewhere. Returns its shape."""
        ...

    def check_tuned(self, tuned: Mapping[str, float]) -> None:
        """Refuse values that cannot be what `tune` has chosen: KeyError, ValueError."""
        ...

    def tune(self, rows: Sequence[Row], examples: Examples, logits: NDArray[np.float64]) -> dict[str, float]:
        """What is chosen on the dev rows and kept with the checkpoint, by name."""
        ...

    def answers(
        self, rows: Sequence[Row], examples: Examples, logits: NDArray[np.float64], tuned: Mapping[str, float]
    ) -> tuple[list[Any], NDArray[np.float64]]:
        """The answer to each row, and how probable it is by the model (NaN where that means nothing), (rows,)."""
        ...

    def details(
        self, rows: Sequence[Row], examples: Examples, logits: NDArray[np.float64], tuned: Mapping[str, float]
    ) -> list[dict[str, Any]]:
        """What the scores say of each row beside its answer: `probabilities` of the classes where there are some, of a
        row or of each of its words; of an extractive answer where it stands and how near it was to no answer.
        """
        ...

    def gold(self, rows: Sequence[Row]) -> list[Any]:
        """The right answers."""
        ...

    def score(self, gold: Sequence[Any], answers: Sequence[Any]) -> dict[str, float]:
        """Metrics by name."""
        ...

    def is_degenerate(self, answers: Sequence[Any]) -> bool:
        """Whether the model answers the same whatever it is asked."""
        ...


class ShapeConfig(Config):
    """The options of a task type, under its name: one of these, that of the task."""

    single_sentence: SingleSentenceConfig | None = None
    sentence_pair: SentencePairConfig | None = None
    extractive_answer: ExtractiveAnswerConfig | None = None
    sequence_labelling: SequenceLabellingConfig | None = None

    @property
    def given(self) -> list[TaskType]:
        """The task types whose options there are; it should be one."""
        return [name for name in SHAPES if getattr(self, name) is not None]

    def options(self) -> LayersConfig:
        """Of the one task type."""
        (task_type,) = self.given
        found: LayersConfig = getattr(self, task_type)
        return found


@dataclass(frozen=True)
class ShapeSpec:
    """One task type.

    Attributes:
        options: of it, in params and in cards.
        make: a task, its options and weights of its labels to its shape.
    """

    options: type[LayersConfig]
    make: Callable[[TaskDescription, Any, Weights], Shape]


def _single_sentence(task: TaskDescription, options: SingleSentenceConfig, weights: Weights) -> Shape:
    return Sentences(task, partial(single_sentence.arrange, options), HEADS[task.target](task, weights), options)


def _sentence_pair(task: TaskDescription, options: SentencePairConfig, weights: Weights) -> Shape:
    return Sentences(task, partial(sentence_pair.arrange, options), HEADS[task.target](task, weights), options)


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


def shape_of(task: TaskDescription, options: LayersConfig, class_weights: Weights = None) -> Shape:
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
        KeyError, ValueError: it does not say all.
    """
    config = ShapeConfig.model_validate({card["shape"]: card["options"]})
    is_number = TARGETS[card["target"]].cell == "number"  # its unit is in the weights, whatever range the card names
    task = TaskDescription.of({**card, "range": list(FOLDED)} if is_number else card)
    if problem := mismatch(config, task.task_type, task.target, card["max_length"]):
        raise ValueError(problem[0])
    shape = shape_of(task, config.options())
    shape.check_tuned(card["tuned"])
    return shape


def mismatch(config: ShapeConfig, task_type: TaskType, target: Target, max_length: int) -> tuple[str, str] | None:
    """Why the options do not belong to a task of this type and target, and what to write; None where they do."""
    if config.given != [task_type]:
        problem = f"options of {' and '.join(config.given) or 'no shape'}, but the task's shape is {task_type}"
        example = SHAPES[task_type].options.example(target, max_length)
        return problem, f"write `{task_type}: {example}`{' in their place' if config.given else ''}"
    return config.options().mismatch(target)
