"""Finds dev and test text in the rows of corpora; `validate_set` finds copies between the splits of a labelled set.

In: the dev and test texts. Out: for any rows, which of them equal such a text or contain one. Texts are compared by
their letters and digits (adaptbert.data.cleaning.letters), so that white space, case and punctuation do not hide a
copy. A text of at least 40 bytes of these (about eight English words or thirteen Chinese characters) is also searched
for inside longer rows; a shorter one may occur in a row by chance and only matches a row that equals it.

The search is exact: a rolling hash over every 40 bytes yields candidates, and a comparison confirms them.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from adaptbert.data.cleaning import letters

WINDOW = 40
"""Minimum bytes of UTF-8 of a text that is searched for inside rows."""

_ROWS = 16
"""Rows hashed at once: bounds the memory for any number of rows."""
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_TABLE_BITS = 20


class ForbiddenText:
    """Texts that no row may equal or contain."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._exact = {letters(text).encode() for text in texts}
        self._by_start: dict[int, list[bytes]] = {}
        for text in sorted(text for text in self._exact if len(text) >= WINDOW):
            start = int(_window_hashes(np.frombuffer(text[:WINDOW], np.uint8))[0])
            self._by_start.setdefault(start, []).append(text)
        # A small table of hash prefixes dismisses most windows.
        self._maybe = np.zeros(1 << _TABLE_BITS, dtype=bool)
        self._maybe[np.array(list(self._by_start), np.uint64) >> np.uint64(64 - _TABLE_BITS)] = True

    def matches(self, rows: Sequence[str]) -> npt.NDArray[np.bool_]:
        """For each row: does it equal one of the texts, or contain a long one?"""
        keys = [letters(row).encode() for row in rows]
        is_match = np.fromiter((key in self._exact for key in keys), dtype=bool, count=len(keys))
        if self._by_start:
            for first in range(0, len(keys), _ROWS):
                is_match[first : first + _ROWS] |= self._containing(keys[first : first + _ROWS])
        return is_match

    def _containing(self, keys: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        joined = b"\n".join(keys)  # no key contains a newline, so no match spans two rows
        is_match = np.zeros(len(keys), dtype=bool)
        if len(joined) < WINDOW:
            return is_match
        ends = np.cumsum([len(key) + 1 for key in keys])
        hashes = _window_hashes(np.frombuffer(joined, np.uint8))
        for place in np.flatnonzero(self._maybe[hashes >> np.uint64(64 - _TABLE_BITS)]):
            texts = self._by_start.get(int(hashes[place]), ())
            if any(joined.startswith(text, place) for text in texts):
                is_match[np.searchsorted(ends, place, side="right")] = True
        return is_match


def _window_hashes(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """The polynomial hash modulo 2^64 of each run of `WINDOW` bytes, from one cumulative sum."""
    powers = _powers(_BASE, len(data))
    sums = np.zeros(len(data) + 1, dtype=np.uint64)
    np.cumsum((data.astype(np.uint64) + np.uint64(1)) * powers, out=sums[1:])
    windows = sums[WINDOW:] - sums[:-WINDOW]
    return windows * _powers(_INVERSE, len(windows))


def _powers(base: int, count: int) -> npt.NDArray[np.uint64]:
    """base^0, base^1, ... modulo 2^64."""
    factors = np.full(count, base, dtype=np.uint64)
    factors[:1] = 1
    return np.cumprod(factors, dtype=np.uint64)
