"""Reads plain tables (lines of text, CSV, TSV, Parquet): records with their first line and columns.

txt: a document a line; a blank line is skipped in a corpus, and is a row among rows to predict. csv: a header, commas,
quotes doubled inside quotes. tsv: a header, tabs, no quoting. parquet: columns. Nothing is converted: `NA` and `007`
stay text.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.data.layout import Layout
from adaptbert.data.readers.encodings import REMEDY
from adaptbert.data.readers.lines import MAX_LINE, Line, check_regular
from adaptbert.data.readers.records import CheckColumns, Problem, Record
from adaptbert.errors import BadData

BATCH = 4096


def txt(lines: Iterator[Line], shown: str, layout: Layout, check: CheckColumns) -> Iterator[Record]:
    """A text a line."""
    check(["text"])
    number = documents = 0
    for number, text, problem in lines:
        has_text = problem is not None or bool(text.strip())
        documents += has_text
        if has_text or not layout.is_corpus:
            yield Record(number, {"text": text}, problem)
    if not documents:
        raise BadData(Code.NO_ROWS, shown, f"0 documents in {number:,} lines", "write one document a line")


def separated(lines: Iterator[Line], shown: str, check: CheckColumns, *, tabs: bool) -> Iterator[Record]:
    """CSV, or TSV."""
    problems: list[Problem] = []
    delimiter = "\t" if tabs else ","
    csv.field_size_limit(MAX_LINE)
    reader = csv.reader(
        _with_ends(lines, problems, shown),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL,
        strict=True,
    )
    header: list[str] | None = None
    begin = 1
    while True:
        try:
            values = next(reader, None)
        except csv.Error as error:
            raise _csv_error(str(error), shown, begin) from None
        if values is None:
            break
        line, begin = begin, reader.line_num + 1
        problem = problems[0] if problems else None
        problems.clear()
        if not values and problem is None:
            continue  # a blank line
        if header is None:
            header = values
            _check_header(header, problem, shown, delimiter, check)
        elif problem is None and len(values) != len(header):
            yield Record(line, {}, Problem(Code.COLUMN_COUNT, f"expected {len(header)} columns, found {len(values)}"))
        else:
            yield Record(line, dict(zip(header, values, strict=False)), problem)
    if header is None:
        remedy = "write a header and one record a line"
        raise BadData(Code.NO_ROWS, shown, f"0 documents in {begin - 1:,} lines", remedy)


def _with_ends(lines: Iterator[Line], problems: list[Problem], shown: str) -> Iterator[str]:
    for number, text, problem in lines:
        if problem and problem.code == Code.TOO_LONG:
            remedy = "a quote before it may be left open"
            raise BadData(Code.FIELD_TOO_LARGE, f"{shown}:{number}", problem.reason, remedy)
        if problem:
            problems.append(problem)
        yield text + "\n"


def _csv_error(message: str, shown: str, line: int) -> BadData:
    if "field larger" in message:
        problem = f"field larger than {MAX_LINE:,} characters"
        return BadData(Code.FIELD_TOO_LARGE, f"{shown}:{line}", problem, "is a quote left open?")
    if "unexpected end" in message:
        problem = f"quote opened in line {line} never closes"
        return BadData(Code.BAD_CSV, f"{shown}:{line}", problem, "close it, or double it")
    return BadData(Code.BAD_CSV, f"{shown}:{line}", f"not CSV ({message})", "double a quote inside a quoted field")


def _check_header(header: list[str], problem: Problem | None, shown: str, delimiter: str, check: CheckColumns) -> None:
    if problem:
        raise BadData(problem.code, f"{shown}:1", f"the header cannot be read: {problem.reason}", REMEDY)
    check_columns_differ(header, filter(None, header), f"{shown}:1")
    if len(header) == 1 and (other := next((c for c in ";\t," if c != delimiter and c in header[0]), None)):
        name = "tab" if other == "\t" else other
        remedy = "csv has commas, tsv has tabs"
        raise BadData(Code.BAD_CSV, f"{shown}:1", f"one column found; delimiter '{name}'?", remedy)
    check(header)


def check_columns_differ(columns: Sequence[str], read: Iterable[str], place: str) -> None:
    """Reject two columns with one name.

    Args:
        columns: the columns of a file.
        read: the columns that are read.
    """
    counts = Counter(columns)
    for name in read:
        if counts[name] > 1:
            raise BadData(Code.COLUMN_TWICE, place, f"column '{name}' twice", "rename one of the two")


def parquet(path: Path, shown: str, columns: list[str], check: CheckColumns) -> Iterator[Record]:
    """Rows of the columns that are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_regular(path, shown)
    if path.stat().st_size == 0:
        raise BadData(Code.EMPTY_FILE, shown, "file is empty", "fill it or take it away")
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError):
        remedy = "copy or write the file again"
        raise BadData(Code.PARQUET_DAMAGED, shown, "Parquet footer missing: file truncated?", remedy) from None
    with file:
        check_columns_differ(file.schema_arrow.names, columns, shown)
        check(file.schema_arrow.names)
        row = 0
        try:
            for batch in file.iter_batches(BATCH, columns=columns):
                cells = [_cells(batch.column(name)) for name in batch.schema.names]
                for values in zip(*cells, strict=True):
                    row += 1
                    problem = next((value for value in values if isinstance(value, Problem)), None)
                    yield Record(row, dict(zip(batch.schema.names, values, strict=True)), problem)
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = f"damaged after row {row:,} ({type(error).__name__})"
            raise BadData(Code.PARQUET_DAMAGED, shown, reason, "copy or write the file again") from None
        if row == 0:
            raise BadData(Code.NOTHING_LEFT, shown, "0 documents in the file", "fill it or take it away")


def _cells(column: Any) -> list[Any]:
    """Values as Python objects; a string that is not UTF-8 becomes a problem."""
    import pyarrow as pa

    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        return [_decoded(value) for value in column.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()]


def _decoded(value: bytes | None) -> str | Problem | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError as error:
        return Problem(Code.NOT_DECODABLE, f"byte 0x{value[error.start]:02X} is not UTF-8" if value else "not UTF-8")
