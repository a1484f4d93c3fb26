"""Cell types of rows: their Parquet types, and a cell as one text."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pyarrow as pa

CellType = Literal["text", "texts", "number", "answers"]
"""A text, a list of texts, a number, or a list of answers (text and offset of each)."""


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
