"""Row counts of validation: rows in = rows kept + rows rejected, each rejected row with its reason.

In: decisions about rows. Out: the counts of metrics/validate.json and the reject files below data/rejected, which hold
ids, places and reasons, never the text, and are readable by their owner only.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from adaptbert.codes import Code
from adaptbert.errors import BadData
from adaptbert.rows.parquet_writer import Table

COMPRESSION = "zstd"
_SHOWN = 5
"""Places and reasons listed in a message; the others are counted."""


class Reject(NamedTuple):
    """One rejected row, as the reject file holds it."""

    id: str
    split: str
    file: str
    line: int
    code: int
    """The number of a `Code`."""
    reason: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


class TooManyBad(BadData):
    """More rows than `validate.max_bad_fraction` allows cannot be read or are not valid."""


class RejectFile(Table):
    """Writes rejected rows in batches."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        numbers = ("line", "code")
        super().__init__(path, [(name, pa.int64() if name in numbers else pa.string()) for name in Reject._fields])

    def write(self, rejects: Iterable[Reject]) -> None:
        for reject in rejects:
            self.add(reject._asdict())


@dataclass
class Account:
    """Row counts of one corpus, or of one split of a labelled set."""

    rows_in: int = 0
    kept: int = 0
    characters: int = 0
    """Of the rows kept."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Reason -> rows."""
    cleaned: Counter[str] = field(default_factory=Counter)
    """Kind of hidden character -> characters removed."""
    warnings: Counter[str] = field(default_factory=Counter)
    invalid: list[Reject] = field(default_factory=list)
    """Rows that could not be read or are not valid; duplicates and rows with dev or test text are valid."""

    def keep(self, texts: Iterable[str]) -> None:
        """Count kept rows."""
        for text in texts:
            self.kept += 1
            self.characters += len(text)

    def reject(self, name: str, reject: Reject, *, invalid: bool) -> None:
        """Count a rejected row under `name`."""
        self.rejected[name] += 1
        if invalid:
            self.invalid.append(reject)

    def balance(self) -> None:
        """Assert rows in = rows kept + rows rejected; a difference is a bug."""
        difference = self.rows_in - self.kept - self.rejected.total()
        assert difference == 0, f"{self.rows_in} rows in, {self.kept} kept, {self.rejected.total()} rejected"

    def too_many_invalid(self, limit: float, place: str | Path) -> list[TooManyBad]:
        """The error when more than the share `limit` of the rows cannot be read or are not valid."""
        if len(self.invalid) <= limit * self.rows_in:
            return []
        reasons = Counter((reject.code, reject.reason) for reject in self.invalid)
        (code, _), _ = reasons.most_common(1)[0]
        listed = ", ".join(f"{reason}: {count}" for (_, reason), count in reasons.most_common(_SHOWN))
        listed += f", and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
        shown = ", ".join(f"{reject.place}" for reject in self.invalid[:_SHOWN])
        more = f" and {len(self.invalid) - _SHOWN} more" if len(self.invalid) > _SHOWN else ""
        problem = (
            f"{len(self.invalid)} of {self.rows_in} rows cannot be read or are not valid ({listed}) at {shown}{more}"
        )
        return [TooManyBad(Code(code), place, problem, f"mend them, or raise validate.max_bad_fraction ({limit})")]

    def __str__(self) -> str:
        """One line for the log."""
        notes = {**_sorted(self.rejected), **_sorted(self.warnings)}
        details = "".join(f", {name.replace('_', ' ')} {count:,}" for name, count in notes.items())
        return f"{self.kept:,} of {self.rows_in:,} rows kept{details}"

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, sorted, for metrics/validate.json."""
        return {
            "rows_in": self.rows_in,
            "kept": self.kept,
            "characters": self.characters,
            "rejected": _sorted(self.rejected),
            "cleaned": _sorted(self.cleaned),
            "warnings": _sorted(self.warnings),
        }


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts)}
