"""Reads the fields of a row from the columns of its file, or says why they cannot be read.

`replace` of params.yaml is applied to texts by `regex`, which has the syntax of Python's `re` and a timeout: a pattern
such as `(a|a)*$` backtracks exponentially on a text of 40 letters that it does not match.
"""

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from adaptbert.codes import Code
from adaptbert.data import scripts
from adaptbert.data.cleaning import spelled
from adaptbert.data.label_names import DECIMAL_COMMA, Names, is_missing, refusal
from adaptbert.data.layout import Layout
from adaptbert.data.rows import BadRow, Problem, Row
from adaptbert.data.tag_schemes import OUTSIDE, renamed
from adaptbert.errors import BadData, first_of, nearest, raise_all, shortened

KINDS = {str: "text", bool: "true/false", int: "integer", float: "number", list: "list", dict: "mapping"}
TEXTS = ("text", "text_a", "text_b", "context", "question")
OPTIONAL = ("id", "group")
"""Read only if the user mapped them."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST = 2**63 - 1
"""The largest offset in Parquet; no text is longer."""
JSON_LIST = 'write them as JSON, e.g. ["a", "b"]'
_WITHOUT = "mend them, or leave them out: map_labels: {'': null}"
AS_TEXT = "text where a list is expected", "use jsonl or parquet, of tags also conll, of answers also squad"
"""The problem and the remedy for tokens, tags and answers."""
VECTOR = "a 0 or 1 for each label", "write the names of the labels that a row has"
"""The problem and the remedy for vectors in place of labels."""
_LONGEST_NAME, _MOST_WORDS, _ENDS = 60, 3, tuple(".!?。！？…")
"""Limits of the name of a column; anything else is the text of a row."""
NO_HEADER = "this file seems to have no header", "put a line with the names of its columns above its rows"
"""The problem and the remedy for a table."""
_IDEOGRAPH = re.compile(f"[{scripts.CHINESE}]")
_LONGEST, _MOST_TIMES = 10_000, 100
"""Characters that replacements may add to a text of any length, and for each of its own."""
_COUNT, _COUNT_OF_GROUP = re.compile(r"{(\d+)"), re.compile(r"(?<!\\)\)\s*{(\d+)")
_MOST_PARTS = 100_000
"""Most parts of a pattern: `regex` writes out what has to come several times, and takes 150 bytes and more for each."""
SECONDS = 5.0
"""Processor time of one pattern on one text; usual patterns read a million characters in 0.1 s."""


class Fields:
    """Selects and checks the fields of one kind of row. Validation removes hidden characters later.

    Args:
        columns: field -> its name in the file; others have the name of the field.
        replace: patterns that `pattern_problem` finds valid, and their replacements.
        separator: between several labels in one text, as in a cell of CSV; None: they are a list.
        names: label (of spans: type) in the file -> label in adaptbert; others are unchanged.

    Attributes:
        columns: `id` and `group` are among them only where the user mapped them.
        label_kinds: types of the labels read so far, with the place of the first of each.
    """

    def __init__(
        self,
        layout: Layout,
        columns: Mapping[str, str] | None,
        replace: Sequence[Sequence[str]] | None,
        separator: str | None = None,
        names: Names | None = None,
    ) -> None:
        import regex

        mapping = dict(columns or {})
        fields = (*(name for name in OPTIONAL if name in mapping), *layout.fields)
        self.columns = {name: mapping.get(name, name) for name in fields}
        self.label_kinds: dict[str, str] = {}
        self._separator, self._names = separator, names or {}
        self._place = ""
        self._has_spans, self._is_labelled = layout.has_spans, bool(layout.outputs)
        self._patterns = [(regex.compile(pattern), replacement) for pattern, replacement in replace or []]

    def check(self, present: Sequence[str], place: str, mapping: str) -> None:
        """Reject a file that lacks a column.

        Args:
            present: its columns.
            mapping: what messages call the place where `columns` is written.
        """
        errors = []
        for name, column in self.columns.items():
            remedy = f"rename it or map it in {mapping}"
            if name in OPTIONAL:
                remedy = f"map another column as `{name}`, or take `{name}` out of {mapping}"
            if column not in present:
                errors.append(missing_column(column, present, place, remedy))
        raise_all(errors)

    def read(self, row: Row, place: str) -> Row:
        """A row of the file with the fields of its layout, or the reason why it has none.

        Args:
            place: of the row, for the message.

        Raises:
            BadData: a pattern of `replace` that no text can be read with.
        """
        if self._is_labelled and (refused := refusal(row.values, self.columns.values())):
            return row._replace(values={}, problem=Problem(Code.LEFT_OUT, refused))
        if row.problem is not None:
            return row._replace(values={})
        self._place = place
        values: dict[str, Any] = {}
        try:
            for name, column in self.columns.items():
                values[name] = self._cell(name, column, row.values)
            tokens, tags = (len(values.get(name, ())) for name in ("tokens", "tags"))
            if "tags" in values and tokens != tags:
                raise BadRow(Code.TAGS, f"{tokens} tokens, {tags} tags")
        except BadRow as bad:
            return Row(values.get("id", row.id), row.file, row.line, {}, problem=bad.problem)
        identity, group = values.pop("id", row.id), values.pop("group", row.group)
        return Row(identity, row.file, row.line, values, group)

    def _cell(self, name: str, column: str, record: Mapping[str, Any]) -> Any:
        if column not in record:
            raise BadRow(Code.COLUMNS, f"column '{column}' missing in this row")
        value = record[column]
        if name in OPTIONAL:
            return _name(integer(value, column, self._place), name, column)
        if name in READERS:
            return READERS[name](self, value, column)
        if name in ("text_a", "text_b") and (value is None or value == ""):
            raise BadRow(Code.TEXT_MISSING, f"{name} missing")
        if value is None:
            raise BadRow(Code.TEXT_MISSING, f"{name} is null")
        if not isinstance(value, str):
            raise BadRow(Code.COLUMNS, f"column '{column}' is {kind(value)}, expected text")
        return self.replaced(whole(value, column), self._place)

    def _named(self, label: str) -> str:
        """The label in adaptbert, where `""` is none; raises BadRow where its rows are left out."""
        name = self._names.get(label, label)
        if name is None:
            raise BadRow(Code.LEFT_OUT, f"label {spelled(label)}" if label else "no label")
        return name

    def _label(self, value: object, column: str) -> str:
        if is_missing(value):
            if name := self._named(""):
                return name
            raise BadRow(Code.LABEL_MISSING, "label missing", _WITHOUT)
        value = integer(value, column, self._place)
        if not isinstance(value, str | int):
            problem = f"label in column '{column}' is {kind(value)}"
            remedy = "write labels as text or integers; numbers with a fraction are of the type regression"
            raise BadRow(Code.BAD_LABEL, problem, remedy)
        if isinstance(value, str) and (found := written(value)):
            problem = f"label in column '{column}' is a {found} written as text"
            raise BadRow(Code.BAD_LABEL, problem, "write one label; several labels are of the type multi-label")
        self.label_kinds.setdefault(kind(value), self._place)
        return whole(self._named(str(value)), column)

    def _labels(self, value: object, column: str) -> list[str]:
        """Sorted and unique; an empty list, or empty text between separators, is no label."""
        if value != "" and is_missing(value):
            self._named("")
            raise BadRow(Code.LABEL_MISSING, "labels missing", _WITHOUT)
        if isinstance(value, str) and (items := listed(value)) is not None:
            value = items
        elif isinstance(value, str):
            if found := written(value, several=True):
                reason = f"labels in column '{column}' are a {found} written as text that cannot be read"
                raise BadRow(Code.BAD_LABEL, reason, JSON_LIST)
            if self._separator is None:
                reason = f"column '{column}': text where a list is expected; split on ';'?"
                remedy = "name the separator of labels, e.g. `separator: ';'` (in `new` --separator ';'), or give lists"
                raise BadRow(Code.BAD_LABEL, reason, remedy)
            value = [part.strip() for part in value.split(self._separator) if part.strip()]
        if not isinstance(value, list):
            problem = f"labels in column '{column}' are {kind(value)}"
            raise BadRow(Code.BAD_LABEL, problem, "write a list of labels a row")
        if is_vector(value):
            raise BadRow(Code.BAD_LABEL, f"labels in column '{column}' are {VECTOR[0]}", VECTOR[1])
        labels = {self._label(label, column) for label in value}
        if not labels and (name := self._named("")):
            labels = {name}
        return sorted(labels)

    def _value(self, value: object, column: str) -> float:
        """A number, or text of one, as in CSV; not `1_000`, which float() would accept."""
        number = math.nan
        try:
            if isinstance(value, bool) or not isinstance(value, str | int | float | None) or "_" in str(value):
                raise ValueError
            if value is not None and value != "":
                number = float(value)
        except (ValueError, OverflowError):
            comma = ": write its decimal comma as a point" if DECIMAL_COMMA.fullmatch(str(value)) else ""
            raise BadRow(Code.BAD_LABEL, f"value is not a number{comma}") from None
        if math.isnan(number):
            raise BadRow(Code.LABEL_MISSING, "value missing")
        return number

    def _strings(self, value: object, column: str) -> list[str]:
        if value is None:
            raise BadRow(Code.TEXT_MISSING, f"column '{column}' is null")
        if isinstance(value, str):
            raise BadRow(Code.BAD_LABEL, f"column '{column}': {AS_TEXT[0]}", AS_TEXT[1])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            remedy = "write words as text, and tags by their names, such as B-PER"
            raise BadRow(Code.BAD_LABEL, f"column '{column}' is not a list of text", remedy)
        return [whole(item, column) for item in value]

    def _tags(self, value: object, column: str) -> list[str]:
        tags = self._strings(value, column)
        read = [renamed(tag, self._named) if self._has_spans else self._named(tag) for tag in tags]
        if self._has_spans and {*read} <= {OUTSIDE}:
            self._named("")
        return read

    def _answers(self, value: object, column: str) -> list[dict[str, Any]]:
        """Answers of {"text": [...], "answer_start": [...]} or [{"text": ..., "answer_start": ...}], each once."""
        if value is None:
            raise BadRow(Code.LABEL_MISSING, "answers missing")
        if isinstance(value, str):
            raise BadRow(Code.BAD_LABEL, f"column '{column}': {AS_TEXT[0]}", AS_TEXT[1])
        if isinstance(value, Mapping):
            texts, starts = value.get("text"), value.get("answer_start", value.get("start"))
            if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
                problem = "is not a list of texts and one of offsets, equally long"
                raise BadRow(Code.BAD_LABEL, f"column '{column}' {problem}")
            value = [{"text": text, "start": start} for text, start in zip(texts, starts, strict=True)]
        if not isinstance(value, list) or not all(isinstance(answer, Mapping) for answer in value):
            raise BadRow(Code.BAD_LABEL, f"column '{column}' is not a list of answers")
        answers: list[dict[str, Any]] = []
        for each in value:
            text, start = each.get("text"), each.get("answer_start", each.get("start"))
            if not isinstance(text, str) or not isinstance(start, int) or isinstance(start, bool):
                raise BadRow(Code.BAD_LABEL, f"column '{column}': an answer is not a text and its offset")
            answer = {"text": whole(text, column), "start": start}
            if abs(start) > _MOST:
                problem = "the offset of an answer is outside its context"
                raise BadRow(Code.OFFSETS, f"column '{column}': {problem}")
            if answer not in answers:
                answers.append(answer)
        return answers

    def replaced(self, text: str, place: str) -> str:
        """The text after all replacements.

        Args:
            place: of the row, for the message.

        Raises:
            BadData: a pattern does not terminate, or the text becomes much longer.
        """
        most = max(_LONGEST, _MOST_TIMES * len(text))
        for pattern, replacement in self._patterns:
            added = 0

            def bounded(match: Any, replacement: str = replacement) -> str:
                nonlocal added
                part: str = match.expand(replacement)
                added += len(part)
                if added > most:
                    raise OverflowError
                return part

            problem = f"replace: '{shortened(pattern.pattern)}' "
            try:
                text = pattern.sub(bounded, text, timeout=SECONDS)
            except (TimeoutError, MemoryError):
                problem += f"does not come to an end in {SECONDS:g} seconds"
                remedy = "write the pattern so that a text fits it in one way: (a+)* fits in many"
                raise BadData(Code.BAD_PATTERN, place, problem, remedy) from None
            except OverflowError:
                problem += f"makes a text longer than {most:,} characters, {_MOST_TIMES} times as long as it is"
                raise BadData(Code.BAD_PATTERN, place, problem, "write a shorter replacement") from None
        return text


def pattern_problem(pairs: Sequence[Sequence[str]] | None) -> str | None:
    """The error of the first invalid pattern, with its position; None: all are valid."""
    import regex

    for pattern, replacement in pairs or []:
        try:
            re.compile(pattern).sub(replacement, "")
            if _parts(pattern) > _MOST_PARTS:
                raise ValueError(f"its counts make more than {_MOST_PARTS:,} parts of it")
            regex.compile(pattern)
        except (re.error, regex.error, IndexError, ValueError, OverflowError, RecursionError) as error:
            return f"replace: '{shortened(pattern)}' -> '{shortened(replacement)}': {error}"
    return None


def _parts(pattern: str) -> int:
    """A bound of the parts of a pattern, each as often as it has to come: as if all groups lay in one another."""
    parts = len(pattern) + sum(map(int, _COUNT.findall(pattern)))
    return parts * math.prod(max(1, int(count)) for count in _COUNT_OF_GROUP.findall(pattern))


READERS: Mapping[str, Callable[[Fields, object, str], Any]] = {
    "label": Fields._label,
    "labels": Fields._labels,
    "value": Fields._value,
    "tokens": Fields._strings,
    "tags": Fields._tags,
    "answers": Fields._answers,
}
"""Field other than plain text -> the reader of its cells."""


_ITEM = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[-+]?\d+(?:\.\d+)?)"""
_LISTED = re.compile(rf"set\(\)|[\[({{]\s*(?:{_ITEM}(?:\s*,\s*{_ITEM})*\s*,?\s*)?[\])}}]", re.DOTALL)
_MAPPED = re.compile(r"""\{\s*(['"]).*?\1\s*:.*\}""", re.DOTALL)
_BRACKETS = re.compile(
    r"""\[\s*['"\[{].*\]|\[[\d\s.]*\]|\[[^\[\]]*,[^\[\]]*\]|\{[^{}]*,[^{}]*\}|\w+\([\[{].*\)""", re.DOTALL
)
"""Lists in brackets, also `[0 1]` of numpy, `array([...])`, `frozenset({...})`, and `{a,b}` of PostgreSQL."""
_ENCLOSED = re.compile(r"\[[^\[\]]*\]|\{[^{}]*\}")


def listed(text: str) -> list[Any] | None:
    """The items of a list that JSON or Python has written into a text; None: it is none that can be read.

    Items without commas, as arrays are written, are none: Python would join them.
    """
    text = text.strip()
    if not _LISTED.fullmatch(text):
        return None
    with suppress(ValueError):
        return list(json.loads(text))
    with suppress(ValueError, SyntaxError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that Python does not know
        return list(ast.literal_eval(text))
    return None


def written(text: str, *, several: bool = False) -> str | None:
    """`list` or `mapping`, where a text is one that a program has written, also if it cannot be read; else None. Where
    `several` labels are due, `[a]` is no label."""
    text = text.strip()
    if _MAPPED.fullmatch(text):
        return KINDS[dict]
    is_list = _BRACKETS.fullmatch(text) or (text[:1] != "(" and listed(text) is not None)
    return KINDS[list] if is_list or (several and _ENCLOSED.fullmatch(text)) else None


def is_vector(labels: Iterable[object]) -> bool:
    """Whether these are 0 and 1 for all labels there are, and not the labels of a row, of which none comes twice."""
    values = [str(label).strip() for label in labels]
    return len({*values}) < len(values) and {*values} <= {"0", "1", "0.0", "1.0", "False", "True"}


def missing_column(column: str, present: Sequence[str], place: str, remedy: str) -> BadData:
    """The error of a file that lacks a column."""
    problem = f"column '{column}' missing; found {column_names(present)}{nearest(column, present)}"
    return BadData(Code.COLUMNS, place, problem, remedy)


def column_names(names: Iterable[str], most: int = 50) -> str:
    """The names of columns, for messages, which never show the text of a row: it may stand where a header should. Of a
    table with a million columns the first."""
    return first_of(("(a text)" if is_sentence(name) else name for name in names), most) or "none"


def is_sentence(name: str) -> bool:
    """Whether the name of a column reads like the text of a row."""
    return len(name) > _LONGEST_NAME or word_count(name) > _MOST_WORDS or name.endswith(_ENDS)


def word_count(text: str) -> float:
    """Words between blanks that have a letter; an ideograph is half a word."""
    others = _IDEOGRAPH.sub("", text)
    return (len(text) - len(others)) / 2 + sum(any(map(str.isalpha, part)) for part in others.split())


def whole(text: str, column: str) -> str:
    """The text; raises BadRow where it has half a character: JSON can contain one, UTF-8 and Parquet cannot."""
    if _SURROGATE.search(text):
        raise BadRow(Code.BAD_ROW, f"lone surrogate escape in field '{column}'")
    return text


def integer(value: object, column: str, place: str) -> object:
    """The integer of a float, which a gap has made of a column of integers; raises BadData where digits were lost."""
    if not isinstance(value, float) or not value.is_integer():
        return value
    if abs(value) >= 2**53:
        problem = f"column '{column}' holds whole numbers from 2^53 on as floats, which have lost their last digits"
        raise BadData(Code.COLUMNS, place, problem, "write them as text or integers (in pandas: the dtype Int64)")
    return int(value)


def _name(value: object, name: str, column: str) -> str:
    if isinstance(value, str) and name == "group":
        value = value.strip()
    if not isinstance(value, str | int) or value == "":
        shown = "an empty cell" if isinstance(value, str) else kind(value)
        raise BadRow(Code.COLUMNS, f"column '{column}': expected a name of the {name}, found {shown}")
    return whole(str(value), column)


def kind(value: object) -> str:
    """The type of a value, for messages."""
    return "null" if value is None else KINDS.get(type(value), type(value).__name__)
