"""The input embeddings of the checkpoint that all arms begin with, for a baseline: what its layers add to them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WEIGHTS = "bert.embeddings.word_embeddings.weight"

Floats = NDArray[np.float32]


class Embeddings:
    """A vector for each token of a tokenizer.

    Args:
        folder: of the checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        from safetensors import safe_open
        from tokenizers import Tokenizer

        with safe_open(folder / "model.safetensors", "numpy") as weights:
            self._vectors: Floats = weights.get_tensor(WEIGHTS)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.encode_special_tokens = True  # `[MASK]` in a text is text
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def mean(self, texts: Sequence[str]) -> Floats:
        """The mean vector of the tokens of each text, of length 1, (texts, dimensions); 0 where it has no token."""
        means = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for row, text in enumerate(texts):
            if ids := self._tokenizer.encode(text, add_special_tokens=False).ids:
                mean = self._vectors[ids].mean(0)
                means[row] = mean / max(float(np.linalg.norm(mean)), np.finfo(np.float32).tiny)
        return means

    def features(self, columns: Sequence[Sequence[str]]) -> Floats:
        """Of one column of texts its means; of two both, their distances and products, as for pairs of sentences
        (Conneau et al. 2017, arXiv 1705.02364).

        Args:
            columns: (columns, rows).
        """
        means = [self.mean(column) for column in columns]
        if len(means) == 1:
            return means[0]
        first, second = means
        return np.hstack([first, second, np.abs(first - second), first * second])
