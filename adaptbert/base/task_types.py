"""One table of task types (what a row holds: `shape` in params.yaml), one of targets (what is to be predicted from it).

How a task type is encoded and decoded: adaptbert.tasks.shapes; how a target is scored: adaptbert.tasks.metrics.scoring.
tests/base/test_task_types.py names the tables in which one is missing.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

TaskType = Literal["single_sentence", "sentence_pair", "extractive_answer", "sequence_labelling"]
Target = Literal["class", "labels", "number", "answer", "spans", "tags"]
CellType = Literal["text", "texts", "number", "answers"]
"""A text, a list of texts, a number, or a list of answers (text and offset of each)."""


@dataclass(frozen=True)
class TaskTypeSpec:
    """A task type: the inputs of a row.

    Attributes:
        targets: that it can have.
        inputs: column -> cell type, in the order in which a model reads them.
        shared: inputs that rows may have in common, such as the context of several questions: a split by hash keeps
            such rows together, and validation counts those whose context is in two splits. Empty: all inputs.
        aligned: what refers to positions of the inputs, which no pattern may change then; empty: nothing.
    """

    targets: tuple[Target, ...]
    inputs: Mapping[str, CellType]
    shared: tuple[str, ...] = field(default=())
    aligned: str = ""


TASK_TYPES: Mapping[TaskType, TaskTypeSpec] = {
    "single_sentence": TaskTypeSpec(("class", "labels", "number"), {"text": "text"}),
    "sentence_pair": TaskTypeSpec(("class", "labels", "number"), {"text_a": "text", "text_b": "text"}),
    "extractive_answer": TaskTypeSpec(
        ("answer",),
        {"context": "text", "question": "text"},
        shared=("context",),
        aligned="answers and their offsets",
    ),
    "sequence_labelling": TaskTypeSpec(("spans", "tags"), {"tokens": "texts"}, aligned="tokens and tags"),
}
TARGETS_OF: Mapping[TaskType, tuple[Target, ...]] = {name: spec.targets for name, spec in TASK_TYPES.items()}


def _as_it_is(cell: Any) -> Any:
    return cell


def _none(cell: Any) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class TargetSpec:
    """One target, as used to read, validate, predict and compare rows.

    Attributes:
        column: of the gold label.
        cell: type of that column.
        answer, answer_cell: name and type of a predicted answer.
        classes: what is classified, with a probability for each class: a row or each of its words; None: there are no
            classes.
        takes: keys of tasks.<name> that belong to the target.
        needs: those of them that are required.
        labels: the labels of a cell.
        fewest_labels: that the training rows must have.
        gold: the gold answer of a cell, in the form in which answers are compared with it.
        read_gold, read_answer: parse the text that `written` writes to a file of predictions.
        has_confidence: whether an answer has a probability.
        marks_spans: whether tags encode spans, which files may do in several schemes.
    """

    column: str
    cell: CellType
    answer: str
    answer_cell: CellType
    classes: Literal["row", "word"] | None = None
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    labels: Callable[[Any], Iterable[str]] = _none
    fewest_labels: int = 0
    gold: Callable[[Any], Any] = _as_it_is
    read_gold: Callable[[str], Any] = json.loads
    read_answer: Callable[[str], Any] = json.loads
    has_confidence: bool = True
    marks_spans: bool = False


_NAMES = ("labels", "map_labels")
"""The label set, and the names of labels in the files."""

TARGETS: Mapping[Target, TargetSpec] = {
    "class": TargetSpec(
        "label", "text", "label", "text",
        classes="row",
        takes=("positive", *_NAMES),
        labels=lambda label: [label],
        fewest_labels=2,
        read_gold=str,
        read_answer=str,
    ),
    "labels": TargetSpec(
        "labels", "texts", "labels", "texts",
        classes="row",
        takes=("separator", *_NAMES),
        labels=_as_it_is,
        fewest_labels=1,
    ),
    "number": TargetSpec("value", "number", "value", "number", takes=("range",), has_confidence=False),
    "answer": TargetSpec(
        "answers", "answers", "answer", "text",
        takes=("no_answer",),
        needs=("no_answer",),
        gold=lambda answers: [answer["text"] for answer in answers],
        read_answer=str,
    ),
    "spans": TargetSpec(
        "tags", "texts", "tags", "texts",
        classes="word",
        takes=("tag_scheme", "repair_tags", *_NAMES),
        needs=("tag_scheme",),
        labels=lambda tags: [tag[2:] for tag in tags if tag.startswith("B-")],
        fewest_labels=1,
        marks_spans=True,
    ),
    "tags": TargetSpec(
        "tags", "texts", "tags", "texts",
        classes="word",
        takes=_NAMES,
        labels=_as_it_is,
        fewest_labels=2,
    ),
}  # fmt: skip


def written(answer: Any) -> str:
    """A predicted or gold answer, as written to a file of predictions."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
