"""Masking: chooses the tokens to predict, and replaces them.

Flat token ids in, corrupted ids and the chosen positions out. The draw is a function of (seed, pass, document,
position), so that every pass has new masks and any pass can be drawn again (Liu et al. 2019, section 4.1, call this
dynamic masking). Shares after Devlin et al. 2019, appendix A.1: of the chosen tokens 80 % [MASK], 10 % a random token,
10 % unchanged.

A document is divided into units before any is chosen, and each unit is chosen with the same probability. So every token
is chosen with that probability, whatever the lengths of words, runs and documents.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adaptbert.config.schema.mlm import Masking, Ngram
from adaptbert.core.counter_rng import Uint64, mix, uniforms
from adaptbert.core.seeds import seed_of
from adaptbert.text.tokenizer import Tokenizer

Share = Annotated[float, Field(ge=0, le=1)]


class Masker:
    """Draws masks for documents.

    Args:
        config: how tokens are chosen and replaced.
        seed: of all draws.
        tokenizer: of the ids; its `tokens` are the texts of all ids.
    """

    def __init__(self, config: Masking, seed: int, tokenizer: Tokenizer) -> None:
        self.config, self.maskable = config, tokenizer.maskable
        self._mask_id, self._replacements = tokenizer.mask, tokenizer.replacements
        self._seed, self._ngram_seed = np.uint64(seed_of(seed, "mask")), np.uint64(seed_of(seed, "ngram"))
        self._ngram_bounds = np.cumsum(run_shares(config.ngram))[:-1] if config.ngram is not None else None

    def mask(
        self,
        ids: NDArray[np.int64],
        word_starts: NDArray[np.bool_],
        lengths: NDArray[np.int64],
        documents: NDArray[np.int64],
        passes: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Mask some tokens of concatenated documents.

        Args:
            ids: (tokens,).
            word_starts: whether a token begins a word, (tokens,).
            lengths: tokens of each document, (documents,).
            documents: the number of each document in its corpus, (documents,).
            passes: the pass in which each document is read, (documents,).

        Returns:
            The corrupted ids, (tokens,), and the chosen positions in increasing order, (chosen,).
        """
        # Each token has three draws of its own, at counters 3 p, 3 p + 1 and 3 p + 2: whether it is chosen, how it is
        # replaced, and by which token. So no draw depends on how many tokens before it were chosen.
        key, counter = self._keys(self._seed, lengths, documents, passes), _positions(lengths) * np.uint64(3)
        begins = self.units(ids, word_starts, lengths, documents, passes)
        first = np.flatnonzero(begins)
        # All tokens of a unit share the draw of its first token: cumsum - 1 is the number of each token's unit.
        draw = uniforms(key[first], counter[first])[np.cumsum(begins) - 1]
        chosen = np.flatnonzero((draw < self.config.probability) & self.maskable[ids])

        kind = uniforms(key[chosen], counter[chosen] + np.uint64(1))
        which = uniforms(key[chosen], counter[chosen] + np.uint64(2))
        corrupted = ids.copy()
        masked = kind < self.config.mask_share
        # The shares are intervals of the same draw: [MASK] below mask_share, then a random token, the rest unchanged.
        random = ~masked & (kind < self.config.mask_share + self.config.random_share)
        corrupted[chosen[masked]] = self._mask_id
        corrupted[chosen[random]] = self._replacements[(which[random] * len(self._replacements)).astype(np.int64)]
        return corrupted, chosen

    def units(
        self,
        ids: NDArray[np.int64],
        word_starts: NDArray[np.bool_],
        lengths: NDArray[np.int64],
        documents: NDArray[np.int64],
        passes: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Whether a unit that `mask` draws for the same arguments begins at each token, (tokens,).

        The first token of a document begins one. A special token may lie in a unit; it is never chosen.
        """
        if self.config.unit == "token":
            return np.ones(len(ids), np.bool_)
        starts = np.cumsum(lengths) - lengths
        begins = word_starts.copy()
        begins[starts] = True  # no unit extends across documents
        if self._ngram_bounds is None:
            return begins

        # Runs lie in stretches without a special token. Where a run begins depends on the lengths before it, so lengths
        # are not drawn by first word: run i of a stretch has the length that was drawn for word i of the stretch. There
        # are at least as many words as runs, and the beginnings of runs are a cumulative sum.
        inside = self.maskable[ids]
        stretch = inside.copy()
        stretch[1:] &= ~inside[:-1]
        stretch[starts] = inside[starts]
        words = np.flatnonzero(inside & (begins | stretch))
        key = self._keys(self._ngram_seed, lengths, documents, passes)[words]
        drawn = 1 + np.searchsorted(self._ngram_bounds, uniforms(key, _positions(lengths)[words]), side="right")
        first = np.flatnonzero(stretch[words])  # the first word of each stretch, as an index of `words`
        counts = np.diff(first, append=len(words))
        # The first word of each run, as if stretches had no end: the sum of the lengths of the runs before it, counted
        # from the first word of its stretch. Runs beyond the end of their stretch are dropped.
        before = np.cumsum(drawn) - drawn
        run = before + np.repeat(first - before[first], counts)
        begins = ~inside  # a special token is a unit of its own, so that a run ends before it
        begins[words[run[run < np.repeat(first + counts, counts)]]] = True
        return begins

    @staticmethod
    def _keys(
        seed: np.uint64, lengths: NDArray[np.int64], documents: NDArray[np.int64], passes: NDArray[np.int64]
    ) -> Uint64:
        """The key of each token's document and pass, (tokens,)."""
        with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is intended
            document_key = mix(mix(seed + documents.astype(np.uint64)) + passes.astype(np.uint64))
        return np.repeat(document_key, lengths)


def run_shares(ngram: Ngram) -> NDArray[np.float64]:
    """Probabilities of runs of 1, 2 ... words, (longest,)."""
    weights = (1 - ngram.geometric) ** np.arange(ngram.longest)
    return np.asarray(weights / weights.sum())


def _positions(lengths: NDArray[np.int64]) -> Uint64:
    """The position of each token in its document, (tokens,)."""
    starts = np.cumsum(lengths) - lengths
    return (np.arange(lengths.sum()) - np.repeat(starts, lengths)).astype(np.uint64)
