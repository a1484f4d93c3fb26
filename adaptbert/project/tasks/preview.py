"""What a file shows before anything is known of it: its format, its columns and its first rows, as they stand there."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Format
from adaptbert.data.formats import FORMATS, KNOWN, format_of
from adaptbert.data.layout import Layout
from adaptbert.data.read_table import parquet_columns
from adaptbert.data.read_text import beginning
from adaptbert.data.rows import Head, SourceFile
from adaptbert.errors import BadData

ROWS = 100_000
"""Of a file: files may be sorted by label."""
BY_HAND = "write its block by hand, as in docs/how-to/labelled-sets.md"
_EXPORTS = ("doccano", "label_studio")


class Preview(NamedTuple):
    """The beginning of a file.

    Attributes:
        path: where it lies.
        format: of its rows.
        is_named: whether the name of the file tells the format, so that params.yaml need not.
        columns: as the file calls them, in its order.
        rows: those that can be read.
    """

    path: Path
    format: Format
    is_named: bool
    columns: list[str]
    rows: list[Mapping[str, Any]]

    def unclear(self, problem: str, remedy: str) -> BadData:
        """The error of a file that may be two things."""
        return BadData(Code.UNCLEAR_FILE, self.path, problem, remedy)


def preview(path: Path, declared: Format | None, encoding: str | None, head: int | None = ROWS) -> Preview:
    """The first rows of a file.

    Args:
        declared: its format; None: by its name and its beginning.
        head: how many; None: all.

    Raises:
        BadData: no known format, or no row can be read.
    """
    if not path.is_file():
        what = "a folder; name its files" if path.is_dir() else "no such file"
        raise BadData(Code.FILE, path, what, "give one file, or one each for train, dev and test")
    columns: list[str] = []
    layout = Layout("single_sentence")
    file = SourceFile(path, str(path), layout, {}, columns.extend, encoding=encoding, stem=path.stem)
    kind, is_named = _format(file, path, declared)
    if kind == "squad":
        file = replace(file, layout=Layout("extractive_answer"))
    elif kind == "parquet":
        file = replace(file, columns={name: name for name in parquet_columns(path)})
    every = FORMATS[kind].read(file)
    read = list(every if head is None else Head(head).of(every))
    rows = [row.values for row in read if row.problem is None]
    if not rows:
        problem = next((row.problem for row in read if row.problem), None)
        reason = f"no row can be read as {kind}" + (f": {problem.reason}" if problem else "")
        code = problem.code if problem else Code.NOTHING_LEFT
        raise BadData(code, path, reason, "name its format: --format FORMAT, or mend the file")
    names = columns or list(dict.fromkeys(name for row in rows[:50] for name in row))
    return Preview(path, kind, is_named, names, rows)


def _format(file: SourceFile, path: Path, declared: Format | None) -> tuple[Format, bool]:
    """The format, and whether the name tells it."""
    by_name = format_of(path)
    kind = declared or by_name
    if declared is None and by_name != "parquet":
        text = beginning(file).lstrip()
        looks = (name for name, spec in FORMATS.items() if spec.looks_like and spec.looks_like(text))
        kind = next((name for name in looks if name != "doccano"), by_name)  # that may be JSON lines with lists
    if kind in _EXPORTS:
        raise BadData(Code.UNCLEAR_FILE, path, f"an export ({kind}), whose labels lie inside of other values", BY_HAND)
    if kind is None or kind == "txt":
        problem = "the name tells no known format" if kind is None else "text without labels, one document a line"
        remedy = f"known: {KNOWN}; name it: --format FORMAT ({', '.join(FORMATS)})"
        raise BadData(Code.UNCLEAR_FILE, path, problem, remedy)
    return kind, kind == by_name
