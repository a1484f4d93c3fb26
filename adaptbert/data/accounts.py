"""Row counts of validation: rows in = rows kept + rows rejected, each rejected row with its reason.

In: decisions about rows. Out: the counts of metrics/validate.json and the reject files below data/rejected, which hold
ids, places and reasons, never the text, and are readable by their owner only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.data.parquet import Table, rows
from adaptbert.data.validate_rows import Examined
from adaptbert.errors import BadData, UserError

_SHOWN = 5
"""Places and reasons listed in a message; the others are counted."""
_IDS = 20
"""Repeated ids reported, one error each."""


class Reject(NamedTuple):
    """One rejected row, as the reject file holds it; `code` is the number of a `Code`."""

    id: str
    split: str
    file: str
    line: int
    code: int
    reason: str


class RejectFile(Table):
    """Writes rejected rows in batches."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        numbers = ("line", "code")
        super().__init__(path, [(name, pa.int64() if name in numbers else pa.string()) for name in Reject._fields])

    def write_all(self, rejects: Iterable[Reject]) -> None:
        for reject in rejects:
            self.add(reject._asdict())


@dataclass
class Account:
    """Row counts of one corpus, or of one split of a labelled set.

    Attributes:
        split: of a labelled set.
        characters: of the rows kept.
        rejected: reason -> rows.
        cleaned: kind of hidden character -> characters removed.
        invalid: rows that could not be read or are not valid; duplicates and rows with dev or test text are valid.
    """

    split: str = ""
    rows_in: int = 0
    kept: int = 0
    characters: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    cleaned: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    invalid: list[Reject] = field(default_factory=list)

    def add(self, examined: Examined) -> Iterator[Reject]:
        """Count rows, and yield the rejected ones."""
        self.rows_in += len(examined.rows)
        self.kept += len(examined.left)
        self.characters += sum(len(text) for texts in examined.texts() for text in texts)
        self.cleaned.update(examined.cleaned)
        for place, reason in sorted(examined.reasons.items()):
            row = examined.rows[place]
            reject = Reject(row["id"], self.split, row["file"], row["line"], reason.code, reason.text)
            self.rejected[reason.name] += 1
            if place in examined.invalid:
                self.invalid.append(reject)
            yield reject

    def too_many_invalid(self, limit: float, place: str | Path) -> list[UserError]:
        """The error when more than the share `limit` of the rows cannot be read or are not valid."""
        if len(self.invalid) <= limit * self.rows_in:
            return []
        reasons = Counter((reject.code, reject.reason) for reject in self.invalid)
        (code, _), _ = reasons.most_common(1)[0]
        listed = ", ".join(f"{reason}: {count}" for (_, reason), count in reasons.most_common(_SHOWN))
        listed += f", and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
        shown = ", ".join(f"{reject.file}:{reject.line}" for reject in self.invalid[:_SHOWN])
        more = f" and {len(self.invalid) - _SHOWN} more" if len(self.invalid) > _SHOWN else ""
        problem = f"{len(self.invalid)} of {self.rows_in} rows cannot be read or are not valid ({listed})"
        remedy = f"mend them, or raise validate.max_bad_fraction ({limit})"
        return [BadData(Code(code), place, f"{problem} at {shown}{more}", remedy)]

    def nothing_kept(self, place: Path, rows: str, remedy: str) -> list[UserError]:
        """The error when no row is kept; `rows` is what the message calls them."""
        if self.kept:
            return []
        counts = ", ".join(f"{name}: {count}" for name, count in sorted(self.rejected.items())) or "it had none"
        return [BadData(Code.NOTHING_LEFT, place, f"0 of {self.rows_in} {rows} left ({counts})", remedy)]

    def __str__(self) -> str:
        """One line for the log."""
        notes = {**dict(sorted(self.rejected.items())), **dict(sorted(self.warnings.items()))}
        details = "".join(f", {name.replace('_', ' ')} {count:,}" for name, count in notes.items())
        return f"{self.kept:,} of {self.rows_in:,} rows kept{details}"

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, sorted, for metrics/validate.json."""
        counts = {name: dict(sorted(getattr(self, name).items())) for name in ("rejected", "cleaned", "warnings")}
        return {"rows_in": self.rows_in, "kept": self.kept, "characters": self.characters, **counts}


def unreadable(raw: Path, accounts: Mapping[str, Account]) -> Iterator[Reject]:
    """Rows that `collect` could not read, added to the row counts, so that these cover the source."""
    path = raw / "unreadable.parquet"
    for row in rows(path) if path.is_file() else []:
        reject = Reject(**{"split": "", **row})
        account = accounts[reject.split]
        account.rows_in += 1
        account.rejected["unreadable"] += 1
        account.invalid.append(reject)
        yield reject


def repeated_ids(source: Path) -> list[UserError]:
    """One error for each repeated id, with its first two places."""
    with pq.ParquetFile(source) as file:
        counts = pc.value_counts(file.read(["id"])["id"].cast(pa.large_string()))
    shown = sorted(counts.filter(pc.greater(counts.field("counts"), 1)).field("values").to_pylist())[:_IDS]
    if not shown:
        return []
    places: dict[str, list[str]] = {row_id: [] for row_id in shown}
    for row in pq.read_table(source, columns=["id", "file", "line"], filters=[("id", "in", shown)]).to_pylist():
        places[row["id"]].append(f"{row['file']}:{row['line']}")
    return [
        BadData(Code.BAD_ID, source, f"id {row_id!r} in rows {first} and {second}", "give each row an id of its own")
        for row_id, (first, second, *_) in places.items()
    ]
