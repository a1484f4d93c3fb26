"""Converts the tags of a file to BIO, and repairs rows that break its scheme where params.yaml says so."""

from collections.abc import Sequence
from typing import Any

from adaptbert.rows.tag_schemes import Scheme, fits, legal, spans, tags
from adaptbert.validation.task_rules import TaskRules


def repaired(rows: Sequence[Any], rules: TaskRules) -> tuple[list[Any], int]:
    """The tags of all rows, repaired where the rules say so and it is possible; and how many broke the scheme."""
    tags_of_rows, misfits = list(rows), 0
    for place, row in enumerate(rows):
        if row is None or fits([str(tag) for tag in row], rules.scheme):
            continue
        misfits += 1
        if rules.repair:
            tags_of_rows[place] = _repaired(row, rules.scheme)
    return tags_of_rows, misfits


def as_bio(row: Sequence[str], scheme: Scheme) -> list[str]:
    """A row that fits its scheme."""
    return tags(spans(row, scheme), len(row), "bio")


def _repaired(row: Sequence[Any], scheme: Scheme) -> Sequence[Any]:
    try:
        return legal([str(tag) for tag in row], scheme)
    except ValueError:
        return row  # not of a known scheme: the row is rejected later
