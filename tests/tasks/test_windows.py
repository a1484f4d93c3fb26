"""Windows cover a text without a gap, begin where they should, and each place is answered where it has most context."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.tasks.windows import head_tail, owners, word_windows

words = st.lists(st.one_of(st.integers(1, 3), st.integers(1, 60)), min_size=1, max_size=40)


@given(words, st.integers(2, 30), st.data())
def test_each_word_begins_in_a_window_that_does_not_begin_inside_one(
    pieces: list[int], room: int, data: st.DataObject
) -> None:
    stride = data.draw(st.integers(1, room))
    starts = (np.cumsum(pieces) - pieces).tolist()
    ranges = word_windows(starts, sum(pieces), room, stride)
    assert all(begin in starts and 0 < end - begin <= room for begin, end in ranges)
    assert all(before < after for (before, _), (after, _) in pairwise(ranges))
    for start in starts:
        assert any(begin <= start < end for begin, end in ranges)


@given(words, st.integers(2, 30), st.data())
def test_a_place_is_owned_by_the_window_with_most_context(pieces: list[int], room: int, data: st.DataObject) -> None:
    stride = data.draw(st.integers(1, room))
    starts = (np.cumsum(pieces) - pieces).tolist()
    ranges = word_windows(starts, sum(pieces), room, stride)

    def context(place: int, window: int) -> int:
        begin, end = ranges[window]
        return min(place - begin, end - 1 - place)

    for place, window in zip(starts, owners(starts, ranges), strict=True):
        assert context(place, window) == max(context(place, other) for other in range(len(ranges)))
        assert context(place, window) >= 0, "it is inside"


@given(st.lists(st.integers()), st.integers(1, 50))
def test_head_and_tail(tokens: list[int], room: int) -> None:
    kept = list(head_tail(tokens, room))
    head = room // 4
    assert len(kept) == min(room, len(tokens))
    if len(tokens) > room:
        assert kept[:head] == tokens[:head]
        assert kept[head:] == tokens[-(room - head) :]
    else:
        assert kept == tokens
