"""A length schedule: the first steps on short documents, the rest on whole ones; the corpus is tokenised once.

Attention and activations of a long document cost more than those of the same tokens in short ones, and most learning
does not need the length (Devlin et al. 2019, appendix A.2: 90 % of the steps at 128 tokens, the rest at 512).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.text.cut_points import spans
from adaptbert.text.token_store import Documents, Flat

Int64 = NDArray[np.int64]
BATCH = 2_000  # long documents that are cut at a time


class ShortDocuments:
    """A view of documents in which the long ones are cut into chunks, each with its own [CLS] and [SEP].

    Args:
        documents: to be cut, between words unless a word is longer than a chunk; word starts of the long ones are read
        once. longest: tokens of a chunk, [CLS] and [SEP] included.

    Attributes:
        lengths: tokens of each chunk, (chunks,).
    """

    def __init__(self, documents: Documents, longest: int) -> None:
        self._documents, self._longest = documents, longest
        long = np.flatnonzero(documents.lengths > longest)
        whole = np.flatnonzero(documents.lengths <= longest)
        owner, first, last = [whole], [np.zeros(len(whole), np.int64)], [documents.lengths[whole] - 2]
        for batch in (long[start : start + BATCH] for start in range(0, len(long), BATCH)):
            flat = documents.read(batch)
            ends = np.cumsum(flat.lengths)
            for document, end, length in zip(batch, ends, flat.lengths, strict=True):
                borders = np.array(list(spans(flat.word_starts[end - length + 1 : end - 1].tolist(), longest - 2)))
                owner.append(np.full(len(borders), document))
                first.append(borders[:, 0])
                last.append(borders[:, 1])
        # In the order of the corpus: short documents and chunks must not form two blocks.
        place = np.argsort(np.concatenate(owner), kind="stable")
        self._owner, self._first, self._last = (np.concatenate(parts)[place] for parts in (owner, first, last))
        self.lengths: Int64 = self._last - self._first + 2

    def __reduce__(self) -> tuple[Any, ...]:
        """For the processes of other devices: they cut the same chunks."""
        return ShortDocuments, (self._documents, self._longest)

    def read(self, documents: Int64) -> Flat:
        """Some chunks, in the requested order."""
        flat = self._documents.read(self._owner[documents])
        starts = np.cumsum(flat.lengths) - flat.lengths
        ends = starts + flat.lengths - 1
        begins, lengths = starts + self._first[documents], self.lengths[documents]
        # [CLS] and [SEP] come from the borders of the document, the tokens between them from the place of the chunk.
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        taken = np.repeat(begins, lengths) + within
        chunk_ends = np.cumsum(lengths)
        taken[chunk_ends - lengths] = starts
        taken[chunk_ends - 1] = ends
        return Flat(flat.ids[taken], flat.word_starts[taken], lengths)
