"""Token ranges of texts that are longer than `max_length`: windows, or the beginning and the end."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def windows(length: int, room: int, stride: int) -> list[tuple[int, int]]:
    """First token and last + 1 of windows that cover a text, at least one (Devlin et al. 2019, their run on SQuAD).

    Args:
        length: tokens of the text.
        room: tokens of a window.
        stride: tokens by which a window begins after the one before it, at most `room`.
    """
    begins = range(0, max(0, length - room) + stride, stride)
    return [(begin, min(begin + room, length)) for begin in begins]


def word_windows(starts: Sequence[int], length: int, room: int, stride: int) -> list[tuple[int, int]]:
    """Windows that begin where a word does; the first subword token of every word is in at least one.

    Args:
        starts: first token of each word, rising from 0.
        length: tokens of the text.
        room, stride: as of `windows`; a word of more than `stride` tokens moves a window further.
    """
    ranges = [(0, min(room, length))]
    while (begin := ranges[-1][0]) + room < length:
        word = bisect_right(starts, begin + stride) - 1
        if starts[word] == begin:
            word += 1
        if word == len(starts):  # the rest belongs to the last word, whose first token is in a window
            break
        ranges.append((starts[word], min(starts[word] + room, length)))
    return ranges


def owners(places: Sequence[int], ranges: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """For each place the window with most context: the one whose nearer end is furthest away, (places,).

    Args:
        places: tokens of the text, each in at least one window.
    """
    middles = [(begin + end - 1) / 2 for (_, end), (begin, _) in pairwise(ranges)]  # of the overlap of two windows
    return np.searchsorted(np.array(middles), np.array(places))


def head_tail(tokens: Sequence[T], room: int) -> Sequence[T]:
    """The first quarter of the room from the beginning, the rest from the end.

    Sun et al. 2019, "How to Fine-Tune BERT for Text Classification?", section 5.3.1: 128 and 382 of 510.
    """
    if len(tokens) <= room:
        return tokens
    head = room // 4
    return [*tokens[:head], *tokens[len(tokens) - (room - head) :]]
