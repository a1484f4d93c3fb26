"""Task types by name: a new one is a file of its own, an entry of `SHAPES` and its options in the schema.

A task of a user's own needs nothing here when its task type and target are known: params name them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from adaptbert.base.task_types import TARGETS, TaskType
from adaptbert.config.schema.finetuning import (
    OPTIONS,
    TaskOptions,
)
from adaptbert.data.task_description import TaskDescription
from adaptbert.tasks import sentence_pair, single_sentence
from adaptbert.tasks.extractive_answer import ExtractiveAnswer
from adaptbert.tasks.sentences import FOLDED, HEADS, Weights
from adaptbert.tasks.sequence_labelling import SequenceLabelling
from adaptbert.tasks.shape import Shape


@dataclass(frozen=True)
class ShapeSpec:
    """One task type.

    Attributes:
        make: builds the shape from a task, its options and the weights of its labels.
    """

    make: Callable[[TaskDescription, Any, Weights], Shape]


SHAPES: Mapping[TaskType, ShapeSpec] = {
    "single_sentence": ShapeSpec(
        lambda task, options, weights: HEADS[task.target](task, partial(single_sentence.encode, options), weights),
    ),
    "sentence_pair": ShapeSpec(
        lambda task, options, weights: HEADS[task.target](task, partial(sentence_pair.encode, options), weights),
    ),
    "extractive_answer": ShapeSpec(lambda task, options, weights: ExtractiveAnswer(task, options)),
    "sequence_labelling": ShapeSpec(lambda task, options, weights: SequenceLabelling(task, options)),
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
    options = OPTIONS[card["shape"]].model_validate(card["options"])
    is_number = TARGETS[card["target"]].cell == "number"  # its unit is in the weights, whatever range the card names
    task = TaskDescription.of({**card, "range": list(FOLDED)} if is_number else card)
    shape = shape_of(task, options)
    shape.check_tuned(card["tuned"])
    return shape
