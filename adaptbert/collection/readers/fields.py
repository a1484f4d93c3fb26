"""One record of a file or data set -> the fields of a row; or the problem."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.collection.readers.records import Problem
from adaptbert.collection.readers.replacing import Allowance, Replacer
from adaptbert.errors import BadData, raise_all
from adaptbert.rows.layout import Layout, missing_columns
from adaptbert.rows.tag_schemes import renamed

KINDS = {str: "text", bool: "true/false", int: "integer", float: "number", list: "list", dict: "mapping"}
TEXTS = ("text", "text_a", "text_b", "context", "question")
OPTIONAL = ("id", "group")
"""Read only where the user mapped them."""
_UNMAPPED = {
    "id": "map another column as `id`, or take `id` out of `columns`: rows are then named after file and line",
    "group": "map another column as `group`, or take `group` out of `columns`",
}

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character: JSON can hold one, UTF-8 and Parquet cannot."""

_MOST = 2**63 - 1
"""No text is longer, and Parquet holds no larger offset."""


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
    """How labels stand in the file.

    Attributes:
        separator: what parts several labels that are one text, as in a cell of CSV; None: they are a list.
        names: a label of the file -> ours; of spans their types. Others are ours already.
    """

    separator: str | None = None
    names: Mapping[str, str] = MappingProxyType({})


AS_IT_IS = Labelling()


class Fields:
    """Picks and checks the fields of one kind of row. What no reader sees is left to the gate.

    Args:
        labelling: how labels stand in the file.
        patterns: time for `replace`, of whoever wants a look at some rows.

    Attributes:
        columns: field -> its name in the file. `id` and `group` are among them only where the user mapped them.
        label_kinds: which types of labels were met, with the place of the first of each.
    """

    def __init__(
        self,
        layout: Layout,
        columns: Mapping[str, str] | None,
        replace: Sequence[Sequence[str]] | None,
        labelling: Labelling = AS_IT_IS,
        patterns: Allowance | None = None,
    ) -> None:
        given = dict(columns or {})
        names = (*(name for name in OPTIONAL if name in given), *layout.fields)
        self.columns = {name: given.get(name, name) for name in names}
        self.label_kinds: dict[str, str] = {}
        self._labelling, self._has_spans = labelling, layout.target is not None and layout.output.marks_spans
        self._outputs = [self.columns[name] for name in layout.outputs]
        self._replace = Replacer(replace, patterns)

    def check(
        self, found: Sequence[str], place: str, split: str, mapping: str = "`columns`", *, is_first: bool = True
    ) -> None:
        """Refuse a file or data set that lacks a column.

        Args:
            found: its columns.
            split: that it is for; empty for a corpus.
            mapping: what messages call the place where `columns` is written.
            is_first: of several files that must have the same columns.
        """
        missing = [(name, column) for name, column in self.columns.items() if column not in found]
        others = [column for column in found if column not in self.columns.values() and column.lower() not in OPTIONAL]
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
                    found,
                    place,
                    _UNMAPPED.get(name, mapped),
                )
            ]
        )

    def read(self, record: Mapping[str, Any], place: str) -> Read:
        """One row.

        Args:
            record: by column what stands there, or why it cannot be read.
            place: of the record, for the message.

        Raises:
            BadData: what is wrong is wrong with the whole column.
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
        found = record[column]
        if isinstance(found, Problem):
            return found
        if name in OPTIONAL:
            if not isinstance(found, str | int) or found == "":
                return Problem(Code.COLUMN_MISSING, f"column '{column}': expected a name, found {kind(found)}")
            return half_character(column) if SURROGATE.search(str(found)) else str(found)
        if name in ("text_a", "text_b") and (found is None or found == ""):
            return Problem(Code.PAIR_INCOMPLETE, f"{name} missing")
        if name in TEXTS:
            return self._text(found, name, column, place)
        return READERS[name](self, found, column, place)

    def _text(self, found: object, name: str, column: str, place: str) -> str | Problem:
        if found is None:
            return Problem(Code.TEXT_NULL, f"{name} is null")
        if not isinstance(found, str):
            return Problem(Code.NOT_TEXT, f"column '{column}' is {kind(found)}, expected text")
        if SURROGATE.search(found):
            return half_character(column)
        return self._replace(found, place)

    def _label(self, found: object, column: str, place: str) -> str | Problem:
        if found is None or found == "" or (isinstance(found, float) and math.isnan(found)):
            return Problem(Code.LABEL_MISSING, "label missing")
        if not isinstance(found, str | int):
            problem = f"label in column '{column}' is {kind(found)}"
            raise BadData(Code.LABEL_TYPE, place, problem, "write labels as text or integers")
        self.label_kinds.setdefault(kind(found), place)
        label = self._labelling.names.get(str(found), str(found))
        return half_character(column) if SURROGATE.search(label) else label

    def _labels(self, found: object, column: str, place: str) -> list[str] | Problem:
        """Sorted, each once; an empty list, or nothing between separators, is no label."""
        if found is None:
            return Problem(Code.LABEL_MISSING, "labels missing")
        if isinstance(found, str):
            separator = self._labelling.separator
            if separator is None:
                told = f"column '{column}': text where a list is expected; split on ';'?"
                remedy = "name what parts labels, e.g. `separator: ';'`, or give lists (jsonl)"
                raise BadData(Code.LIST_EXPECTED, place, told, remedy)
            found = [part.strip() for part in found.split(separator) if part.strip()]
        if not isinstance(found, list):
            remedy = "write a list of labels a row"
            raise BadData(Code.LABEL_TYPE, place, f"labels in column '{column}' are {kind(found)}", remedy)
        labels = [self._label(label, column, place) for label in found]
        problem = next((label for label in labels if isinstance(label, Problem)), None)
        return problem or sorted({label for label in labels if isinstance(label, str)})

    def _value(self, found: object, column: str, place: str) -> float | Problem:
        """A number, or text that is one, as in CSV: as people write it, not `1_000` as Python does."""
        if found is None or found == "":
            return Problem(Code.LABEL_MISSING, "value missing")
        try:
            if isinstance(found, bool) or not isinstance(found, str | int | float) or "_" in str(found):
                raise ValueError
            number = float(found)
        except (ValueError, OverflowError):
            return Problem(Code.BAD_VALUE, "value is not a number")
        return Problem(Code.LABEL_MISSING, "value missing") if math.isnan(number) else number

    def _tags(self, found: object, column: str, place: str) -> list[str] | Problem:
        tags, names = self._strings(found, column, place), self._labelling.names
        if isinstance(tags, Problem) or not names:
            return tags
        return [renamed(tag, names) if self._has_spans else names.get(tag, tag) for tag in tags]

    def _answers(self, found: object, column: str, place: str) -> list[dict[str, Any]] | Problem:
        """From {"text": [...], "answer_start": [...]} or [{"text": ..., "answer_start": ...}]; equal ones once."""
        if found is None:
            return Problem(Code.LABEL_MISSING, "answers missing")
        if isinstance(found, str):
            problem = f"column '{column}': text where a list is expected"
            raise BadData(Code.LIST_EXPECTED, place, problem, "use squad, jsonl or parquet, with texts and offsets")
        pairs: list[tuple[Any, Any]]
        if isinstance(found, Mapping):
            texts, starts = found.get("text"), found.get("answer_start", found.get("start"))
            if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
                return Problem(
                    Code.LABEL_TYPE, f"column '{column}' is not a list of texts and one of offsets, equally long"
                )
            pairs = list(zip(texts, starts, strict=True))
        elif isinstance(found, list) and all(isinstance(answer, Mapping) for answer in found):
            pairs = [(answer.get("text"), answer.get("answer_start", answer.get("start"))) for answer in found]
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

    def _strings(self, found: object, column: str, place: str) -> list[str] | Problem:
        if found is None:
            return Problem(Code.TEXT_NULL, f"column '{column}' is null")
        if isinstance(found, str):
            problem = f"column '{column}': text where a list is expected"
            raise BadData(Code.LIST_EXPECTED, place, problem, "use jsonl, parquet or conll")
        if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
            return Problem(Code.LABEL_TYPE, f"column '{column}' is not a list of text")
        return half_character(column) if any(map(SURROGATE.search, found)) else found


READERS: Mapping[str, Callable[[Fields, object, str, str], Any]] = {
    "label": Fields._label,
    "labels": Fields._labels,
    "value": Fields._value,
    "tokens": Fields._strings,
    "tags": Fields._tags,
    "answers": Fields._answers,
}
"""Field that is no plain text -> what reads its cell, or says what is wrong with it."""


def check_label_kinds(kinds: Mapping[str, str]) -> None:
    """Labels 1 and "1" would become one: refuse a column that mixes types.

    Args:
        kinds: type -> the place of its first label, over all splits.
    """
    if len(kinds) > 1:
        first = ", ".join(f"{name} ({place})" for name, place in kinds.items())
        problem = f"labels have mixed types: {first}"
        raise BadData(Code.LABEL_TYPE, list(kinds.values())[-1], problem, "write them all alike")


def no_labels(split: str, place: str | Path) -> BadData:
    """A split from which nothing can be learnt or scored."""
    remedy = "a split needs labels; rows without them are for prediction"
    return BadData(Code.SPLIT_WITHOUT_LABELS, place, f"{split} has no labels", remedy)


def half_character(column: str) -> Problem:
    """A text that matches SURROGATE stands there."""
    return Problem(Code.SURROGATE_ESCAPE, f"lone surrogate escape in field '{column}'")


def kind(found: object) -> str:
    """What messages call the type of a value."""
    return "null" if found is None else KINDS.get(type(found), type(found).__name__)
