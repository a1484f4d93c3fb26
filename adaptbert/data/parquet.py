"""Parquet tables between stages, read and written in batches, in constant memory."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from adaptbert.config.schema.task_types import TASK_TYPES
from adaptbert.data.layout import CORPUS, Layout, as_text

if TYPE_CHECKING:
    import pyarrow as pa

LAYOUTS = [CORPUS, *map(Layout, TASK_TYPES)]
COMPRESSION = "zstd"
BATCH = 1_000
"""Rows that are read at once; few, since a text may be a whole article."""
BATCH_ROWS, BATCH_CHARACTERS = 8192, 4_000_000
"""A batch that is written ends at whichever comes first: rows may be words or whole articles."""


def rows(path: Path) -> list[dict[str, Any]]:
    """Each row as a dict."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        read: list[dict[str, Any]] = file.read().to_pylist()
    return read


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


class Table:
    """A Parquet file written in batches.

    Args:
        fields: name and type of each column; or an Arrow schema.
    """

    def __init__(self, path: Path, fields: "Iterable[tuple[str, pa.DataType] | pa.Field]") -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path.parent.mkdir(parents=True, exist_ok=True)
        self._schema = pa.schema(list(fields))
        self._writer = pq.ParquetWriter(path, self._schema, compression=COMPRESSION)
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def add(self, row: dict[str, Any], characters: int = 0) -> None:
        """Append a row with `characters` characters of text; what is not among the fields is left out."""
        self._rows.append(row)
        self._characters += characters
        if len(self._rows) == BATCH_ROWS or self._characters > BATCH_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows, self._characters = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None and self._rows:
            self._flush()
        self._writer.close()
