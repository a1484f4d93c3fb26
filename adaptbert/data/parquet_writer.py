"""Writes rows to a Parquet file, with a bounded number of rows in memory."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

BATCH_ROWS = 8192


BATCH_CHARACTERS = 4_000_000
"""A batch ends at whichever limit comes first: rows may be words or whole articles."""


class Table:
    """A Parquet file written in batches."""

    def __init__(self, path: Path, fields: Iterable[tuple[str, pa.DataType]]) -> None:
        self._schema = pa.schema(list(fields))
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def add(self, row: dict[str, Any], characters: int = 0) -> None:
        """Append a row with `characters` characters of text."""
        self._rows.append(row)
        self._characters += characters
        if len(self._rows) == BATCH_ROWS or self._characters > BATCH_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows, self._characters = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None and self._rows:
            self._flush()
        self._writer.close()


def count_characters(value: str | list[str]) -> int:
    return len(value) if isinstance(value, str) else sum(map(len, value))
