"""Answers and the text that they point into: moved when the text is cleaned, diagnosed when all of them miss.

Offsets count Unicode code points of the context. A file whose offsets count something else (bytes, UTF-16 units, the
characters of the decomposed text) fits nowhere, and says so as a whole.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import pyarrow.parquet as pq

from adaptbert.errors import BadData, UserError
from adaptbert.gate.limits import Limits
from adaptbert.normalise import clean, origins
from adaptbert.schemas import ANSWER_ELSEWHERE, OFFSET_OUTSIDE, Reason

if TYPE_CHECKING:
    from adaptbert.gate.split import Split

_MOST = 0.9
"""Share of the answers that miss which another way of counting must find, to be named."""


def moved(context: str, answers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | Reason:
    """The answers in `clean(context)`; a reason where nothing visible is left of one."""
    kept, where = clean(context)[0], origins(context)
    found = []
    for answer in answers:
        first = bisect_left(where, answer["start"])
        end = bisect_left(where, answer["start"] + len(answer["text"]))
        if not kept[first:end].strip():
            return ANSWER_ELSEWHERE
        found.append({"text": kept[first:end], "start": first})
    return found


def offset_errors(split: "Split", limits: Limits) -> list[UserError]:
    """When too many answers miss their place: is there one way of counting by which they do not?"""
    if split.rules.layout.target != "answer":
        return []
    missed = [row for row, reason in split.invalid.items() if reason in (ANSWER_ELSEWHERE, OFFSET_OUTSIDE)]
    if not missed or len(missed) <= limits.max_bad_fraction * split.account.rows_in:
        return []
    rows = pq.read_table(split.source, columns=["context", "answers"]).take(missed).to_pylist()
    pairs = [(row["context"], answer) for row in rows for answer in row["answers"]]
    fitting = [
        name
        for name, finds in _COUNTS.items()
        if sum(finds(context, answer["text"], answer["start"]) for context, answer in pairs) >= _MOST * len(pairs)
    ]
    rows_missed = f"{len(missed)} of {split.account.rows_in} rows"
    if set(fitting) & {"bytes", "UTF-16 units"}:
        problem = f"the answers of {rows_missed} are off by a growing shift: offsets in {' or '.join(fitting)}?"
        return [BadData(82, split.source, problem, "count Unicode code points of the context")]
    if fitting:
        problem = f"the offsets of {rows_missed} fit {fitting[0]}, not this text"
        return [BadData(87, split.source, problem, "give the text that was annotated, not normalised since")]
    return []


def _at(context: str | bytes, text: str | bytes, start: int) -> bool:
    return start >= 0 and context[start : start + len(text)] == text


_COUNTS: dict[str, Callable[[str, str, int], bool]] = {
    "bytes": lambda context, text, start: _at(context.encode(), text.encode(), start),
    "UTF-16 units": lambda context, text, start: _at(context.encode("utf-16-le"), text.encode("utf-16-le"), 2 * start),
    "the NFD text": lambda context, text, start: _at(normalize("NFD", context), normalize("NFD", text), start),
    "the NFC text": lambda context, text, start: _at(normalize("NFC", context), normalize("NFC", text), start),
}
"""Ways of counting that other programs have: is the text there, if offsets are counted so?"""
