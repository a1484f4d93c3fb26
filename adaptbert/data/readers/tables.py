"""Reads plain tables (lines of text, CSV, TSV, Parquet).

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
from adaptbert.data.readers.encodings import REMEDY
from adaptbert.data.readers.lines import MAX_LINE, check_regular, read_lines
from adaptbert.data.readers.records import Problem, Row, SourceFile
from adaptbert.errors import BadData

BATCH = 4096


def txt(file: SourceFile) -> Iterator[Row]:
    """A text a line."""
    file.check(["text"])
    number = documents = 0
    for number, text, problem in read_lines(file):
        has_text = problem is not None or bool(text.strip())
        documents += has_text
        if has_text or not file.layout.is_corpus:
            yield file.row(number, {"text": text}, problem)
    if not documents:
        raise file.error(Code.NO_ROWS, f"0 documents in {number:,} lines", "write one document a line")


def separated(file: SourceFile, delimiter: str) -> Iterator[Row]:
    """CSV, or TSV."""
    problems: list[Problem] = []
    csv.field_size_limit(MAX_LINE)
    reader = csv.reader(
        _with_ends(file, problems),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL,
        strict=True,
    )
    header: list[str] | None = None
    begin = 1
    while True:
        try:
            values = next(reader, None)
        except csv.Error as error:
            raise _csv_error(file, str(error), begin) from None
        if values is None:
            break
        line, begin = begin, reader.line_num + 1
        problem = problems[0] if problems else None
        problems.clear()
        if not values and problem is None:
            continue  # a blank line
        if header is None:
            header = values
            _check_header(file, header, problem, delimiter)
        elif problem is None and len(values) != len(header):
            problem = Problem(Code.COLUMN_COUNT, f"expected {len(header)} columns, found {len(values)}")
            yield file.row(line, {}, problem)
        else:
            yield file.row(line, dict(zip(header, values, strict=False)), problem)
    if header is None:
        raise file.error(Code.NO_ROWS, f"0 documents in {begin - 1:,} lines", "write a header and one record a line")


def _with_ends(file: SourceFile, problems: list[Problem]) -> Iterator[str]:
    """The lines as `csv` expects them; the problems of those that it read last are put into the list."""
    for number, text, problem in read_lines(file):
        if problem and problem.code == Code.TOO_LONG:
            raise file.error(Code.FIELD_TOO_LARGE, problem.reason, "a quote before it may be left open", number)
        if problem:
            problems.append(problem)
        yield text + "\n"


def _csv_error(file: SourceFile, message: str, line: int) -> BadData:
    if "field larger" in message:
        problem = f"field larger than {MAX_LINE:,} characters"
        return file.error(Code.FIELD_TOO_LARGE, problem, "is a quote left open?", line)
    if "unexpected end" in message:
        return file.error(Code.BAD_CSV, f"quote opened in line {line} never closes", "close it, or double it", line)
    return file.error(Code.BAD_CSV, f"not CSV ({message})", "double a quote inside a quoted field", line)


def _check_header(file: SourceFile, header: list[str], problem: Problem | None, delimiter: str) -> None:
    if problem:
        raise file.error(problem.code, f"the header cannot be read: {problem.reason}", REMEDY, 1)
    check_columns_differ(header, filter(None, header), f"{file.shown}:1")
    if len(header) == 1 and (other := next((c for c in ";\t," if c != delimiter and c in header[0]), None)):
        name = "tab" if other == "\t" else other
        raise file.error(Code.BAD_CSV, f"one column found; delimiter '{name}'?", "csv has commas, tsv has tabs", 1)
    file.check(header)


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


def parquet(file: SourceFile) -> Iterator[Row]:
    """Rows of the columns that are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, columns = file.path(), list(file.columns.values())
    check_regular(path, file.shown)
    if path.stat().st_size == 0:
        raise file.error(Code.EMPTY_FILE, "file is empty", "fill it or take it away")
    try:
        opened = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError):
        problem = "Parquet footer missing: file truncated?"
        raise file.error(Code.PARQUET_DAMAGED, problem, "copy or write the file again") from None
    with opened:
        check_columns_differ(opened.schema_arrow.names, columns, file.shown)
        file.check(opened.schema_arrow.names)
        row = 0
        try:
            for batch in opened.iter_batches(BATCH, columns=columns):
                cells = [_cells(batch.column(name)) for name in batch.schema.names]
                for values in zip(*cells, strict=True):
                    row += 1
                    problem_of_row = next((value for value in values if isinstance(value, Problem)), None)
                    yield file.row(row, dict(zip(batch.schema.names, values, strict=True)), problem_of_row)
        except (pa.ArrowException, OSError, ValueError) as error:
            problem = f"damaged after row {row:,} ({type(error).__name__})"
            raise file.error(Code.PARQUET_DAMAGED, problem, "copy or write the file again") from None
        if row == 0:
            raise file.error(Code.NOTHING_LEFT, "0 documents in the file", "fill it or take it away")


def parquet_columns(path: Path) -> list[str]:
    """Columns of a Parquet file; none of a damaged one, whose error is raised when its rows are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowInvalid, OSError):
        return []


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
