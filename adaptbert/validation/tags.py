"""Tags of a file -> BIO; rows that break its scheme are mended where params.yaml asks for it."""

from collections.abc import Sequence
from typing import Any

from adaptbert.rows.tag_schemes import Scheme, fits, legal, spans, tags
from adaptbert.validation.task_rules import TaskRules


def mended(rows: Sequence[Any], rules: TaskRules) -> tuple[list[Any], int]:
    """The tags of all rows, mended where the rules say so and it can be done; and how many broke the scheme."""
    found, misfits = list(rows), 0
    for place, row in enumerate(rows):
        if row is None or fits([str(tag) for tag in row], rules.scheme):
            continue
        misfits += 1
        if rules.repair:
            found[place] = _mended(row, rules.scheme)
    return found, misfits


def as_bio(row: Sequence[str], scheme: Scheme) -> list[str]:
    """A row that fits its scheme."""
    return tags(spans(row, scheme), len(row), "bio")


def _mended(row: Sequence[Any], scheme: Scheme) -> Sequence[Any]:
    try:
        return legal([str(tag) for tag in row], scheme)
    except ValueError:
        return row  # no scheme of ours: rejected with the rest
