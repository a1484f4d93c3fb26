"""Audit of the masks of a run: masking rates by document and by token class, with their expected values.

The counts are integers that are summed over batches, so that a savepoint stores them exactly and processes can add
them. A mean rate alone would hide documents that are masked completely or not at all.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

CLASSES = ("continuation", "chinese", "latin", "digit", "punctuation", "other")

IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
"""Blocks of Chinese characters that BERT's tokenizer separates one by one."""
BINS = 40
"""Of the rates of documents: bin b holds those in ((b - 1) / BINS, b / BINS], bin 0 those without a mask."""
QUANTILES = (5, 50, 95)
MILLIONTHS = 1_000_000


class MaskingAudit:
    """Counts of the masks of a batch.

    Args:
        probability: with which each unit is chosen.
        maskable: by token id, whether it may be chosen, (vocabulary,).
        classes: by token id, its place in `CLASSES`, (vocabulary,); None counts no classes.
    """

    def __init__(
        self, probability: float, maskable: NDArray[np.bool_], classes: NDArray[np.int64] | None = None
    ) -> None:
        self.probability, self.maskable, self.classes = probability, maskable, classes

    def counts(
        self,
        ids: NDArray[np.int64],
        lengths: NDArray[np.int64],
        units: NDArray[np.bool_],
        chosen: NDArray[np.int64],
    ) -> dict[str, int]:
        """The counts of one batch; their names are the same for each batch.

        Args:
            ids: before masking, (tokens,).
            lengths: tokens of each document, (documents,).
            units: where a unit begins (`Masker.units`), (tokens,).
            chosen: positions, (chosen,).
        """
        maskable = self.maskable[ids]
        document = np.repeat(np.arange(len(lengths)), lengths)
        inside = np.flatnonzero(maskable)
        candidates = np.bincount(document[inside], minlength=len(lengths))
        hits = np.bincount(document[chosen], minlength=len(lengths))
        # A unit without a maskable token cannot be chosen and does not count.
        units_inside = np.flatnonzero(np.diff((np.cumsum(units) - 1)[inside], prepend=-1))
        drawn = np.bincount(document[inside[units_inside]], minlength=len(lengths))
        some, several = candidates > 0, candidates > 1
        bins = np.ceil(BINS * hits[some] / candidates[some]).astype(np.int64)
        return {
            "maskable": len(inside),
            "units": len(units_inside),
            "chosen": len(chosen),
            "specials": int(len(chosen) - np.count_nonzero(maskable[chosen])),
            "documents": int(some.sum()),
            "documents_without": int((hits[some] == 0).sum()),
            "documents_without_expected": _millionths((1 - self.probability) ** drawn[some]),
            "documents_several": int(several.sum()),
            "documents_whole": int((hits == candidates)[several].sum()),
            "documents_whole_expected": _millionths(self.probability ** drawn[several]),
            **{f"documents_rate/{b}": count for b, count in enumerate(np.bincount(bins, minlength=BINS + 1).tolist())},
            **self._by_class("maskable", ids[inside]),
            **self._by_class("chosen", ids[chosen]),
        }

    def _by_class(self, name: str, ids: NDArray[np.int64]) -> dict[str, int]:
        if self.classes is None:
            return {}
        counts = np.bincount(self.classes[ids], minlength=len(CLASSES)).tolist()
        return {f"{name}/{kind}": count for kind, count in zip(CLASSES, counts, strict=True)}


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
            if counts.get(f"maskable/{kind}", 0)
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


def token_classes(tokens: Sequence[str]) -> NDArray[np.int64]:
    """The index in `CLASSES` of each token, by id, (vocabulary,); the first character decides."""
    return np.array([CLASSES.index(_class(token)) for token in tokens], np.int64)


def _class(token: str) -> str:
    if token.startswith("##") and len(token) > 2:
        return "continuation"
    first = token[:1]
    if any(low <= ord(first) <= high for low, high in IDEOGRAPHS if first):
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
