"""What a source yields: rows, and rows that cannot be read; nothing is dropped without a reason.

A source has `rows()`, and, complete once these have been read to the end, `warnings` (what was mended or left out on
the way, and how often) and `provenance()` (what was read, by content: versions or digests, no times, no machine paths).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple


class Problem(NamedTuple):
    """Why something cannot be read. The reason never shows the text itself."""

    code: int
    """Entry of the catalogue of bad inputs (docs/errors.md)."""
    reason: str


@dataclass(frozen=True, slots=True)
class Row:
    """One text, labelled or not."""

    id: str
    file: str
    line: int
    """1-based line or row in `file`."""
    values: dict[str, Any]
    """`text`, or `text` and `label`, or `tokens` and `tags`."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that was found and cannot be used."""

    id: str
    file: str
    line: int
    problem: Problem
