"""The inputs of a row of each task type; params.yaml and task.json call it `shape`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from adaptbert.base.task_types import TaskType
from adaptbert.rows.cells import CellType


@dataclass(frozen=True)
class TaskTypeSpec:
    """The inputs of a row.

    Attributes:
        inputs: column -> cell type, in the order in which a model reads them.
        shared: inputs that rows may have in common, such as the context of several questions: a split by hash keeps
            such rows together, and validation counts those whose context is in two splits. Empty: all inputs.
        aligned: what refers to positions of the inputs, which no pattern may change then; empty: nothing.
    """

    inputs: Mapping[str, CellType]
    shared: tuple[str, ...] = field(default=())
    aligned: str = ""


TASK_TYPES: Mapping[TaskType, TaskTypeSpec] = {
    "single_sentence": TaskTypeSpec({"text": "text"}),
    "sentence_pair": TaskTypeSpec({"text_a": "text", "text_b": "text"}),
    "extractive_answer": TaskTypeSpec(
        {"context": "text", "question": "text"}, shared=("context",), aligned="answers and their offsets"
    ),
    "sequence_labelling": TaskTypeSpec({"tokens": "texts"}, aligned="tokens and tags"),
}
