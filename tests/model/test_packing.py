"""Packing is a round trip: every token lies in one cell, in the order of its document, and little is padding."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.model.packing import SIZE_STEP, SIZES, pack

BLOCK = 32


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, BLOCK), min_size=1, max_size=40), st.integers(0, 16))
def test_round_trip(lengths: list[int], spare: int) -> None:
    block = BLOCK + spare
    rows = pack(np.array(lengths), block)
    tokens = sum(lengths)
    laid = np.zeros(rows.documents.size, np.int64)
    laid[rows.place] = np.arange(1, tokens + 1)
    laid = laid.reshape(rows.documents.shape)

    assert max(lengths) <= laid.shape[1]
    assert laid.shape[1] in range(block, 0, -SIZE_STEP)[:SIZES], "of a few sizes"
    assert np.count_nonzero(laid) == tokens, "a cell of its own for each token"
    assert np.array_equal(rows.documents == -1, laid == 0)
    assert rows.positions.tolist() == [i for length in lengths for i in range(length)], "positions restart"

    ends = np.cumsum(lengths)
    for document, length in enumerate(lengths):
        cells = np.argwhere(rows.documents == document)
        assert len(cells) == length
        assert len(set(cells[:, 0])) == 1, "one row"
        assert (np.diff(cells[:, 1]) == 1).all(), "side by side"
        expected = np.arange(ends[document] - length, ends[document]) + 1
        assert np.array_equal(laid[rows.documents == document], expected)


cuts = st.lists(st.sets(st.integers(1, BLOCK - 1), max_size=4), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(cuts, st.randoms(use_true_random=False))
def test_waste_is_bounded(cut_at: list[set[int]], order: random.Random) -> None:
    """Full rows cut into documents: the fewest rows are known, and first-fit decreasing needs at most 11/9 of them
    and 6/9 of a row (Dósa 2007)."""
    lengths = [int(length) for cut in cut_at for length in np.diff([0, *sorted(cut), BLOCK])]
    order.shuffle(lengths)
    rows = len(pack(np.array(lengths), BLOCK).documents)
    assert len(cut_at) <= rows <= len(cut_at) * 11 / 9 + 6 / 9


def test_the_row_size_with_the_fewest_positions_is_chosen() -> None:
    assert pack(np.array([60, 60, 60]), 128).documents.shape == (3, 64), "not two rows of 128"
    assert pack(np.array([40] * 6), 128).documents.shape == (2, 128), "not six of 64"
    assert pack(np.array([32, 32, 32, 32]), 128).documents.shape == (4, 32), "of equal ones the smallest"
    assert pack(np.array([100]), 128).documents.shape == (1, 128)


def test_a_document_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="a document of 33 tokens does not fit a row of 32"):
        pack(np.array([3, 33]), 32)
