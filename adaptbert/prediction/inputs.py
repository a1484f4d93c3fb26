"""A file, stdin or rows of Python -> what a model reads, in their order and in constant memory.

Formats, checks and cleaning are those of labelled sets (adaptbert.data). Only inputs are read. Words and
answers keep their offsets in the original text.
"""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import accumulate
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Format
from adaptbert.data.character_spans import words
from adaptbert.data.cleaning import clean
from adaptbert.data.fields import Fields, integer, kind, missing_column, whole
from adaptbert.data.formats import FORMATS, KNOWN, format_of
from adaptbert.data.label_names import is_missing
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.read_text import OTHER_ENCODING, check_regular, encoding_problem
from adaptbert.data.rows import BadRow, Row, SourceFile
from adaptbert.data.schema import EMPTY, TOKENS
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData, BadParams, closest, raise_all

if TYPE_CHECKING:
    import pyarrow as pa

STDIN = Path("-")


class Reader:
    """Converts records with the user's column names.

    Args:
        task: of the model. Its `replace` is applied to the texts, as collect_task did; the columns of its files are
            taken where the records have them.
        columns: name of an input, or `id`, -> its name in the records; the others have the name of the input. `id` is
            optional.

    Raises:
        BadParams: an input that this task type does not have.
    """

    def __init__(self, task: TaskDescription, columns: Mapping[str, str]) -> None:
        self.task_type = task.task_type
        own, names, of_task = Layout(self.task_type), dict(columns), dict(task.columns or {})
        self._is_tagged = own.is_tagged
        self._id = self._named_id = names.pop("id", None)
        self._ids = of_task.pop("id", "id"), "id"
        layouts = [own, CORPUS] if own.is_tagged else [own]
        known = dict.fromkeys(name for layout in layouts for name in layout.inputs)
        for name in names:
            if name not in known:
                problem = f"'{name}' is not an input of the task type {self.task_type}"
                raise BadParams(Code.CONTRADICTION, "--columns", problem, f"map one of id, {', '.join(known)}")
        every = [(layout, each) for each in ({**of_task, **names}, names) for layout in layouts]
        self._every = [Fields(layout, each, task.replace) for layout, each in every]
        self._fields = self._every[-len(layouts)]

    @property
    def columns(self) -> dict[str, str]:
        """Name of each input that is read -> its column."""
        return self._fields.columns | ({"id": self._id} if self._id else {})

    @property
    def possible_columns(self) -> dict[str, str]:
        """The columns that are read, and those of which `check` chooses."""
        return {column: column for fields in self._every for column in fields.columns.values()} | self.columns

    def characters(self, record: Mapping[str, Any]) -> int:
        """The length of what is read of a record."""
        return sum(len(str(record.get(column, ""))) for column in self._fields.columns.values())

    def check(self, columns: Sequence[str], place: str, remedy: Callable[[str], str]) -> None:
        """Choose the inputs to read from these columns; a tagger reads `text` where there are no `tokens`. The `remedy`
        of one that is missing follows from its name.

        Raises:
            BadData: a column is missing.
        """
        fitting = (fields for fields in self._every if set(fields.columns.values()) <= set(columns))
        self._fields = next(fitting, self._every[0])  # an error speaks of the columns that somebody wrote
        self._id = self._named_id or next((name for name in self._ids if name in columns), None)
        missing = [(name, column) for name, column in self.columns.items() if column not in columns]
        raise_all([missing_column(column, columns, place, remedy(name)) for name, column in missing])

    def read(self, row: Row, place: str) -> Row:
        """A row of a file, as the model reads it; `place` is for messages.

        Returns:
            The row with its own id, in which integers are written without a point; else with the number of its line.
            Its values are the inputs of the task type and, for rows with words or a context, the text to which offsets
            refer: `original`. `places` are those of each word to tag, (begin, end) in Unicode code points.

        Raises:
            BadData: a whole column is unusable.
        """
        identity = str(row.line)
        try:
            identity = self._identity(row.values, place) or identity
            read = self._fields.read(row, place)
            if read.problem is not None:
                raise BadRow(*read.problem)
            values = _words(read.values) if self._is_tagged else self._texts(read.values)
            return row._replace(id=identity, values=values)
        except BadRow as bad:
            return row._replace(id=identity, values={}, problem=bad.problem)

    def _texts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        cleaned = {name: clean(text)[0] for name, text in values.items()}
        empty = [f"'{self.columns[name]}'" for name, text in cleaned.items() if not text]
        if empty:
            raise BadRow(EMPTY.code, f"nothing in {' and '.join(empty)}" if len(cleaned) > 1 else EMPTY.text)
        return {**cleaned, "original": values.get("context", "")}

    def _identity(self, record: Mapping[str, Any], place: str) -> str:
        """The id; empty where the row has none. Integers with gaps come from pandas as floats: 7.0 becomes 7."""
        value = integer(record.get(self._id), str(self._id), place) if self._id else None
        if is_missing(value):
            return ""
        if not isinstance(value, str | int | float):
            raise BadRow(Code.COLUMNS, f"column '{self._id}': expected a name, found {kind(value)}")
        return whole(str(value), str(self._id))


def _words(values: Mapping[str, Any]) -> dict[str, Any]:
    """The words of `text`; or `tokens`, which a space joins to a text."""
    if "tokens" not in values:
        text = values["text"]
        tokens, places = words(text)
        if not tokens:
            raise BadRow(EMPTY.code, EMPTY.text)
        return {"tokens": tokens, "original": text, "places": places}
    raw: list[str] = values["tokens"]
    if reason := next((reason for reason, holds in TOKENS if not holds(raw)), None):
        raise BadRow(reason.code, reason.text)
    tokens = [clean(token)[0] for token in raw]
    begins = accumulate((len(token) + 1 for token in raw), initial=0)
    places = [(begin, begin + len(token)) for begin, token in zip(begins, raw, strict=False)]
    seen = [(token, place) for token, place in zip(tokens, places, strict=True) if token]
    return {"tokens": [token for token, _ in seen], "original": " ".join(raw), "places": [place for _, place in seen]}


class Input:
    """The rows of one file.

    Args:
        path: the file; `-` for stdin, which can be read once.
        declared: its format; None: by the name of the file.
        encoding: of text; None: UTF-8.
        beside: names of what is written beside the columns of the file, which rows then keep as `kept` of their values;
            None: they keep none. A column that has one of these names is called `input_<name>`, and one that is
            called so `input_input_<name>`.

    Raises:
        BadData: no such file, or none of a known format.
        BadParams: a format that does not fit, or an unknown encoding.
    """

    def __init__(
        self,
        path: Path,
        reader: Reader,
        declared: Format | None,
        encoding: str | None,
        beside: Collection[str] | None = None,
    ) -> None:
        self.path, self._encoding = path, encoding
        self.shown = "stdin" if path == STDIN else str(path)
        self.warnings: Counter[str] = Counter()
        self._beside, self._kept_names = beside, dict[str, None]()
        self._reader, self._format = reader, _format(path, declared)
        if FORMATS[self._format].task_type not in (None, reader.task_type):
            problem = f"'{self._format}' holds no {reader.task_type}"
            raise BadParams(Code.CONTRADICTION, "--format", problem, "write the rows as jsonl")
        if encoding is not None and (reason := encoding_problem(encoding)):
            raise BadParams(Code.CONTRADICTION, "--encoding", reason, OTHER_ENCODING)

    def rows(self) -> Iterator[Row]:
        """Every row, including those that cannot be answered.

        Raises:
            BadData: the whole file is unusable.
        """
        self.warnings.clear()
        source: Path | BufferedReader = self.path
        if self.path == STDIN:
            assert isinstance(sys.stdin.buffer, BufferedReader)
            source = sys.stdin.buffer
        spec, every = FORMATS[self._format], self._reader.possible_columns
        if spec.made_of == "columns" and self._beside is not None:
            every = {}  # all are read
        file = SourceFile(
            source, self.shown, Layout(self._reader.task_type), every, self._check, self.warnings,
            self._encoding, of_command=True,
        )  # fmt: skip
        for row in spec.read(file):
            # A wrong answer is no problem here: prediction reads no answers.
            problem = row.problem if row.problem and row.problem.code != Code.OFFSETS else None
            read = self._reader.read(row._replace(problem=problem), f"{self.shown}:{row.line}")
            if self._beside is not None:
                written = "id" if self._reader.columns.get("id") == "id" else None  # in every answer
                kept = {self._name_beside(name): value for name, value in row.values.items() if name != written}
                self._kept_names.update(dict.fromkeys(kept))
                read = read._replace(values={**read.values, "kept": kept})
            yield read

    def _name_beside(self, name: str) -> str:
        return f"input_{name}" if name.replace("input_", "") in (self._beside or ()) else name

    def kept_fields(self) -> "list[pa.Field]":
        """The columns that rows kept, with their types in Parquet; those of other files are text."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        typed = pq.read_schema(self.path) if FORMATS[self._format].made_of == "columns" else []
        types = {self._name_beside(field.name): field.type for field in typed}
        return [pa.field(name, types.get(name, pa.string())) for name in self._kept_names]

    def _check(self, columns: list[str]) -> None:
        self._reader.check(columns, f"{self.shown}:1", lambda name: _mapping(name, columns))


def _format(path: Path, declared: Format | None) -> Format:
    """The declared format, or by the name of the file; refuses what cannot be read as it."""
    if path == STDIN:
        lines = [name for name, spec in FORMATS.items() if spec.made_of == "lines"]
        if declared not in lines:
            unnamed = "stdin has no name that shows its format"
            problem = f"'{declared}' cannot be read from stdin" if declared else unnamed
            remedy = f"write --format with one of {', '.join(lines)}"
            raise BadParams(Code.CONTRADICTION, "--format", problem, remedy)
        return declared
    check_regular(path)
    kind = format_of(path, declared)
    if kind is None:
        remedy = f"known: {KNOWN}; or write --format"
        raise BadData(Code.FILE, path, "the name tells no known format", remedy)
    return kind


def _mapping(name: str, columns: list[str]) -> str:
    """The option to add where a column is missing, with the column of the file that is most similar."""
    others = [column for column in columns if column != "id"]
    column = closest(name, columns) or (others[0] if len(others) == 1 else "NAME")
    text = ", or --columns text=NAME for a text whose words are to be found" if name == "tokens" else ""
    return f"say which column it is: --columns {quote(f'{name}={column}')}{text}"
