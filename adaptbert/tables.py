"""Parquet tables between stages: read a batch at a time, so that memory stays flat whatever their size."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

BATCH = 1_000
"""Rows at once: a text may be a whole article."""


def rows(path: Path, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Each row as a dict."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH, columns=columns):
            yield from batch.to_pylist()


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """Id and text of each row; the words of a tagged sentence are joined by spaces."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        column = "text" if "text" in file.schema_arrow.names else "tokens"
        for batch in file.iter_batches(BATCH, columns=["id", column]):
            for text_id, value in zip(batch["id"].to_pylist(), batch[column].to_pylist(), strict=True):
                yield text_id, value if column == "text" else " ".join(value)
