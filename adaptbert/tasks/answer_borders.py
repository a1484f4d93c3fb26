"""The tokens at which right answers start and end in the windows of their contexts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.tasks.examples import Examples

Int64 = NDArray[np.int64]
CUT = 2**62
"""The place of an answer's start and end in a window that does not contain all of it."""


def borders(answers: Sequence[tuple[int, int]], examples: Examples) -> tuple[Int64, Int64]:
    """The places where the answer of its row starts and ends in each window, (windows,); CUT where some of it is cut.

    Args:
        answers: the characters of one answer of each row; see `character_range`.
    """
    owners = examples.owners()
    row = examples.rows[owners]
    first, last = np.array(answers, np.int64).reshape(-1, 2)[row].T
    begin, end = examples.spans.T
    # Places whose characters overlap the answer. The last condition excludes the empty spans of special tokens and the
    # question.
    inside = np.flatnonzero((begin < last) & (end > first) & (end > begin))
    # The answer's first and last subword token in the whole context, by characters: a window must contain both.
    low, high = np.full(len(answers), CUT), np.full(len(answers), -1)
    np.minimum.at(low, row[inside], begin[inside])
    np.maximum.at(high, row[inside], end[inside])
    starts, ends = np.full(len(examples), CUT), np.full(len(examples), -1)
    beginning = inside[begin[inside] == low[row[inside]]]
    ending = inside[end[inside] == high[row[inside]]]
    # Several tokens may stand for the same characters: the answer starts at the first and ends at the last of them.
    np.minimum.at(starts, owners[beginning], beginning)
    np.maximum.at(ends, owners[ending], ending)
    cut = (starts == CUT) | (ends < 0)
    return np.where(cut, CUT, starts), np.where(cut, CUT, ends)


def character_range(answers: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """First character and last + 1 of the first answer; an empty range if there is none."""
    if not answers:
        return CUT, -1
    return answers[0]["start"], answers[0]["start"] + len(answers[0]["text"])
