"""Cuts texts into documents: at most `max_length` token ids with [CLS] and [SEP]; longer texts are cut between words.

The computation is vectorised over batches of texts. A `Cutter` can be pickled into a worker process, which imports no
more than the tokenizers library.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.text.cut_points import spans
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.words import Segmenter, joined

if TYPE_CHECKING:
    from tokenizers import Encoding


def is_heldout(text_id: str, fraction: float) -> bool:
    """Whether the text of this id is held out: the same in every corpus, for any size and order."""
    return int.from_bytes(blake2b(text_id.encode(), digest_size=8).digest(), "big") < fraction * 2**64


@dataclass(frozen=True)
class Documents:
    """The documents of some texts, concatenated; a text without a token has none.

    Attributes:
        ids: in the type in which they are stored, (tokens,).
        word_starts: whether a token begins a word; [CLS] and [SEP] do, (tokens,).
        lengths: tokens of each, (documents,).
        characters: of the text of each, (documents,).
        unknown: tokens that are [UNK].
        misaligned: texts whose words are the tokenizer's, because the segmenter's do not fit its tokens.
    """

    ids: NDArray[Any]
    word_starts: NDArray[np.bool_]
    lengths: NDArray[np.int64]
    characters: NDArray[np.int64]
    unknown: int
    misaligned: int


@dataclass(frozen=True)
class Cutter:
    """Cuts texts into documents.

    Attributes:
        rules: the tokenizer, serialised by the tokenizers library.
        cls, sep, unknown: ids of special tokens.
        dtype: of the ids.
        max_length: see `DocumentConfig`.
        segmenter: determines the words.
    """

    rules: str
    cls: int
    sep: int
    unknown: int
    dtype: str
    max_length: int
    segmenter: Segmenter

    @classmethod
    def of(cls, tokenizer: Tokenizer, max_length: int, segmenter: Segmenter) -> "Cutter":
        dtype = "uint16" if tokenizer.size <= 2**16 else "int32"
        rules = tokenizer.backend.to_str()
        return cls(rules, tokenizer.cls, tokenizer.sep, tokenizer.unknown, dtype, max_length, segmenter)

    def __call__(self, texts: Sequence[str]) -> Documents:
        encodings = _backend(self.rules).encode_batch(list(texts), add_special_tokens=False)
        counts = np.array([len(encoding) for encoding in encodings], np.int64)
        ids = joined(encoding.ids for encoding in encodings)
        begins, misaligned = self.segmenter.word_starts(texts, encodings)
        ends = self._ends(counts, begins)
        starts = np.concatenate([[0], ends[:-1]])[: len(ends)]

        lengths = ends - starts + 2
        last = np.cumsum(lengths) - 1
        first = last - lengths + 1
        inner = np.ones(len(ids) + 2 * len(ends), np.bool_)
        inner[first] = inner[last] = False
        stored_ids = np.empty(len(inner), self.dtype)
        stored_ids[first], stored_ids[last], stored_ids[inner] = self.cls, self.sep, ids
        stored_begins = np.ones(len(inner), np.bool_)
        stored_begins[inner] = begins
        characters = _characters(encodings, np.cumsum(counts) - counts, starts, ends)
        unknown = int(np.count_nonzero(ids == self.unknown))
        return Documents(stored_ids, stored_begins, lengths, characters, unknown, misaligned)

    def _ends(self, counts: NDArray[np.int64], begins: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The end of each document in the tokens of all texts: at the end of a text or between words, (documents,)."""
        room = self.max_length - 2
        text_ends = np.cumsum(counts)
        cuts: list[int] = []
        for text in np.flatnonzero(counts > room):
            start, end = int(text_ends[text] - counts[text]), int(text_ends[text])
            cuts += [start + cut for _, cut in spans(begins[start:end].tolist(), room)]
        return np.union1d(text_ends[counts > 0], np.array(cuts, np.int64))


def _characters(
    encodings: "Sequence[Encoding]",
    text_starts: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Characters from a document's first token to its last, (documents,)."""
    # Several texts start at one position if all but the last of them have no token; the last has the token.
    owners = np.searchsorted(text_starts, starts, side="right") - 1
    firsts, lasts = starts - text_starts[owners], ends - text_starts[owners] - 1
    spans = [
        encodings[owner].token_to_chars(last)[1] - encodings[owner].token_to_chars(first)[0]
        for owner, first, last in zip(owners.tolist(), firsts.tolist(), lasts.tolist(), strict=True)
    ]
    return np.array(spans, np.int64)


@lru_cache(maxsize=1)
def _backend(rules: str) -> Any:
    """The tokenizer of this process, created for its first text."""
    import tokenizers

    backend = tokenizers.Tokenizer.from_str(rules)
    backend.encode_special_tokens = True  # not part of the serialised rules; see adaptbert.text.tokenizer
    return backend
