"""Masking: which tokens are hidden from the model, and what stands in their place.

Flat token ids in, corrupted ids and the chosen positions out. The draw is a function of (seed, pass, document,
position), so that every pass has fresh masks and yet any pass can be drawn again (Liu et al. 2019, section 4.1,
call this dynamic masking). Shares after Devlin et al. 2019, appendix A.1: of the chosen tokens 80 % [MASK], 10 % a
random token, 10 % unchanged.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from adaptbert.params import Config, contradiction
from adaptbert.stream import mix, seed_of, uniforms

Share = Annotated[float, Field(ge=0, le=1)]


class MaskingConfig(Config):
    """How tokens are chosen and replaced."""

    unit: Literal["token", "word"]
    """What is drawn: single tokens, or all tokens of a word together (whole-word masking)."""
    probability: Annotated[float, Field(gt=0, lt=1)]
    """Of each unit to be chosen."""
    mask_share: Share
    """Of the chosen tokens that become [MASK]."""
    random_share: Share
    """Of the chosen tokens that become a random token."""
    keep_share: Share
    """Of the chosen tokens that stay."""

    @model_validator(mode="after")
    def _sum(self) -> "MaskingConfig":
        total = self.mask_share + self.random_share + self.keep_share
        if abs(total - 1) > 1e-9:
            raise contradiction(
                f"mask_share {self.mask_share} + random_share {self.random_share} + keep_share {self.keep_share}"
                f" is {total:g}, not 1"
            )
        return self


class Masker:
    """Draws masks for documents.

    Args:
        config: see `MaskingConfig`.
        seed: of all draws.
        mask_id: the id of [MASK].
        replacements: ids that a random replacement may take: no special and no [unused] token.
        maskable: by token id, whether it may be chosen: no special token, (vocabulary,).
    """

    def __init__(
        self,
        config: MaskingConfig,
        seed: int,
        mask_id: int,
        replacements: NDArray[np.int64],
        maskable: NDArray[np.bool_],
    ) -> None:
        self.config, self.mask_id, self.replacements, self.maskable = config, mask_id, replacements, maskable
        self._seed = np.uint64(seed_of(seed, "mask"))

    def mask(
        self,
        ids: NDArray[np.int64],
        word_starts: NDArray[np.bool_],
        lengths: NDArray[np.int64],
        documents: NDArray[np.int64],
        passes: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Hide some tokens of documents that lie one after the other.

        Args:
            ids: (tokens,).
            word_starts: whether a token begins a word, (tokens,).
            lengths: tokens of each document, (documents,).
            documents: the number of each document in its corpus, (documents,).
            passes: the pass in which each document is read, (documents,).

        Returns:
            The corrupted ids, (tokens,), and the chosen positions in increasing order, (chosen,).
        """
        starts = np.cumsum(lengths) - lengths
        position = np.arange(len(ids)) - np.repeat(starts, lengths)
        with np.errstate(over="ignore"):
            document_key = mix(mix(self._seed + documents.astype(np.uint64)) + passes.astype(np.uint64))
        key = np.repeat(document_key, lengths)
        # Three draws a token: chosen, replaced by what, replaced by which.
        counter = position.astype(np.uint64) * np.uint64(3)

        draw = uniforms(key, counter)
        if self.config.unit == "word":
            first = word_starts | (position == 0)
            word = np.cumsum(first) - 1
            draw = draw[np.flatnonzero(first)[word]]
        chosen = np.flatnonzero((draw < self.config.probability) & self.maskable[ids])

        kind = uniforms(key[chosen], counter[chosen] + np.uint64(1))
        which = uniforms(key[chosen], counter[chosen] + np.uint64(2))
        corrupted = ids.copy()
        masked = kind < self.config.mask_share
        random = ~masked & (kind < self.config.mask_share + self.config.random_share)
        corrupted[chosen[masked]] = self.mask_id
        corrupted[chosen[random]] = self.replacements[(which[random] * len(self.replacements)).astype(np.int64)]
        return corrupted, chosen


def audit(
    ids: NDArray[np.int64],
    lengths: NDArray[np.int64],
    chosen: NDArray[np.int64],
    maskable: NDArray[np.bool_],
) -> dict[str, int]:
    """What the masks of a batch really are, as counts that add up over batches; arguments as in `Masker.mask`.

    A mean rate alone would hide documents that are masked whole or not at all.
    """
    document = np.repeat(np.arange(len(lengths)), lengths)
    candidates = np.bincount(document[maskable[ids]], minlength=len(lengths))
    hits = np.bincount(document[chosen], minlength=len(lengths))
    return {
        "maskable": int(candidates.sum()),
        "chosen": len(chosen),
        "specials": int((~maskable[ids[chosen]]).sum()),
        "documents": int((candidates > 0).sum()),
        "documents_without": int(((hits == 0) & (candidates > 0)).sum()),
        "documents_whole": int(((hits == candidates) & (candidates > 1)).sum()),
    }


def audit_metrics(counts: Mapping[str, int]) -> dict[str, float]:
    """Realised rate, special tokens chosen, and the shares of documents without a mask and masked whole."""
    documents = max(1, counts.get("documents", 0))
    return {
        "rate": counts.get("chosen", 0) / max(1, counts.get("maskable", 0)),
        "specials": counts.get("specials", 0),
        "documents_without": counts.get("documents_without", 0) / documents,
        "documents_whole": counts.get("documents_whole", 0) / documents,
    }
