"""Reads the fields of a row from one record of a file or data set, or reports the problem."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.data.layout import Layout, missing_columns
from adaptbert.data.readers.records import Problem
from adaptbert.data.readers.replacing import Replacer
from adaptbert.data.tag_schemes import renamed
from adaptbert.errors import BadData, raise_all

KINDS = {str: "text", bool: "true/false", int: "integer", float: "number", list: "list", dict: "mapping"}
TEXTS = ("text", "text_a", "text_b", "context", "question")
OPTIONAL = ("id", "group")
"""Read only if the user mapped them."""
_UNMAPPED = {
    "id": "map another column as `id`, or take `id` out of `columns`: rows are then named after file and line",
    "group": "map another column as `group`, or take `group` out of `columns`",
}

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character: JSON can contain one, UTF-8 and Parquet cannot."""

_MOST = 2**63 - 1
"""The largest offset in Parquet; no text is longer."""


class Read(NamedTuple):
    """A record that was read.

    Attributes:
        identity: the mapped id, if there is one.
        group: the mapped group, if there is one.
        values: the fields, or why there are none.
    """

    identity: str | None
    group: str | None
    values: dict[str, Any] | Problem


class Labelling(NamedTuple):
    """How a file encodes labels.

    Attributes:
        separator: between multiple labels in one text, as in a cell of CSV; None: they are a list.
        names: label (of spans: type) in the file -> label in adaptbert; others are unchanged.
        known: the label set, where params.yaml has it.
    """

    separator: str | None = None
    names: Mapping[str, str] = MappingProxyType({})
    known: list[str] | None = None


AS_IT_IS = Labelling()


class Fields:
    """Selects and checks the fields of one kind of row. Validation removes hidden characters later.

    Args:
        labelling: how the file encodes labels.

    Attributes:
        columns: field -> its name in the file. `id` and `group` are among them only where the user mapped them.
        label_kinds: types of the labels read so far, with the place of the first of each.
    """

    def __init__(
        self,
        layout: Layout,
        columns: Mapping[str, str] | None,
        replace: Sequence[Sequence[str]] | None,
        labelling: Labelling = AS_IT_IS,
    ) -> None:
        mapping = dict(columns or {})
        names = (*(name for name in OPTIONAL if name in mapping), *layout.fields)
        self.columns = {name: mapping.get(name, name) for name in names}
        self.label_kinds: dict[str, str] = {}
        self._labelling, self._has_spans = labelling, layout.target is not None and layout.output.marks_spans
        self._outputs = [self.columns[name] for name in layout.outputs]
        self._replace = Replacer(replace)

    def check(
        self, present: Sequence[str], place: str, split: str, mapping: str = "`columns`", *, is_first: bool = True
    ) -> None:
        """Reject a file or data set that lacks a column.

        Args:
            present: its columns.
            split: that it is for; empty for a corpus.
            mapping: what messages call the place where `columns` is written.
            is_first: whether it is the first of several files, which must have the same columns.
        """
        missing = [(name, column) for name, column in self.columns.items() if column not in present]
        others = [
            column for column in present if column not in self.columns.values() and column.lower() not in OPTIONAL
        ]
        outputs = missing and [column for _, column in missing] == self._outputs
        if outputs and split in ("dev", "test") and not others:
            raise no_labels(split, place)  # a column with another name may hold them
        mapped = f"rename it or map it in {mapping}"
        raise_all(
            [
                error
                for name, column in missing
                for error in missing_columns(
                    Code.COLUMN_MISSING if is_first else Code.COLUMN_MISSING_IN_PART,
                    [column],
                    present,
                    place,
                    _UNMAPPED.get(name, mapped),
                )
            ]
        )

    def read(self, record: Mapping[str, Any], place: str) -> Read:
        """One row.

        Args:
            record: column -> value, or why it cannot be read.
            place: of the record, for the message.

        Raises:
            BadData: an error of the column, not of the row.
        """
        names: dict[str, str | None] = dict.fromkeys(OPTIONAL)
        values: dict[str, Any] = {}
        for name, column in self.columns.items():
            value = self._cell(name, column, record, place)
            if isinstance(value, Problem):
                return Read(names["id"], names["group"], value)
            (names if name in OPTIONAL else values)[name] = value
        if "tokens" in values and "tags" in values and len(values["tokens"]) != len(values["tags"]):
            problem = Problem(
                Code.TOKENS_AND_TAGS_DIFFER, f"{len(values['tokens'])} tokens, {len(values['tags'])} tags"
            )
            return Read(names["id"], names["group"], problem)
        return Read(names["id"], names["group"], values)

    def _cell(self, name: str, column: str, record: Mapping[str, Any], place: str) -> Any:
        if column not in record:
            return Problem(Code.COLUMN_MISSING, f"column '{column}' missing in this row")
        value = record[column]
        if isinstance(value, Problem):
            return value
        if name in OPTIONAL:
            if isinstance(value, str) and name == "group":
                value = value.strip()
            if not isinstance(value, str | int) or value == "":
                instead = "an empty cell" if isinstance(value, str) else kind(value)
                return Problem(
                    Code.COLUMN_MISSING, f"column '{column}': expected a name of the {name}, found {instead}"
                )
            return half_character(column) if SURROGATE.search(str(value)) else str(value)
        if name in ("text_a", "text_b") and (value is None or value == ""):
            return Problem(Code.PAIR_INCOMPLETE, f"{name} missing")
        if name in TEXTS:
            return self._text(value, name, column, place)
        return READERS[name](self, value, column, place)

    def _text(self, value: object, name: str, column: str, place: str) -> str | Problem:
        if value is None:
            return Problem(Code.TEXT_NULL, f"{name} is null")
        if not isinstance(value, str):
            return Problem(Code.NOT_TEXT, f"column '{column}' is {kind(value)}, expected text")
        if SURROGATE.search(value):
            return half_character(column)
        return self._replace(value, place)

    def _label(self, value: object, column: str, place: str) -> str | Problem:
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            return Problem(Code.LABEL_MISSING, "label missing")
        if not isinstance(value, str | int):
            problem = f"label in column '{column}' is {kind(value)}"
            raise BadData(Code.LABEL_TYPE, place, problem, "write labels as text or integers")
        self.label_kinds.setdefault(kind(value), place)
        label = self._labelling.names.get(str(value), str(value))
        return half_character(column) if SURROGATE.search(label) else label

    def _labels(self, value: object, column: str, place: str) -> list[str] | Problem:
        """Sorted and unique; an empty list, or empty text between separators, is no label."""
        if value is None:
            return Problem(Code.LABEL_MISSING, "labels missing")
        if isinstance(value, str):
            separator = self._labelling.separator
            if separator is None:
                reason = f"column '{column}': text where a list is expected; split on ';'?"
                remedy = "name the separator of labels, e.g. `separator: ';'`, or give lists (jsonl)"
                raise BadData(Code.LIST_EXPECTED, place, reason, remedy)
            value = [part.strip() for part in value.split(separator) if part.strip()]
        if not isinstance(value, list):
            remedy = "write a list of labels a row"
            raise BadData(Code.LABEL_TYPE, place, f"labels in column '{column}' are {kind(value)}", remedy)
        labels = [self._label(label, column, place) for label in value]
        problem = next((label for label in labels if isinstance(label, Problem)), None)
        return problem or sorted({label for label in labels if isinstance(label, str)})

    def _value(self, value: object, column: str, place: str) -> float | Problem:
        """A number, or text of one, as in CSV; not `1_000`, which float() would accept."""
        if value is None or value == "":
            return Problem(Code.LABEL_MISSING, "value missing")
        try:
            if isinstance(value, bool) or not isinstance(value, str | int | float) or "_" in str(value):
                raise ValueError
            number = float(value)
        except (ValueError, OverflowError):
            return Problem(Code.BAD_VALUE, "value is not a number")
        return Problem(Code.LABEL_MISSING, "value missing") if math.isnan(number) else number

    def _tags(self, value: object, column: str, place: str) -> list[str] | Problem:
        tags, names = self._strings(value, column, place), self._labelling.names
        if isinstance(tags, Problem) or not names:
            return tags
        return [renamed(tag, names) if self._has_spans else names.get(tag, tag) for tag in tags]

    def _answers(self, value: object, column: str, place: str) -> list[dict[str, Any]] | Problem:
        """From {"text": [...], "answer_start": [...]} or [{"text": ..., "answer_start": ...}]; equal ones once."""
        if value is None:
            return Problem(Code.LABEL_MISSING, "answers missing")
        if isinstance(value, str):
            problem = f"column '{column}': text where a list is expected"
            raise BadData(Code.LIST_EXPECTED, place, problem, "use squad, jsonl or parquet, with texts and offsets")
        pairs: list[tuple[Any, Any]]
        if isinstance(value, Mapping):
            texts, starts = value.get("text"), value.get("answer_start", value.get("start"))
            if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
                return Problem(
                    Code.LABEL_TYPE, f"column '{column}' is not a list of texts and one of offsets, equally long"
                )
            pairs = list(zip(texts, starts, strict=True))
        elif isinstance(value, list) and all(isinstance(answer, Mapping) for answer in value):
            pairs = [(answer.get("text"), answer.get("answer_start", answer.get("start"))) for answer in value]
        else:
            return Problem(Code.LABEL_TYPE, f"column '{column}' is not a list of answers")
        answers: list[dict[str, Any]] = []
        for text, start in pairs:
            if not isinstance(text, str) or not isinstance(start, int) or isinstance(start, bool):
                return Problem(Code.LABEL_TYPE, f"column '{column}': an answer is not a text and its offset")
            if SURROGATE.search(text):
                return half_character(column)
            if abs(start) > _MOST:
                return Problem(
                    Code.OFFSET_OUTSIDE_TEXT, f"column '{column}': the offset of an answer is outside its context"
                )
            if (answer := {"text": text, "start": start}) not in answers:
                answers.append(answer)
        return answers

    def _strings(self, value: object, column: str, place: str) -> list[str] | Problem:
        if value is None:
            return Problem(Code.TEXT_NULL, f"column '{column}' is null")
        if isinstance(value, str):
            problem = f"column '{column}': text where a list is expected"
            raise BadData(Code.LIST_EXPECTED, place, problem, "use jsonl, parquet or conll")
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            return Problem(Code.LABEL_TYPE, f"column '{column}' is not a list of text")
        return half_character(column) if any(map(SURROGATE.search, value)) else value


READERS: Mapping[str, Callable[[Fields, object, str, str], Any]] = {
    "label": Fields._label,
    "labels": Fields._labels,
    "value": Fields._value,
    "tokens": Fields._strings,
    "tags": Fields._tags,
    "answers": Fields._answers,
}
"""Field other than plain text -> the reader of its cells."""


def check_label_kinds(kinds: Mapping[str, str]) -> None:
    """Reject a column that mixes types: labels 1 and "1" would become equal.

    Args:
        kinds: type -> the place of its first label, over all splits.
    """
    if len(kinds) > 1:
        first = ", ".join(f"{name} ({place})" for name, place in kinds.items())
        problem = f"labels have mixed types: {first}"
        raise BadData(Code.LABEL_TYPE, list(kinds.values())[-1], problem, "write them all alike")


def no_labels(split: str, place: str | Path) -> BadData:
    """The error of a split without labels."""
    remedy = "a split needs labels; rows without them are for prediction"
    return BadData(Code.SPLIT_WITHOUT_LABELS, place, f"{split} has no labels", remedy)


def half_character(column: str) -> Problem:
    """The problem of a text that matches SURROGATE."""
    return Problem(Code.SURROGATE_ESCAPE, f"lone surrogate escape in field '{column}'")


def kind(value: object) -> str:
    """The type of a value, for messages."""
    return "null" if value is None else KINDS.get(type(value), type(value).__name__)
