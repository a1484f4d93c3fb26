"""The rows that sources yield, and the rows that they cannot read, each with a reason.

A source has `rows()`, and, complete after the last row, `warnings` (counts of repairs and omissions) and `provenance()`
(versions or digests of what was read; no times, no machine paths).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.data.layout import Layout


class Problem(NamedTuple):
    """Why something cannot be read. The reason never shows row text."""

    code: Code
    reason: str


class Record(NamedTuple):
    """One row of a file, under the column names of the file."""

    line: int
    """Its first line, from 1; in a format without lines, its number."""
    values: Mapping[str, Any]
    problem: Problem | None = None


CheckColumns = Callable[[list[str]], None]
"""Called with the columns as soon as they are known; raises BadData when one is missing."""


def with_labels(record: Record, column: str, marks: Any, layout: Layout) -> Record:
    """The record with the labels of its text: a list for the target `labels`, else the only label."""
    if layout.output.cell == "texts" or not isinstance(marks, list):
        return record._replace(values={**record.values, column: marks})
    if len(marks) > 1:
        return record._replace(
            problem=Problem(Code.LABEL_TYPE, f"{len(marks)} labels where the target '{layout.target}' takes one")
        )
    return record._replace(values={**record.values, column: marks[0] if marks else None})


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
    """Of a labelled row, where a column is mapped: rows of one group must be in one split."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that cannot be read."""

    id: str
    file: str
    line: int
    problem: Problem
