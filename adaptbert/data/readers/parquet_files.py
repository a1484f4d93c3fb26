"""Reads the columns of Parquet files; strings that are not UTF-8 reject their row."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.data.readers.lines import check_regular
from adaptbert.data.readers.records import Problem, Row, SourceFile, check_columns_differ

BATCH = 4096


def records(file: SourceFile) -> Iterator[Row]:
    """Rows of the columns that are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, read = file.path(), list(file.columns.values())
    check_regular(path, file.shown)
    if path.stat().st_size == 0:
        raise file.error(Code.EMPTY_FILE, "file is empty", "fill it or take it away")
    try:
        opened = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError):
        problem = "Parquet footer missing: file truncated?"
        raise file.error(Code.DAMAGED_FILE, problem, "copy or write the file again") from None
    with opened:
        check_columns_differ(opened.schema_arrow.names, read, file.shown)
        file.check(opened.schema_arrow.names)
        row = 0
        try:
            for batch in opened.iter_batches(BATCH, columns=read):
                cells = [_cells(batch.column(name)) for name in batch.schema.names]
                for values in zip(*cells, strict=True):
                    row += 1
                    problem_of_row = next((value for value in values if isinstance(value, Problem)), None)
                    yield file.row(row, dict(zip(batch.schema.names, values, strict=True)), problem_of_row)
        except (pa.ArrowException, OSError, ValueError) as error:
            problem = f"damaged after row {row:,} ({type(error).__name__})"
            raise file.error(Code.DAMAGED_FILE, problem, "copy or write the file again") from None
        if row == 0:
            raise file.error(Code.NOTHING_LEFT, "0 documents in the file", "fill it or take it away")


def columns(path: Path) -> list[str]:
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
        return Problem(Code.ENCODING, f"byte 0x{value[error.start]:02X} is not UTF-8" if value else "not UTF-8")
