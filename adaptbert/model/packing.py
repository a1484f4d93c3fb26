"""Packing: documents of any length into rows of one size, so that hardly any position is padding.

Lengths in, positions in the rows out. First-fit decreasing (Johnson 1973), which on short texts leaves a few per cent
of the positions empty where padding to the longest leaves more than half.

Row sizes are multiples of 32 below the block size, so that batches repeat matrix shapes: a library that caches its
preparation of matrix products by shape reuses it, which saves a fifteenth of a small step on a CPU.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adaptbert.model.device import Movable

Int64 = NDArray[np.int64]

SIZE_STEP = 32
SIZES = 4


@dataclass(frozen=True)
class Rows(Movable):
    """The layout of the tokens of a batch in rows of one size; arrays, once moved tensors.

    Attributes:
        place: the index of each token among all row positions, (tokens,).
        positions: of each token in its document, (tokens,).
        documents: which document fills a row position, -1 for none, (rows, block).
        bounds: where each document begins among the tokens, and the end of the last, (documents + 1,).
        longest: tokens of the longest document.
    """

    place: Int64
    positions: Int64
    documents: Int64
    bounds: NDArray[np.int32]
    longest: int


def pack(lengths: Int64, block_size: int) -> Rows:
    """Documents of `lengths` tokens, (documents,), in rows of at most `block_size` tokens.

    Of a few row sizes, the one with the fewest row positions in total; of equal ones the smallest, because attention
    costs a row the square of its size.
    """
    longest = int(lengths.max())
    if longest > block_size:
        raise ValueError(f"a document of {longest} tokens does not fit a row of {block_size}")
    sizes = range(block_size, longest - 1, -SIZE_STEP)[:SIZES]
    start, rows, size = min(
        (_first_fit(lengths, size) for size in sizes), key=lambda packed: (packed[1] * packed[2], packed[2])
    )
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    positions = np.arange(int(bounds[-1])) - np.repeat(bounds[:-1], lengths)
    place = np.repeat(start, lengths) + positions
    documents = np.full(rows * size, -1, np.int64)
    documents[place] = np.repeat(np.arange(len(lengths)), lengths)
    return Rows(place, positions, documents.reshape(rows, size), bounds.astype(np.int32), longest)


def _first_fit(lengths: Int64, size: int) -> tuple[Int64, int, int]:
    """The first row position of each document, the number of rows, and `size`."""
    free: list[int] = []
    start = np.empty(len(lengths), np.int64)
    for document in np.argsort(-lengths, kind="stable"):
        length = int(lengths[document])
        row = next((row for row, room in enumerate(free) if room >= length), len(free))
        if row == len(free):
            free.append(size)
        start[document] = row * size + size - free[row]
        free[row] -= length
    return start, len(free), size
