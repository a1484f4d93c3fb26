"""Adjusts the offsets of answers to the cleaned text.

Offsets count Unicode code points of the context.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from adaptbert.rows.cleaning import clean, origins
from adaptbert.validation.schemas import ANSWER_ELSEWHERE, Reason


def moved(context: str, answers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | Reason:
    """The answers in `clean(context)`; a reason where an answer has no visible character."""
    cleaned, offsets = clean(context)[0], origins(context)
    moved_answers = []
    for answer in answers:
        first = bisect_left(offsets, answer["start"])
        end = bisect_left(offsets, answer["start"] + len(answer["text"]))
        if not cleaned[first:end].strip():
            return ANSWER_ELSEWHERE
        moved_answers.append({"text": cleaned[first:end], "start": first})
    return moved_answers
