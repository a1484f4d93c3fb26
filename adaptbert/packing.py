"""Packing: documents of any length into rows of one size, so that hardly any position is padding.

Lengths in, places out. First-fit decreasing (Johnson 1973), which on short texts leaves a few per cent of the
positions empty where padding to the longest leaves more than half.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Where the tokens of a batch lie when documents are laid out in rows of one size; arrays, on a device tensors.

    Attributes:
        place: the cell of each token among all cells, (tokens,).
        positions: of each token in its document, (tokens,).
        documents: which document fills a cell, -1 for none, (rows, block).
        bounds: where each document begins among the tokens, and the end of the last, (documents + 1,).
        longest: tokens of the longest document.
    """

    place: Int64
    positions: Int64
    documents: Int64
    bounds: NDArray[np.int32]
    longest: int


def pack(lengths: Int64, block_size: int) -> Rows:
    """Documents of `lengths` tokens, (documents,), in as few rows of `block_size` tokens as first-fit finds."""
    if int(lengths.max()) > block_size:
        raise ValueError(f"a document of {int(lengths.max())} tokens does not fit a row of {block_size}")
    free: list[int] = []
    start = np.empty(len(lengths), np.int64)
    for document in np.argsort(-lengths, kind="stable"):
        length = int(lengths[document])
        row = next((row for row, room in enumerate(free) if room >= length), len(free))
        if row == len(free):
            free.append(block_size)
        start[document] = row * block_size + block_size - free[row]
        free[row] -= length
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    positions = np.arange(int(bounds[-1])) - np.repeat(bounds[:-1], lengths)
    place = np.repeat(start, lengths) + positions
    documents = np.full(len(free) * block_size, -1, np.int64)
    documents[place] = np.repeat(np.arange(len(lengths)), lengths)
    laid = documents.reshape(len(free), block_size)
    return Rows(place, positions, laid, bounds.astype(np.int32), int(lengths.max()))
