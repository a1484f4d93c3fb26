"""Examples of a task as flat tokens, for every task type, and the windows of texts longer than `max_length`."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
Row = Mapping[str, Any]
T = TypeVar("T")
AT_ONCE = 100_000
"""Characters that are tokenised together: an encoding takes some hundred bytes a token, an example eight."""
ROW = 100
"""Characters that are added to the length of each row."""


@dataclass(frozen=True)
class Examples:
    """Concatenated tokenised examples; a long row may be several examples, its windows.

    Attributes:
        ids: (tokens,).
        lengths: tokens of each example, (examples,).
        places: the tokens that the head reads, by their position in their example, (places,).
        spans: the part of its row that a place stands for, first word (or character) and last + 1; empty where it
            stands for the whole row, (places, 2).
        counts: places of each example, (examples,).
        rows: the row of each example, rising, (examples,).
        cut: number of rows that were truncated.
        segments: the text of a pair that a token belongs to, 0 or 1, (tokens,); None where there is one text only.
        targets: of each place, (places, ...); None without labels.
    """

    ids: Int64
    lengths: Int64
    places: Int64
    spans: Int64
    counts: Int64
    rows: Int64
    cut: int
    segments: Int64 | None = None
    targets: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, chosen: Int64) -> "Examples":
        """Some of the examples, in the requested order; the cost does not depend on the number of others."""
        tokens = ranges(self._first_tokens, self.lengths, chosen)
        places = ranges(self._first_places, self.counts, chosen)
        return Examples(
            self.ids[tokens],
            self.lengths[chosen],
            self.places[places],
            self.spans[places],
            self.counts[chosen],
            self.rows[chosen],
            self.cut,
            None if self.segments is None else self.segments[tokens],
            None if self.targets is None else self.targets[places],
        )

    def labelled(self, targets: NDArray[Any]) -> "Examples":
        """The same with targets."""
        return replace(self, targets=targets)

    def flat_places(self) -> Int64:
        """The places as indices of the flat tokens, (places,)."""
        return np.repeat(self._first_tokens, self.counts) + self.places

    def owners(self) -> Int64:
        """The example of each place, (places,)."""
        return np.repeat(np.arange(len(self)), self.counts)

    @cached_property
    def _first_tokens(self) -> Int64:
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def _first_places(self) -> Int64:
        return np.cumsum(self.counts) - self.counts


def in_chunks(rows: Sequence[Row], encode: Callable[[Sequence[Row]], Examples]) -> Examples:
    """Examples of all rows, which `encode` builds of some, numbered from 0: one chunk of encodings is in memory."""
    chunks = np.cumsum([ROW + sum(map(_characters, row.values())) for row in rows], dtype=np.int64) // AT_ONCE
    begins = [0, *(np.flatnonzero(np.diff(chunks)) + 1).tolist()]
    parts = [encode(rows[begin:end]) for begin, end in pairwise([*begins, len(rows)])]

    whole = ("ids", "lengths", "places", "spans", "counts", *(("segments",) if parts[0].segments is not None else ()))
    together = {name: np.concatenate([getattr(part, name) for part in parts]) for name in whole}
    numbers = np.concatenate([begin + part.rows for begin, part in zip(begins, parts, strict=True)])
    return Examples(**together, rows=numbers, cut=sum(part.cut for part in parts))


def _characters(cell: Any) -> int:
    """Characters of a text or of the words of a list."""
    return len(cell) if isinstance(cell, str) else sum(map(len, cell)) if isinstance(cell, list) else 0


def gather(
    ids: Sequence[Any],
    places: Sequence[Any],
    spans: Sequence[Any],
    rows: Sequence[int],
    cut: int,
    segments: Sequence[Any] | None = None,
) -> Examples:
    """An example from each list or array; `spans` are (places, 2) each."""
    lengths, counts = (np.array([len(part) for part in parts], np.int64) for parts in (ids, places))
    numbers = np.array(rows, np.int64)
    kinds = None if segments is None else _flat(segments)
    return Examples(_flat(ids), lengths, _flat(places), _flat(spans, 2), counts, numbers, cut, kinds)


def whole(ids: Sequence[Any], rows: Sequence[int], cut: int, segments: Sequence[Any] | None = None) -> Examples:
    """Examples in which the head reads the first token only, for the whole row."""
    return gather(ids, [[0]] * len(ids), [[(0, 0)]] * len(ids), rows, cut, segments)


def _flat(parts: Sequence[Any], *shape: int) -> Int64:
    return np.concatenate([np.empty((0, *shape)), *parts], dtype=np.int64, casting="unsafe")


def ranges(starts: Int64, lengths: Int64, chosen: Int64) -> Int64:
    """The concatenated indices of the ranges of the chosen items."""
    sizes = lengths[chosen]
    first: Int64 = np.repeat(starts[chosen] - (np.cumsum(sizes) - sizes), sizes)
    return first + np.arange(len(first))


def windows(length: int, room: int, stride: int, starts: Sequence[int] | None = None) -> list[tuple[int, int]]:
    """First token and last + 1 of windows that cover a text, at least one (Devlin et al. 2019, their run on SQuAD).

    Args:
        length: tokens of the text.
        room: tokens of a window.
        stride: tokens by which a window begins after the one before it; no more than `room` of it count.
        starts: first token of each word, rising from 0: a window begins where a word does, a word of more than `stride`
            tokens moves it further, and the first token of every word is in one at least; None: a token is a word.
    """
    starts = range(length) if starts is None else starts
    ranges = [(0, min(room, length))]
    while (begin := ranges[-1][0]) + room < length:
        word = bisect_right(starts, begin + min(stride, room)) - 1
        if starts[word] == begin:
            word += 1
        if word == len(starts):  # the rest belongs to the last word, whose first token is in a window
            break
        ranges.append((starts[word], min(starts[word] + room, length)))
    return ranges


def owned(places: Int64, ranges: Sequence[tuple[int, int]]) -> list[Int64]:
    """The places of each window: of all that contain a place the one whose nearer end is furthest away.

    Args:
        places: tokens of the text, rising, each in at least one window.
    """
    middles = [(begin + end - 1) / 2 for (_, end), (begin, _) in pairwise(ranges)]  # of the overlap of two windows
    return np.split(places, np.searchsorted(places, middles, side="right"))


def head_tail(tokens: Sequence[T], room: int) -> Sequence[T]:
    """The first quarter of the room from the beginning, the rest from the end.

    Sun et al. 2019, "How to Fine-Tune BERT for Text Classification?", section 5.3.1: 128 and 382 of 510.
    """
    if len(tokens) <= room:
        return tokens
    head = room // 4
    return [*tokens[:head], *tokens[len(tokens) - (room - head) :]]
