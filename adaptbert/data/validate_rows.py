"""What validation says of rows without the others: valid or not, cleaned, and whether their length is in its limits."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Limits, Scheme
from adaptbert.data import tag_schemes
from adaptbert.data.cleaning import clean, origins
from adaptbert.data.layout import Layout, as_text
from adaptbert.data.schema import ANSWER_ELSEWHERE, ANY_NUMBER, EMPTY, OUT_OF_RANGE, Reason, faulty

if TYPE_CHECKING:
    import pyarrow as pa

TOO_LONG = Reason(Code.TOO_LONG, "too_long", "text is longer than validate.max_characters")
TOO_SHORT = Reason(Code.TEXT_MISSING, "too_short", "text is shorter than validate.min_characters")


class Examined:
    """Some rows of one file of data/raw.

    Args:
        table: the rows as `collect` writes them.
        limits: the section `validate`; a labelled row is not rejected for being short.
        scheme: of the tags, for spans.
        repair: whether tags that break the scheme are repaired where that is possible.
        bounds: of regression values.

    Attributes:
        rows: column -> cell; of valid rows with cleaned text, tags in BIO and offsets of answers in the cleaned text.
        invalid: position -> why the row is invalid.
        reasons: position -> why the row is rejected: the invalid ones, and those out of limits. Who compares rows with
            others adds copies.
        cleaned: kind of hidden character -> characters removed.
        misfits: rows whose tags break the scheme, repaired ones included.
    """

    def __init__(
        self,
        table: "pa.Table | pa.RecordBatch",
        layout: Layout,
        limits: Limits,
        scheme: Scheme = "bio",
        repair: bool = False,
        bounds: tuple[float, float] = ANY_NUMBER,
    ) -> None:
        self.rows: list[dict[str, Any]] = table.to_pylist()
        self.cleaned, self.misfits = Counter[str](), 0
        self._layout, self._scheme, self._bounds = layout, scheme, bounds
        frame = table.to_pandas()
        if self._layout.has_spans:
            frame["tags"] = [self._in_scheme(row, repair) for row in self.rows]
        reasons = faulty(frame, layout, scheme, bounds)
        self.invalid = {place: self._with_value(place, reason) for place, reason in reasons.items()}
        self.reasons: dict[int, Reason] = {}
        for place, row in enumerate(self.rows):
            if place not in self.invalid:
                self._clean(place, row)
            if reason := self.invalid.get(place) or self._by_length(place, limits):
                self.reasons[place] = reason

    @property
    def left(self) -> list[int]:
        """Positions of the rows that are kept."""
        return [place for place in range(len(self.rows)) if place not in self.reasons]

    def cells(self, column: str) -> list[Any]:
        """Of the rows that are kept."""
        return [self.rows[place][column] for place in self.left]

    def texts(self) -> list[tuple[str, ...]]:
        """The inputs of the rows that are kept; the words of a tagged row are one text."""
        return [self._texts(place) for place in self.left]

    def _texts(self, place: int) -> tuple[str, ...]:
        return tuple(as_text(self.rows[place][name]) for name in self._layout.inputs)

    def _in_scheme(self, row: dict[str, Any], repair: bool) -> list[str]:
        """Repair the tags where that is asked for and possible, and count those that break the scheme."""
        if not tag_schemes.fits(row["tags"], self._scheme):
            self.misfits += 1
            if repair:
                with suppress(ValueError):  # not of a known scheme: the row is invalid
                    row["tags"] = tag_schemes.legal(row["tags"], self._scheme)
        return list(row["tags"])

    def _with_value(self, place: int, reason: Reason) -> Reason:
        """The reason, with the value and the range where the value is out of range."""
        if reason != OUT_OF_RANGE:
            return reason
        value, (low, high) = self.rows[place]["value"], self._bounds
        wrong = f"not in {low:g} to {high:g}" if isfinite(value) else "not finite"
        return reason._replace(text=f"value {value:g} is {wrong}")

    def _clean(self, place: int, row: dict[str, Any]) -> None:
        """Clean the texts of a valid row, and move its tags and answers with them."""
        if "answers" in self._layout.outputs:
            row["answers"] = answers = moved(row["context"], row["answers"])
            if answers is None:
                self.invalid[place] = ANSWER_ELSEWHERE
        for name in self._layout.inputs:
            parts = [clean(part) for part in ([row[name]] if isinstance(row[name], str) else row[name])]
            for _, hidden in parts:
                self.cleaned.update(hidden)
            row[name] = parts[0][0] if isinstance(row[name], str) else [text for text, _ in parts]
        if self._layout.has_spans:
            tags = row["tags"]
            row["tags"] = tag_schemes.tags(tag_schemes.spans(tags, self._scheme), len(tags), "bio")

    def _by_length(self, place: int, limits: Limits) -> Reason | None:
        texts = self._texts(place)
        characters = sum(map(len, texts))
        if characters > limits.max_characters:
            return TOO_LONG
        if not all(texts):
            return EMPTY
        return TOO_SHORT if self._layout.is_corpus and characters < limits.min_characters else None


def moved(context: str, answers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """The answers in `clean(context)`; None where one has no visible character."""
    cleaned, offsets = clean(context)[0], origins(context)
    moved_answers = []
    for answer in answers:
        first = bisect_left(offsets, answer["start"])
        end = bisect_left(offsets, answer["start"] + len(answer["text"]))
        if not cleaned[first:end].strip():
            return None
        moved_answers.append({"text": cleaned[first:end], "start": first})
    return moved_answers
