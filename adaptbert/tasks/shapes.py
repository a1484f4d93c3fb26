"""Task types by name: a new one is a file of its own, an entry of `SHAPES` and a field of `ShapeConfig`.

A task of a user's own needs nothing here when its task type and target are known: params name them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from adaptbert.base.config import Config
from adaptbert.base.task_types import TARGETS, TaskType
from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks import sentence_pair, single_sentence
from adaptbert.tasks.extractive_answer import ExtractiveAnswer, ExtractiveAnswerConfig
from adaptbert.tasks.sentence_pair import SentencePairConfig
from adaptbert.tasks.sentences import FOLDED, HEADS, Weights
from adaptbert.tasks.sequence_labelling import SequenceLabelling, SequenceLabellingConfig
from adaptbert.tasks.shape import Shape
from adaptbert.tasks.single_sentence import SingleSentenceConfig
from adaptbert.tasks.task_options import TaskOptions


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


SHAPES: Mapping[TaskType, ShapeSpec] = {
    "single_sentence": ShapeSpec(
        SingleSentenceConfig,
        lambda task, options, weights: HEADS[task.target](task, partial(single_sentence.encode, options), weights),
    ),
    "sentence_pair": ShapeSpec(
        SentencePairConfig,
        lambda task, options, weights: HEADS[task.target](task, partial(sentence_pair.encode, options), weights),
    ),
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
