"""Examples of a task as flat tokens, for every task type."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Row = Mapping[str, Any]
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
    """Examples of all rows, built from chunks of rows, so that only one chunk of encodings is in memory.

    Args:
        encode: builds the examples of some rows, numbered from 0.
    """
    chunks = np.cumsum([ROW + sum(map(_characters, row.values())) for row in rows], dtype=np.int64) // AT_ONCE
    begins = [0, *(np.flatnonzero(np.diff(chunks)) + 1).tolist()]
    parts = [encode(rows[begin:end]) for begin, end in pairwise([*begins, len(rows)])]

    def together(name: str) -> Int64:
        return np.concatenate([getattr(part, name) for part in parts])

    return Examples(
        ids=together("ids"),
        lengths=together("lengths"),
        places=together("places"),
        spans=together("spans"),
        counts=together("counts"),
        rows=np.concatenate([begin + part.rows for begin, part in zip(begins, parts, strict=True)]),
        cut=sum(part.cut for part in parts),
        segments=None if parts[0].segments is None else together("segments"),
    )


def _characters(cell: Any) -> int:
    """Of a text or of the words of a list."""
    return len(cell) if isinstance(cell, str) else sum(map(len, cell)) if isinstance(cell, list) else 0


def gather(
    ids: Sequence[Sequence[int]],
    places: Sequence[Sequence[int]],
    spans: Sequence[Sequence[tuple[int, int]]],
    rows: Sequence[int],
    cut: int,
    segments: Sequence[Sequence[int]] | None = None,
) -> Examples:
    """Examples from one list an example."""
    return Examples(
        _flat(ids),
        _sizes(ids),
        _flat(places),
        np.array(list(chain.from_iterable(spans)), np.int64).reshape(-1, 2),
        _sizes(places),
        np.array(rows, np.int64),
        cut,
        None if segments is None else _flat(segments),
    )


def whole(
    ids: Sequence[Sequence[int]], rows: Sequence[int], cut: int, segments: Sequence[Sequence[int]] | None = None
) -> Examples:
    """Examples in which the head reads [CLS] only, for the whole row."""
    return gather(ids, [[0]] * len(ids), [[(0, 0)]] * len(ids), rows, cut, segments)


def _flat(lists: Iterable[Sequence[int]]) -> Int64:
    return np.fromiter(chain.from_iterable(lists), np.int64)


def _sizes(lists: Sequence[Sequence[int]]) -> Int64:
    return np.fromiter(map(len, lists), np.int64, len(lists))


def ranges(starts: Int64, lengths: Int64, chosen: Int64) -> Int64:
    """The concatenated indices of the ranges of the chosen items."""
    sizes = lengths[chosen]
    first: Int64 = np.repeat(starts[chosen] - (np.cumsum(sizes) - sizes), sizes)
    return first + np.arange(len(first))
