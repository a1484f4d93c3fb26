"""Padding of micro-batches to few sizes in a run, where a CUDA graph of each is to serve all of them.

The padding is documents of its own, behind the others: no document sees it, nothing is predicted from it, and its
gradients are 0. Then come empty documents, up to a constant number. Which size a micro-batch has depends on itself
alone; documents, masks and seeds are those of micro-batches that are not padded.
"""

import math
from dataclasses import dataclass

import numpy as np

from adaptbert.model.packing import Int64, Rows
from adaptbert.training.document_stream import DocumentStream

SIDE = 128
"""Tokens are padded to a multiple of it, which suits the tiles of matrix products and attention."""
FEW = 16
"""Step of the numbers of documents and of predicted tokens."""
DEVIATIONS = 8.0
"""Where one size is to serve all micro-batches, it is so many standard deviations above the mean."""
APART = 1.2
"""Where sizes differ, they lie so many standard deviations apart: six of them serve all but one in a thousand."""


@dataclass(frozen=True)
class Padding:
    """The sizes of a run.

    Attributes:
        longest: tokens of its longest document.
        least_tokens, least_documents: the usual sizes.
        step: of tokens, where there are more.
    """

    longest: int
    least_tokens: int
    least_documents: int
    step: int = SIDE

    @classmethod
    def of_stream(cls, stream: DocumentStream) -> "Padding":
        """One size, of micro-batches that have equally many tokens but for a part of a document."""
        lengths, tokens = stream.lengths, -(-stream.step_tokens // stream.parts)
        longest, mean = int(lengths.max()), float(lengths.mean())
        most = up(tokens + longest, SIDE)
        # Renewal theory: the variance of the number of documents in a stretch of tokens.
        deviation = math.sqrt(tokens * float(lengths.var()) / mean**3)
        documents = tokens / mean + 1 + DEVIATIONS * deviation
        return cls(longest, most, up(documents + (most - tokens) / longest + 2, FEW))

    @classmethod
    def of_documents(cls, lengths: Int64, documents: int) -> "Padding":
        """Few sizes, of micro-batches with so many documents."""
        longest, step = int(lengths.max()), up(APART * math.sqrt(documents * float(lengths.var())), SIDE)
        return cls(longest, 0, documents + math.ceil(step / longest), step)

    def rows(self, lengths: Int64) -> Rows:
        """The layout of documents of these lengths and of their padding, of which there is at least one token."""
        real, ends = int(lengths.sum()), np.cumsum(lengths)
        tokens = max(self.least_tokens, up(real + 1, self.step))
        fillers = np.append(np.arange(real + self.longest, tokens, self.longest), tokens)
        documents = max(self.least_documents, up(len(lengths) + len(fillers), FEW))
        empty = np.full(documents - len(lengths) - len(fillers), tokens)
        bounds = np.concatenate([[0], ends, fillers, empty]).astype(np.int32)
        begins, sizes = bounds[:-1].astype(np.int64), np.diff(bounds)
        positions = np.arange(tokens) - np.repeat(begins, sizes)
        none = np.empty(0, np.int64)  # no row of several documents is laid out
        return Rows(none, positions, none, bounds, self.longest)

    def predicted(self, count: int, probability: float) -> int:
        """The size for so many predicted tokens, of which each was chosen with this probability."""
        tokens = self.least_tokens
        deviation = math.sqrt(tokens * probability * (1 - probability))
        return up(max(count, tokens * probability + DEVIATIONS * deviation), FEW)


def up(number: float, step: int) -> int:
    """The next multiple, and at least one step."""
    return max(1, math.ceil(number / step)) * step
