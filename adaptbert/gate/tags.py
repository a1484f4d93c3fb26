"""Tags of a file -> BIO; rows that break its scheme, mended where that is asked for; another scheme is an error."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adaptbert.errors import BadData, UserError
from adaptbert.gate.limits import Limits
from adaptbert.gate.rules import TaskRules
from adaptbert.tag_schemes import Scheme, fits, legal, looks_like, spans, tags

if TYPE_CHECKING:
    from adaptbert.gate.split import Split


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


def scheme_errors(split: "Split", limits: Limits) -> list[UserError]:
    """More misfits than single slips: the whole file follows another scheme, or none."""
    rules = split.rules
    total = split.account.rows_in
    if split.misfits <= limits.max_bad_fraction * total:
        return []
    looks = looks_like(_rows(split))
    problem = f"{split.misfits} of {total} rows are not {rules.scheme}"
    if looks != rules.scheme:
        return [BadData(90, split.source, f"{problem}; they look like {looks}", f"write tag_scheme: {looks}")]
    if rules.repair:
        return []
    return [BadData(90, split.source, f"{problem}, and no other scheme fits more: a mixture?", "repair_tags: true")]


def _mended(row: Sequence[Any], scheme: Scheme) -> Sequence[Any]:
    try:
        return legal([str(tag) for tag in row], scheme)
    except ValueError:
        return row  # no scheme of ours: rejected with the rest


def _rows(split: "Split") -> list[list[str]]:
    """As they stand in the file."""
    import pyarrow.parquet as pq

    rows = pq.read_table(split.source, columns=["tags"])["tags"].to_pylist()
    return [[str(tag) for tag in row] for row in rows if row is not None]
