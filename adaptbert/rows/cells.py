"""What a cell of a row may hold, in Parquet and as one text."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pyarrow as pa

CellType = Literal["text", "texts", "number", "answers"]
"""A text, a list of texts, a number, or a list of answers: their texts and where each begins."""


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
    """A text as it is; the words of a tagged sentence with a space between two."""
    return cell if isinstance(cell, str) else " ".join(cell)
