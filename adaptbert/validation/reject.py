"""Reading, rejecting and writing rows, common to corpora and labelled sets."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.errors import BadData, UserError
from adaptbert.rows.layout import Layout
from adaptbert.validation.accounts import COMPRESSION, Account, Reject
from adaptbert.validation.schemas import Reason

if TYPE_CHECKING:
    import pandas as pd

TOO_LONG = Reason(Code.TOO_LONG, "too_long", "text is longer than validate.max_characters")
_SHOWN = 20
"""Repeated ids reported, one error each."""


def unreadable(raw: Path, accounts: Mapping[str, Account]) -> Iterator[Reject]:
    """Rows that `collect` could not read, added to the row counts, so that these cover the source."""
    path = raw / "unreadable.parquet"
    for row in pq.read_table(path).to_pylist() if path.is_file() else []:
        split = row.get("split", "")
        reject = Reject(row["id"] or "", split, row["file"], row["line"], row["code"], row["reason"])
        accounts[split].rows_in += 1
        accounts[split].reject("unreadable", reject, invalid=True)
        yield reject


def rejects(
    frame: "pd.DataFrame", reasons: Mapping[int, Reason], invalid: Collection[int], split: str, account: Account
) -> Iterator[Reject]:
    """The rejected rows of a frame, added to the row counts.

    Args:
        reasons: position in the frame -> why.
        invalid: those of the positions whose rows are invalid; the others are duplicates, copies or out of limits.
    """
    ids, files, lines = (frame[column].tolist() for column in ("id", "file", "line"))
    for row, reason in sorted(reasons.items()):
        row_id = ids[row] if isinstance(ids[row], str) else ""
        reject = Reject(row_id, split, files[row], lines[row], reason.code, reason.text)
        account.reject(reason.name, reject, invalid=row in invalid)
        yield reject


def repeated_ids(source: Path, repeated: Collection[str]) -> list[UserError]:
    """One error for each repeated id, with its first two places."""
    shown = sorted(repeated)[:_SHOWN]
    if not shown:
        return []
    rows = pq.read_table(source, columns=["id", "file", "line"], filters=[("id", "in", shown)]).to_pylist()
    places: dict[str, list[str]] = {row_id: [] for row_id in shown}
    for row in rows:
        places[row["id"]].append(f"{row['file']}:{row['line']}")
    return [
        BadData(Code.BAD_ID, source, f"id {row_id!r} in rows {first} and {second}", "give each row an id of its own")
        for row_id, (first, second, *_) in places.items()
    ]


def writer(path: Path, layout: Layout) -> pq.ParquetWriter:
    """A Parquet writer for kept rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return pq.ParquetWriter(path, layout.arrow(), compression=COMPRESSION)


def table(layout: Layout, cells: Sequence[Sequence[Any]]) -> pa.Table:
    """The table that `writer` writes, from one sequence for each column of the layout."""
    schema = layout.arrow()
    arrays = [pa.array(column, kind) for column, kind in zip(cells, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
