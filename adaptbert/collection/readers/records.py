"""What a source yields: rows, and rows that cannot be read; nothing is dropped without a reason.

A source has `rows()`, and, complete once these have been read to the end, `warnings` (what was mended or left out on
the way, and how often) and `provenance()` (what was read, by content: versions or digests, no times, no machine paths).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from adaptbert.codes import Code


class Problem(NamedTuple):
    """Why something cannot be read. The reason never shows the text itself."""

    code: Code
    reason: str


class Record(NamedTuple):
    """What a file says about one row, under the file's own names."""

    line: int
    """Where it begins: 1-based line, or number of the record in a format without lines."""
    values: Mapping[str, Any]
    problem: Problem | None = None


CheckColumns = Callable[[list[str]], None]
"""Called with the columns as soon as they are known; raises BadData when one is missing."""


@dataclass(frozen=True, slots=True)
class Row:
    """One text, labelled or not."""

    id: str
    file: str
    line: int
    """1-based line or row in `file`."""
    values: dict[str, Any]
    """The fields of its layout."""
    group: str | None = None
    """Of a labelled row, where a column is mapped: rows of one group belong into one split."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that was found and cannot be used."""

    id: str
    file: str
    line: int
    problem: Problem
