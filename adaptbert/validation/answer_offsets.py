"""Answers and the text that they point into: the answers move when the text is cleaned.

Offsets count Unicode code points of the context.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from adaptbert.rows.cleaning import clean, origins
from adaptbert.validation.schemas import ANSWER_ELSEWHERE, Reason


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
