"""A corpus in which each token says where it is from."""

import numpy as np

from adaptbert.text.token_store import Flat

CLS, SEP = 2, 3


class Numbered:
    """Document d holds the tokens 1000 (d + 1) + position, so that each token says where it is from."""

    def __init__(self, lengths: list[int], wordless: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        self.lengths, self._wordless = np.array(lengths), wordless

    def read(self, documents: np.ndarray) -> Flat:
        ids, starts = [], []
        for document in documents.tolist():
            inner = np.arange(self.lengths[document] - 2)
            ids.append(np.concatenate([[CLS], 1000 * (document + 1) + inner, [SEP]]))
            begins = (inner == 0) if document in self._wordless else (inner % 2 == 0)
            starts.append(np.concatenate([[True], begins, [True]]))
        return Flat(np.concatenate(ids), np.concatenate(starts), self.lengths[documents])
