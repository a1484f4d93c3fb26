"""Detects splits whose offsets are in other units, or whose tags are in another scheme, than params.yaml declares.

Single invalid rows are rejected. Where most rows are invalid, the error names the unit or scheme that would fit them.
"""

from collections.abc import Callable
from unicodedata import normalize

import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.errors import BadData, UserError
from adaptbert.rows.tag_schemes import looks_like
from adaptbert.validation.limits import Limits
from adaptbert.validation.schemas import ANSWER_ELSEWHERE, OFFSET_OUTSIDE
from adaptbert.validation.split import Split

_MOST = 0.9
"""Share of the misplaced answers that another unit must explain to be named in the error."""


def offset_errors(split: Split, limits: Limits) -> list[UserError]:
    """The error when too many answers are misplaced, and another unit of offsets explains it."""
    if split.rules.layout.output.cell != "answers":
        return []
    missed = [row for row, reason in split.invalid.items() if reason in (ANSWER_ELSEWHERE, OFFSET_OUTSIDE)]
    if not missed or len(missed) <= limits.max_bad_fraction * split.account.rows_in:
        return []
    rows = pq.read_table(split.source, columns=["context", "answers"]).take(missed).to_pylist()
    pairs = [(row["context"], answer) for row in rows for answer in row["answers"]]
    fitting = [
        name
        for name, finds in _UNITS.items()
        if sum(finds(context, answer["text"], answer["start"]) for context, answer in pairs) >= _MOST * len(pairs)
    ]
    rows_missed = f"{len(missed)} of {split.account.rows_in} rows"
    if set(fitting) & {"bytes", "UTF-16 units"}:
        problem = f"the answers of {rows_missed} are off by a growing shift: offsets in {' or '.join(fitting)}?"
        return [BadData(Code.OFFSETS_IN_OTHER_UNITS, split.source, problem, "count Unicode code points of the context")]
    if fitting:
        problem = f"the offsets of {rows_missed} fit {fitting[0]}, not this text"
        return [
            BadData(
                Code.OFFSETS_OF_NORMALISED_TEXT,
                split.source,
                problem,
                "give the text that was annotated, not normalised since",
            )
        ]
    return []


def _at(context: str | bytes, text: str | bytes, start: int) -> bool:
    return start >= 0 and context[start : start + len(text)] == text


_UNITS: dict[str, Callable[[str, str, int], bool]] = {
    "bytes": lambda context, text, start: _at(context.encode(), text.encode(), start),
    "UTF-16 units": lambda context, text, start: _at(context.encode("utf-16-le"), text.encode("utf-16-le"), 2 * start),
    "the NFD text": lambda context, text, start: _at(normalize("NFD", context), normalize("NFD", text), start),
    "the NFC text": lambda context, text, start: _at(normalize("NFC", context), normalize("NFC", text), start),
}
"""Units of offsets in other programs: is the text at the offset in this unit?"""


def scheme_errors(split: Split, limits: Limits) -> list[UserError]:
    """The error when more rows break the scheme than `max_bad_fraction` allows."""
    rules = split.rules
    total = split.account.rows_in
    if split.misfits <= limits.max_bad_fraction * total:
        return []
    looks = looks_like(_rows(split))
    problem = f"{split.misfits} of {total} rows are not {rules.scheme}"
    if looks != rules.scheme:
        return [
            BadData(
                Code.OTHER_TAG_SCHEME, split.source, f"{problem}; they look like {looks}", f"write tag_scheme: {looks}"
            )
        ]
    if rules.repair:
        return []
    return [
        BadData(
            Code.OTHER_TAG_SCHEME,
            split.source,
            f"{problem}, and no other scheme fits more: a mixture?",
            "repair_tags: true",
        )
    ]


def _rows(split: Split) -> list[list[str]]:
    """Tags as written in the file."""
    rows = pq.read_table(split.source, columns=["tags"])["tags"].to_pylist()
    return [[str(tag) for tag in row] for row in rows if row is not None]
