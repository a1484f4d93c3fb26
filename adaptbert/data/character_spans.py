"""Labels of a text that mark its characters -> the values of a row: for spans, words with BIO tags.

Words do not depend on the spans, so that training, evaluation and prediction see the same words. Hidden characters are
removed first, as validation does: a soft hyphen separates no words. Words are runs of letters and digits; every other
visible character, and every character of Chinese or Japanese, is a word. Marks belong to the character before them,
white space to no word. A row with a span that begins or ends inside a word is rejected, not adjusted. White space and
hidden characters at the ends of a span are ignored.
"""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from typing import Any

from adaptbert.codes import Code
from adaptbert.data import scripts
from adaptbert.data.cleaning import clean, moved_back
from adaptbert.data.layout import Layout
from adaptbert.data.rows import BadRow, Row, SourceFile
from adaptbert.data.tag_schemes import Span, tags


def annotated(file: SourceFile, row: Row, marks: Any, span: Callable[[str, Any], Span]) -> Row:
    """The row with what its text is marked with: its label or labels; or for spans its words and their tags.

    Args:
        marks: labels, or a list of spans.
        span: reads one as (first character, last + 1, type), in Unicode code points; raises BadRow.
    """
    layout = file.layout
    output = file.columns[layout.output.column]
    try:
        if not layout.is_tagged:
            return row._replace(values={**row.values, output: _labels(marks, layout)})
        tokens = file.columns["tokens"]
        text = row.values.get(tokens)
        if not isinstance(text, str) or not isinstance(marks, list):
            raise BadRow(Code.COLUMNS, "no text, or no list of spans")
        words_of_text, tags_of_words = tagged(text, [span(text, mark) for mark in marks])
        return row._replace(values={**row.values, tokens: words_of_text, output: tags_of_words})
    except BadRow as bad:
        return row._replace(problem=bad.problem)


def _labels(marks: Any, layout: Layout) -> Any:
    """A list for several labels, else the only label."""
    if layout.output.cell == "texts" or not isinstance(marks, list):
        return marks
    if len(marks) > 1:
        raise BadRow(Code.BAD_LABEL, f"{len(marks)} labels where the target '{layout.target}' takes one")
    return marks[0] if marks else None


def tagged(text: str, spans: Iterable[Span]) -> tuple[list[str], list[str]]:
    """The words of the text and their BIO tags; the same span twice counts once.

    Args:
        spans: (first character, last + 1, type).

    Raises:
        BadRow: a span lies outside of the text, or cuts a word; or two overlap.
    """
    ordered = sorted(set(spans))
    if any(not 0 <= first < end <= len(text) for first, end, _ in ordered):
        raise BadRow(Code.OFFSETS, "a span lies outside its text, or is empty")
    if any(end > first for (_, end, _), (first, _, _) in pairwise(ordered)):
        raise BadRow(Code.OFFSETS, "spans overlap: flat tagging cannot hold them", "keep one of the two")
    tokens, places = words(text)
    of_words: list[Span] = []
    for first, end, kind in ordered:
        inside = [number for number, (begin, last) in enumerate(places) if begin < end and last > first]
        if not inside:
            raise BadRow(Code.OFFSETS, "a span holds no word")
        if places[inside[0]][0] < first or places[inside[-1]][1] > end:
            raise BadRow(Code.OFFSETS, "a span begins or ends inside a word")
        of_words.append((inside[0], inside[-1] + 1, kind))
    return tokens, tags(of_words, len(tokens), "bio")


def words(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The words of the cleaned text, and the range (first, last + 1) of each in the original text."""
    cleaned = clean(text)[0]
    ranges = [match.span() for match in _word().finditer(cleaned)]
    return [cleaned[first:end] for first, end in ranges], moved_back(text, ranges)


@cache
def _word() -> Any:
    """A word of a clean text: letters and digits, or another visible character; each with its accents, vowel signs and
    the joiners of emoji. Compiled at first use: most stages read no spans."""
    import regex

    letter = rf"[[\p{{L}}\p{{N}}]--[{scripts.KANA}{scripts.CHINESE}]]"
    mark = r"[\p{M}\u200c\u200d]"
    return regex.compile(rf"(?V1){letter}(?:{letter}|{mark})*|\S{mark}*")
