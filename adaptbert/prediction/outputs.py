"""Answers -> JSON lines, CSV or Parquet, a chunk at a time; files are written atomically.

A JSON line has only the keys that apply to its row. The other two formats have the same columns in every row: in CSV
lists and mappings are JSON in their cell, in Parquet probabilities are a map. Text is written unchanged, except for
formulas in CSV, which a spreadsheet would run (adaptbert.data.spreadsheet).
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import isfinite
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.config.schema.task_types import TARGETS, Target
from adaptbert.core.files import atomic_write
from adaptbert.data import parquet, spreadsheet
from adaptbert.data.layout import arrow_type
from adaptbert.data.read_text import check_name
from adaptbert.errors import BadParams

if TYPE_CHECKING:
    import pyarrow as pa

STDOUT = Path("-")
SUFFIXES = (".jsonl", ".csv", ".parquet")
Write = Callable[[dict[str, Any]], object]
_HALF = "backslashreplace"
"""How half a character is written, which JSON may contain and UTF-8 may not: as JSON escapes it."""
_APOSTROPHES = "cells that a spreadsheet would run as formulas begin with an apostrophe; .jsonl and .parquet have none"


def check(path: Path, source: Path) -> None:
    """Refuse an output that cannot be written, or is the input, before anything is computed."""
    if path == STDOUT and sys.stdout is not None:
        return
    if path.suffix == ".parquet":
        check_name(path)
    for problem, remedy, holds in (
        ("stdout is closed", "name a file: -o FILE", path == STDOUT),
        ("the name tells no format to write", f"end it in {', '.join(SUFFIXES)}", path.suffix not in SUFFIXES),
        ("is a folder", "name a file", path.is_dir()),
        ("is what is read", "name another file", path.exists() and source.exists() and path.samefile(source)),
    ):
        if holds:
            raise BadParams(Code.CONTRADICTION, path, problem, remedy)


@contextmanager
def open_output(
    path: Path, target: Target, warnings: Counter[str], kept: "Sequence[pa.Field]" = (), *, details: bool
) -> Iterator[Write]:
    """A function that writes one answer; `-` takes JSON lines to stdout.

    Args:
        warnings: changes that were needed to write the answers -> how often; added to.
        kept: columns of the input.
        details: whether answers have probabilities or offsets.
    """
    if path == STDOUT:
        # Not by sys.stdout, which shows no credentials: rows stay as they are.
        with open(sys.stdout.fileno(), "w", encoding="utf-8", errors=_HALF, newline="\n", closefd=False) as stdout:
            yield partial(_write_line, stdout)
        return
    with atomic_write(path) as part:
        schema = columns(target, kept, details=details)
        if path.suffix == ".parquet":
            with parquet.Table(part, list(schema)) as table:
                yield partial(_add, table, {field.name for field in schema if field.type == "string"})
            return
        with part.open("w", encoding="utf-8", errors=_HALF, newline="") as file:
            if path.suffix == ".jsonl":
                yield partial(_write_line, file)
            else:
                sheet = spreadsheet.Table(file, [*map(spreadsheet.inert, schema.names)])
                yield partial(_write_cells, sheet, schema.names, warnings)


def columns(target: Target, kept: "Sequence[pa.Field]" = (), *, details: bool) -> "pa.Schema":
    """The schema of a table of answers."""
    import pyarrow as pa

    output = TARGETS[target]
    text, number, count = pa.string(), pa.float64(), pa.int64()
    words = [("tokens", arrow_type("texts"))] if output.classes == "word" else []
    fields = [("id", text), *kept, *words, (output.answer, arrow_type(output.answer_cell))]
    if output.has_confidence:
        fields.append(("confidence", number))
    if output.marks_spans:
        entity = pa.struct([("type", text), ("start", count), ("end", count), ("text", text)])
        fields.append(("entities", pa.list_(entity)))
    if details and output.cell == "answers":
        fields += [("start", count), ("end", count), ("no_answer_score", number)]
    if details and output.classes is not None:
        of_one = pa.map_(text, number)
        fields.append(("probabilities", pa.list_(of_one) if output.classes == "word" else of_one))
    return pa.schema([*fields, ("error", text)])


def _write_line(file: IO[str], answer: dict[str, Any]) -> None:
    # No JSON has NaN, as a column of numbers in Parquet may.
    cells = {name: None if isinstance(cell, float) and not isfinite(cell) else cell for name, cell in answer.items()}
    file.write(_json(cells) + "\n")


def _write_cells(table: spreadsheet.Table, names: list[str], warnings: Counter[str], answer: dict[str, Any]) -> None:
    cells = (answer.get(name) for name in names)
    if formulas := table.write([_json(cell) if isinstance(cell, list | dict) else cell for cell in cells]):
        warnings[_APOSTROPHES] += formulas


def _add(table: parquet.Table, texts: set[str], answer: dict[str, Any]) -> None:
    """Add a row; other values in a column of texts are JSON there, and half a character is escaped."""
    cells = dict(answer)
    for name in texts & answer.keys():
        if (cell := answer[name]) is not None:
            cells[name] = (cell if isinstance(cell, str) else _json(cell)).encode("utf-8", _HALF).decode()
    table.add(cells, sum(len(cell) for cell in cells.values() if isinstance(cell, str)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
