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
    """Documents of a batch, packed.

    Attributes:
        place: where each flat token lies in the flattened rows, (tokens,).
        positions: the position of each cell in its document, 0 in padding, (rows, block).
        documents: which document fills a cell, -1 for padding, (rows, block).
    """

    place: Int64
    positions: Int64
    documents: Int64

    def fill(self, values: Int64, padding: int) -> Int64:
        """Flat values, (tokens,), laid out as rows, (rows, block)."""
        laid = np.full(self.documents.size, padding, values.dtype)
        laid[self.place] = values
        return laid.reshape(self.documents.shape)


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
    offset = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    place = np.repeat(start, lengths) + offset
    shape = (len(free), block_size)
    positions = np.zeros(len(free) * block_size, np.int64)
    positions[place] = offset
    documents = np.full(len(free) * block_size, -1, np.int64)
    documents[place] = np.repeat(np.arange(len(lengths)), lengths)
    return Rows(place, positions.reshape(shape), documents.reshape(shape))
