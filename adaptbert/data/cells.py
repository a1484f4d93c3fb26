"""Cell types of rows: their Parquet types, and a cell as one text."""

from typing import TYPE_CHECKING

from adaptbert.config.schema.task_types import CellType

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_type(kind: CellType) -> "pa.DataType":
    """The Parquet type of a column. Offsets of answers count Unicode code points of the context."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "number": pa.float64(),
        "answers": pa.list_(pa.struct([("text", pa.string()), ("start", pa.int64())])),
    }
    return types[kind]


def as_text(cell: str | list[str]) -> str:
    """A text unchanged; the words of a tagged sentence joined by spaces."""
    return cell if isinstance(cell, str) else " ".join(cell)
