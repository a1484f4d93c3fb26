"""Reads the Parquet tables between stages in batches, in constant memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptbert.base.task_types import TASK_TYPES
from adaptbert.data.cells import as_text
from adaptbert.data.layout import CORPUS, Layout

LAYOUTS = [CORPUS, *map(Layout, TASK_TYPES)]
BATCH = 1_000
"""Rows; few, since a text may be a whole article."""


def rows(path: Path, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Each row as a dict."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH, columns=columns):
            yield from batch.to_pylist()


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """Id and text of each row; two texts, or the words of a tagged sentence, are joined by spaces."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        columns = set(file.schema_arrow.names)
        inputs = next(layout.inputs for layout in LAYOUTS if columns.issuperset(layout.inputs))
        for batch in file.iter_batches(BATCH, columns=["id", *inputs]):
            cells = [batch[name].to_pylist() for name in inputs]
            for text_id, *values in zip(batch["id"].to_pylist(), *cells, strict=True):
                yield text_id, " ".join(map(as_text, values))
