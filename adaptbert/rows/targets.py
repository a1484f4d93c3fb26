"""What each target is: the column of what is right, its labels, what an answer is called and how it is written.

How answers are scored stands in adaptbert.finetuning.metrics.targets.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adaptbert.base.task_types import Target
from adaptbert.rows.cells import CellType


def _as_it_is(cell: Any) -> Any:
    return cell


def _none(cell: Any) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class TargetSpec:
    """One target, wherever rows are read, checked, predicted and compared.

    Attributes:
        column: of what is right.
        cell: what that column holds.
        answer, answer_cell: what a predicted answer is called, and what it is.
        classes: what has one of the classes, with a probability for each: a whole row or each of its words; None:
            there are no classes.
        takes: keys of collect_task.<name> that belong to the target.
        needs: those of them that must be written.
        labels: the labels that a cell has.
        fewest_labels: that the training rows must show.
        gold: what a cell says is right, as answers are compared with it.
        read_gold, read_answer: from the text in a file of predictions, which `written` made.
        has_confidence: whether an answer comes with a probability.
        marks_spans: whether the tags of a cell are those of spans, which files write in several schemes.
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
"""Which labels there are, and what they are called in the files."""

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
    """An answer, or what is right, as a file of predictions holds it."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
