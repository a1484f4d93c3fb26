"""The documents of micro-batch k as a function of (seed, k).

A run is one stream of documents, pass after pass, of which an optimizer step has B tokens and n micro-batches. Their
bounds are multiples of B / n; micro-batch k contains the documents whose first token lies between its two. So it is
computed for any k without reading the stream from its start, and no loader, worker or generator has a state that a
resumed run would have to restore.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.core.seeds import seed_of


def steps_of(amount: float, batch: int) -> int:
    """Number of steps, at least one unless there is nothing to train on."""
    return round(amount / batch) if amount == 0 else max(1, round(amount / batch))


class DocumentStream:
    """Micro-batches of documents by number of tokens.

    Args:
        lengths: tokens of each document, (documents,).
        seed: of the order.
        step_tokens: tokens of an optimizer step, on average exactly.
        parts: micro-batches of a step, equal but for a token; each at least the longest document, so that none is
            empty.
    """

    def __init__(self, lengths: NDArray[np.int64], seed: int, step_tokens: int, parts: int = 1) -> None:
        if len(lengths) == 0 or int(lengths.max()) > step_tokens // parts:
            raise ValueError(f"micro-batches of {step_tokens // parts} tokens cannot hold the longest document")
        self.lengths, self.seed, self.step_tokens, self.parts = lengths, seed, step_tokens, parts
        self.tokens = int(lengths.sum())
        self._pass = lru_cache(maxsize=2)(self._order)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles for the processes of other devices; they compute the orders again."""
        return DocumentStream, (self.lengths, self.seed, self.step_tokens, self.parts)

    def _order(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The documents of a pass in their order, and the position of the first token of each."""
        generator = np.random.Generator(np.random.Philox(seed_of(self.seed, "order", number)))
        order = generator.permutation(len(self.lengths))
        lengths = self.lengths[order]
        starts = np.cumsum(lengths)
        starts -= lengths  # in place: ten million documents are 80 MB an array
        return order, starts

    def batch(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Documents of micro-batch k and the pass in which each one is read, (documents,) each."""
        first, last = self._first_token(k), self._first_token(k + 1)
        documents, passes = [], []
        for number in range(first // self.tokens, (last - 1) // self.tokens + 1):
            order, starts = self._pass(number)
            low, high = np.searchsorted(starts, [first - number * self.tokens, last - number * self.tokens])
            documents.append(order[low:high])
            passes.append(np.full(high - low, number, np.int64))
        return np.concatenate(documents), np.concatenate(passes)

    def _first_token(self, k: int) -> int:
        step, part = divmod(k, self.parts)
        return step * self.step_tokens + part * self.step_tokens // self.parts
