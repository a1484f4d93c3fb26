"""The class of each token of a vocabulary, by its characters alone."""

import unicodedata
from collections.abc import Sequence

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
