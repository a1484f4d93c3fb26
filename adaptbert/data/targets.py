"""Defines each target: the column of gold labels, its label set, and the name and encoding of predicted answers.

For the metrics of answers, see adaptbert.tasks.metrics.targets.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from adaptbert.base.task_types import Target

if TYPE_CHECKING:
    import pyarrow as pa

CellType = Literal["text", "texts", "number", "answers"]
"""A text, a list of texts, a number, or a list of answers (text and offset of each)."""


def arrow_type(kind: CellType) -> "pa.DataType":
    """The Parquet type of a column. Offsets of answers count Unicode code points of the context."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "number": pa.float64(),
        "answers": pa.list_(pa.struct([("text", pa.string()), ("start", pa.int64())])),
    }
    return types[kind]


def as_text(cell: str | list[str]) -> str:
    """A text unchanged; the words of a tagged sentence joined by spaces."""
    return cell if isinstance(cell, str) else " ".join(cell)


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
        takes: keys of collect_task.<name> that belong to the target.
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
