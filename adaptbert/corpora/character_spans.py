"""Spans of characters -> words and BIO tags: what annotation tools export becomes what a tagger learns.

Words are found without looking at the spans, so that training, evaluation and prediction see the same ones: runs of
letters, digits and marks; every other visible character, and every character of Chinese or Japanese, stands alone.
A span that begins or ends inside a word has no tags; its row is put aside, not bent to fit. White space at the ends of
a span does no harm.
"""

import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import NamedTuple
from unicodedata import category

from adaptbert.corpora.rows import Problem
from adaptbert.errors import BadData
from adaptbert.tag_schemes import tags

_ALONE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


class CharacterSpan(NamedTuple):
    """A marked piece of a text: text[first:end], counted in Unicode code points."""

    first: int
    end: int
    kind: str


def words(text: str) -> list[tuple[int, int]]:
    """First and last + 1 character of each word."""
    found: list[tuple[int, int]] = []
    open_word = False
    for place, character in enumerate(text):
        joins = _joins(character)
        if joins and open_word:
            found[-1] = (found[-1][0], place + 1)
        elif not character.isspace():
            found.append((place, place + 1))
        open_word = joins
    return found


def tagged(text: str, spans: Iterable[CharacterSpan], place: str) -> tuple[list[str], list[str]] | Problem:
    """The words of the text and their BIO tags; the same span twice counts once.

    Args:
        place: of the row, for the message.

    Raises:
        BadData: two spans overlap.
    """
    wanted = sorted(set(spans))
    if any(not 0 <= span.first < span.end <= len(text) for span in wanted):
        return Problem(83, "a span lies outside its text, or is empty")
    if any(before.end > after.first for before, after in pairwise(wanted)):
        raise BadData(93, place, "spans overlap: flat tagging cannot hold them", "keep one of the two")
    split = words(text)
    found = []
    for span in wanted:
        inside = [number for number, (first, end) in enumerate(split) if first < span.end and end > span.first]
        if not inside:
            return Problem(161, "a span holds no word")
        if split[inside[0]][0] < span.first or split[inside[-1]][1] > span.end:
            return Problem(161, "a span begins or ends inside a word")
        found.append((inside[0], inside[-1] + 1, span.kind))
    return [text[first:end] for first, end in split], tags(found, len(split), "bio")


@cache
def _joins(character: str) -> bool:
    """Whether it goes on a word, and is gone on with."""
    return category(character)[0] in "LMN" and not _ALONE.match(character)
