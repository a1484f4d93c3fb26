"""Parquet tables between stages: read a batch at a time, so that memory stays flat whatever their size."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptbert.layout import CORPUS, SHAPES, Layout

LAYOUTS = [CORPUS, *map(Layout, SHAPES)]
BATCH = 1_000
"""Rows at once: a text may be a whole article."""


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
        names = file.schema_arrow.names
    inputs = next(layout.inputs for layout in LAYOUTS if set(layout.inputs) <= set(names))
    for row in rows(path, ["id", *inputs]):
        texts = [row[name] if isinstance(row[name], str) else " ".join(row[name]) for name in inputs]
        yield row["id"], " ".join(texts)
