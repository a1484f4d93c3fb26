"""Masking: chooses the tokens to predict, replaces them, and counts what was chosen.

Flat token ids in, corrupted ids and the chosen positions out. The draw is a function of (seed, pass, document,
position), so that every pass has new masks and any pass can be drawn again (Liu et al. 2019, section 4.1, call this
dynamic masking). Shares after Devlin et al. 2019, appendix A.1: of the chosen tokens 80 % [MASK], 10 % a random token,
10 % unchanged.

A document is divided into units before any is chosen, and each unit is chosen with the same probability. So every token
is chosen with that probability, whatever the lengths of words, runs and documents.

The audit of a run is made of counts that are integers and summed over batches, so that a savepoint stores them exactly
and processes can add them. A mean rate alone would hide documents that are masked completely or not at all.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.config.schema.mlm import Masking, Ngram
from adaptbert.core.counter_rng import Uint64, mix, uniforms
from adaptbert.core.seeds import seed_of
from adaptbert.text.token_store import Bools, Flat, Int64
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.words import IDEOGRAPH

CLASSES = ("continuation", "chinese", "latin", "digit", "punctuation", "other")
BINS = 40
"""Bins of the rates of documents: bin b holds those in ((b - 1) / BINS, b / BINS], bin 0 those without a mask."""
QUANTILES = (5, 50, 95)
MILLIONTHS = 1_000_000


class Masker:
    """Draws masks for documents.

    Args:
        config: how tokens are chosen and replaced.
        seed: of all draws.
        tokenizer: of the ids.

    Attributes:
        probability: of each token.
    """

    def __init__(self, config: Masking, seed: int, tokenizer: Tokenizer) -> None:
        self._config, self._maskable, self._classes = config, tokenizer.maskable, token_classes(tokenizer.forms)
        self.probability = config.probability
        self._mask_id, self._replacements = tokenizer.mask, tokenizer.replacements
        self._seed, self._ngram_seed = np.uint64(seed_of(seed, "mask")), np.uint64(seed_of(seed, "ngram"))
        self._ngram_bounds = np.cumsum(run_shares(config.ngram))[:-1] if config.ngram is not None else None

    def mask(self, flat: Flat, documents: Int64, passes: Int64) -> tuple[Int64, Int64, Bools]:
        """Mask some tokens of concatenated documents.

        Args:
            documents: the number of each document in its corpus, (documents,).
            passes: the pass in which each document is read, (documents,).

        Returns:
            The corrupted ids, (tokens,); the chosen positions in increasing order, (chosen,); and whether a unit begins
            at each token, (tokens,). A special token may lie in a unit; it is never chosen.
        """
        # Each token has three draws of its own, at counters 3 p, 3 p + 1 and 3 p + 2: whether it is chosen, how it is
        # replaced, and by which token. So no draw depends on how many tokens before it were chosen.
        key = np.repeat(document_keys(self._seed, documents, passes), flat.lengths)
        counter = _positions(flat.lengths) * np.uint64(3)
        begins = self._units(flat, documents, passes)
        first = np.flatnonzero(begins)
        # All tokens of a unit share the draw of its first token: cumsum - 1 is the number of each token's unit.
        draw = uniforms(key[first], counter[first])[np.cumsum(begins) - 1]
        chosen = np.flatnonzero((draw < self.probability) & self._maskable[flat.ids])

        kind = uniforms(key[chosen], counter[chosen] + np.uint64(1))
        which = uniforms(key[chosen], counter[chosen] + np.uint64(2))
        corrupted = flat.ids.copy()
        masked = kind < self._config.mask_share
        # The shares are intervals of the same draw: [MASK] below mask_share, then a random token, the rest unchanged.
        random = ~masked & (kind < self._config.mask_share + self._config.random_share)
        corrupted[chosen[masked]] = self._mask_id
        corrupted[chosen[random]] = self._replacements[(which[random] * len(self._replacements)).astype(np.int64)]
        return corrupted, chosen, begins

    def before_maskable(self, flat: Flat) -> Int64:
        """The positions that are followed by a token of their document that may be masked, (positions,)."""
        return np.flatnonzero(self._maskable[flat.ids] & (_positions(flat.lengths) > 0)) - 1

    def _units(self, flat: Flat, documents: Int64, passes: Int64) -> Bools:
        """Whether a unit begins at each token, (tokens,); the first token of a document begins one."""
        if self._config.unit == "token":
            return np.ones(len(flat.ids), np.bool_)
        starts = np.cumsum(flat.lengths) - flat.lengths
        begins = flat.word_starts.copy()
        begins[starts] = True  # no unit extends across documents
        if self._ngram_bounds is None:
            return begins

        # Runs lie in stretches without a special token. Where a run begins depends on the lengths before it, so lengths
        # are not drawn by first word: run i of a stretch has the length that was drawn for word i of the stretch. There
        # are at least as many words as runs, and the beginnings of runs are a cumulative sum.
        inside = self._maskable[flat.ids]
        stretch = inside.copy()
        stretch[1:] &= ~inside[:-1]
        stretch[starts] = inside[starts]
        words = np.flatnonzero(inside & (begins | stretch))
        key = np.repeat(document_keys(self._ngram_seed, documents, passes), flat.lengths)[words]
        drawn = 1 + np.searchsorted(self._ngram_bounds, uniforms(key, _positions(flat.lengths)[words]), side="right")
        first = np.flatnonzero(stretch[words])  # the first word of each stretch, as an index of `words`
        counts = np.diff(first, append=len(words))
        # The first word of each run, as if stretches had no end: the sum of the lengths of the runs before it, counted
        # from the first word of its stretch. Runs beyond the end of their stretch are dropped.
        before = np.cumsum(drawn) - drawn
        run = before + np.repeat(first - before[first], counts)
        begins = ~inside  # a special token is a unit of its own, so that a run ends before it
        begins[words[run[run < np.repeat(first + counts, counts)]]] = True
        return begins

    def counts(self, flat: Flat, chosen: Int64, begins: Bools) -> dict[str, int]:
        """The counts of one batch for `audit_metrics`; their names are the same for each batch.

        Args:
            flat: before masking.
            chosen, begins: as `mask` returns them.
        """
        maskable = self._maskable[flat.ids]
        document = np.repeat(np.arange(len(flat.lengths)), flat.lengths)
        inside = np.flatnonzero(maskable)
        candidates = np.bincount(document[inside], minlength=len(flat.lengths))
        hits = np.bincount(document[chosen], minlength=len(flat.lengths))
        # A unit without a maskable token cannot be chosen and does not count.
        units = np.flatnonzero(np.diff((np.cumsum(begins) - 1)[inside], prepend=-1))
        drawn = np.bincount(document[inside[units]], minlength=len(flat.lengths))
        some, several = candidates > 0, candidates > 1
        bins = np.ceil(BINS * hits[some] / candidates[some]).astype(np.int64)
        probability = self._config.probability
        return {
            "maskable": len(inside),
            "units": len(units),
            "chosen": len(chosen),
            "specials": int(len(chosen) - np.count_nonzero(maskable[chosen])),
            "documents": int(some.sum()),
            "documents_without": int((hits[some] == 0).sum()),
            "documents_without_expected": _millionths((1 - probability) ** drawn[some]),
            "documents_several": int(several.sum()),
            "documents_whole": int((hits == candidates)[several].sum()),
            "documents_whole_expected": _millionths(probability ** drawn[several]),
            **{f"documents_rate/{b}": count for b, count in enumerate(np.bincount(bins, minlength=BINS + 1).tolist())},
            **self._by_class("maskable", flat.ids[inside]),
            **self._by_class("chosen", flat.ids[chosen]),
        }

    def _by_class(self, name: str, ids: Int64) -> dict[str, int]:
        counts = np.bincount(self._classes[ids], minlength=len(CLASSES)).tolist()
        return {f"{name}/{kind}": count for kind, count in zip(CLASSES, counts, strict=True)}


def document_keys(seed: np.uint64, documents: Int64, passes: Int64) -> Uint64:
    """The key of each document in a pass, (documents,), for all that is drawn of it."""
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is intended
        return mix(mix(seed + documents.astype(np.uint64)) + passes.astype(np.uint64))


def run_shares(ngram: Ngram) -> NDArray[np.float64]:
    """Probabilities of runs of 1, 2 ... words, (longest,)."""
    weights = (1 - ngram.geometric) ** np.arange(ngram.longest)
    return np.asarray(weights / weights.sum())


def audit_metrics(counts: Mapping[str, int]) -> dict[str, float]:
    """Metrics from the summed counts of a run; empty where no document was masked.

    Returns:
        `documents`: how many were masked, each as often as it was read. `rate`: chosen tokens of those that may be.
        `rate_p05`, `rate_p50`, `rate_p95`: quantiles of the rates of documents, to 1 / `BINS`. `unit_tokens`: mean
        length of a unit. `specials`: special tokens that were chosen, a number. `documents_without` and
        `documents_without_expected`: share of documents without a mask, and the mean chance of that by the number of
        their units. `documents_whole` and `documents_whole_expected`: of the documents with more than one token, the
        share in which every token is chosen, and its mean chance; it is high where units are as long as documents.
        `rate_<class>`: as `rate`, for the classes of token that occur.
    """
    documents, several = counts.get("documents", 0), max(1, counts.get("documents_several", 0))
    if documents == 0:
        return {}
    return {
        "documents": documents,
        "rate": counts["chosen"] / counts["maskable"],
        **{f"rate_p{percent:02}": _quantile(counts, percent / 100) for percent in QUANTILES},
        "unit_tokens": counts["maskable"] / counts["units"],
        "specials": counts["specials"],
        "documents_without": counts["documents_without"] / documents,
        "documents_without_expected": counts["documents_without_expected"] / MILLIONTHS / documents,
        "documents_whole": counts["documents_whole"] / several,
        "documents_whole_expected": counts["documents_whole_expected"] / MILLIONTHS / several,
        **{
            f"rate_{kind}": counts[f"chosen/{kind}"] / counts[f"maskable/{kind}"]
            for kind in CLASSES
            if counts[f"maskable/{kind}"]
        },
    }


def _quantile(counts: Mapping[str, int], share: float) -> float:
    """The rate below which this share of the documents lies, interpolated linearly within a bin."""
    left = share * counts["documents"]
    for bin_ in range(BINS + 1):
        here = counts[f"documents_rate/{bin_}"]
        if left <= here and here:
            return max(0.0, (bin_ - 1 + left / here) / BINS) if bin_ else 0.0
        left -= here
    return 1.0


def _millionths(chances: NDArray[np.floating[Any]]) -> int:
    return int(np.rint(chances * MILLIONTHS).sum())


def _positions(lengths: Int64) -> Uint64:
    """The position of each token in its document, (tokens,)."""
    return (np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)).astype(np.uint64)


def token_classes(forms: Sequence[tuple[bool, str]]) -> Int64:
    """The index in `CLASSES` of each token, by id, (vocabulary,); the first character decides.

    Args:
        forms: see `Tokenizer.forms`.
    """
    return np.array([CLASSES.index("continuation" if inside else _class(text)) for inside, text in forms], np.int64)


def _class(text: str) -> str:
    first = text[:1]
    if IDEOGRAPH.match(first):
        return "chinese"
    category = unicodedata.category(first) if first else ""
    if category.startswith("L") and unicodedata.name(first, "").startswith("LATIN"):
        return "latin"
    if category.startswith("N"):
        return "digit"
    # So BERT's tokenizer counts them: all of ASCII that is neither letter nor digit is punctuation, $ and ^ too.
    if category.startswith("P") or (category.startswith("S") and first.isascii()):
        return "punctuation"
    return "other"
