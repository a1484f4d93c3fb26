"""A row on its way from the user's file to data/raw: its place, and its values or why it cannot be read."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.data.layout import Layout
from adaptbert.errors import BadData

MEND = "mend them"
"""The remedy where a reason has none of its own."""


class Problem(NamedTuple):
    """Why a row cannot be read, and what to do where no row of its file can be. The reason never shows row text."""

    code: Code
    reason: str
    remedy: str = MEND


class BadRow(Exception):
    """A row cannot be read; the reader puts the problem on its record. The arguments are those of `Problem`."""

    @property
    def problem(self) -> Problem:
        return Problem(*self.args)


class Row(NamedTuple):
    """One row of a file.

    Attributes:
        id: its own where one is mapped, else after file and line.
        line: its first line, from 1; in a format without lines, its number.
        values: from a reader by the columns of the file, then by the fields of its layout; empty where it has a
            problem.
        group: of a labelled row, where a column is mapped: rows of one group must be in one split. Else the document,
            where the format has such.
    """

    id: str
    file: str
    line: int
    values: Mapping[str, Any]
    group: str | None = None
    problem: Problem | None = None


@dataclass(frozen=True)
class SourceFile:
    """A file, and what to read from it.

    Attributes:
        source: a file; or a stream, of a format that is made of lines.
        shown: its name for messages.
        layout: of the rows; without a target for rows to predict. It can be of a task type that the format does not
            have: `check` refuses it.
        columns: field -> column in the file (Parquet reads no others; empty: all). `tokens` has the column of the text
            where the format marks characters; rows to predict may have `text`.
        check: called with the columns as soon as they are known; raises BadData when one is missing.
        warnings: counts of repairs and omissions; added to.
        encoding: of text; None: UTF-8.
        name: of the file in its rows.
        stem: prefix of the ids of rows, and of what the file only numbers, such as documents.
        of_command: whether it is an argument of a command, which has the option `--encoding`.
    """

    source: Path | BufferedReader
    shown: str
    layout: Layout
    columns: Mapping[str, str]
    check: Callable[[list[str]], None]
    warnings: Counter[str] = field(default_factory=Counter)
    encoding: str | None = None
    name: str = ""
    stem: str = ""
    of_command: bool = False

    def row(self, line: int, values: Mapping[str, Any], problem: Problem | None = None) -> Row:
        """A row of this file, named after it and the line."""
        return Row(f"{self.stem}-{line}", self.name, line, values, None, problem)

    def error(self, code: Code, problem: str, remedy: str, line: int | None = None) -> BadData:
        """An error of the file, or of one of its lines."""
        return BadData(code, self.shown if line is None else f"{self.shown}:{line}", problem, remedy)

    def name_encoding(self, encoding: str = "") -> str:
        """The remedy where it is in another encoding than it is read in: this one, if it is known."""
        if self.of_command:
            return f"name the encoding: --encoding, e.g. {encoding or 'gb18030'}"
        return "declare the `encoding` that all files of the set have" + (f": {encoding}" if encoding else "")


def first_rows(rows: Iterable[Row], most: int, characters: int | None = None) -> Iterator[Row]:
    """The first rows of a file: `most` of them, and none after so many characters of text; None: no limit."""
    read = 0
    for row in islice(rows, most):
        if characters is not None and read > characters:
            return
        yield row
        read += sum(len(value) for value in row.values.values() if isinstance(value, str))
