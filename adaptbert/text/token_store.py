"""A tokenised corpus, as adaptbert.text.token_writer leaves it: a folder of flat token arrays, read as documents.

A document is a text, or a piece of one that is longer than `max_length`; where texts end is not kept.

Of a corpus that is read, a document needs some bytes of memory, whatever its length; its tokens are pages of the
files, which the system frees when memory is short.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from adaptbert.codes import Code
from adaptbert.core.files import read_json
from adaptbert.core.seeds import seed_of
from adaptbert.errors import BadData

Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Flat:
    """Concatenated documents.

    Attributes:
        ids: (tokens,).
        word_starts: (tokens,).
        lengths: (documents,).
    """

    ids: Int64
    word_starts: Bools
    lengths: Int64


class Documents(Protocol):
    """The documents that training reads."""

    @property
    def lengths(self) -> Int64:
        """Tokens of each document, (documents,)."""
        ...

    def read(self, documents: Int64) -> Flat:
        """The documents of these numbers, in this order."""
        ...


class TokenizedCorpus:
    """One corpus, or several corpora read as one (`mixed_with`)."""

    def __init__(self, parts: list["_Part"], chosen: Int64) -> None:
        self._parts, self._chosen = parts, chosen
        self._firsts = np.cumsum([0, *(len(part.characters) for part in parts)])

    @classmethod
    def load(cls, folder: Path) -> "TokenizedCorpus":
        """Open a folder; only corpus.json is read."""
        part = _Part(folder)
        return cls([part], np.arange(len(part.characters)))

    @classmethod
    def empty(cls) -> "TokenizedCorpus":
        """A corpus without text, where nothing is trained: it has no tokenizer, and no document can be read."""
        return cls([], np.arange(0))

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the tokenizer of the ids."""
        return str(self._parts[0].facts["tokenizer"])

    @property
    def texts(self) -> list[dict[str, Any]]:
        """Name, digest and tokens of each text, for the card of a checkpoint."""
        return [{key: part.facts[key] for key in ("name", "digest", "tokens")} for part in self._parts]

    @property
    def segmentation(self) -> list[dict[str, Any]]:
        """The segmenter of each text, and the number of texts that it did not fit."""
        return [part.facts["segmentation"] for part in self._parts]

    @cached_property
    def lengths(self) -> Int64:
        """Tokens of each document, (documents,)."""
        return np.concatenate([np.arange(0), *(np.diff(part.offsets) for part in self._parts)])[self._chosen]

    @cached_property
    def characters(self) -> Int64:
        """Characters of each document, (documents,)."""
        return np.concatenate([part.characters for part in self._parts])[self._chosen]

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    def read(self, documents: Int64) -> Flat:
        """The documents of these numbers, in this order."""
        numbers = self._chosen[documents]
        lengths = self.lengths[documents]
        owners = np.searchsorted(self._firsts, numbers, side="right") - 1
        ids, word_starts = np.empty(lengths.sum(), np.int64), np.empty(lengths.sum(), np.bool_)
        for owner, part in enumerate(self._parts):
            own = owners == owner
            places = np.repeat(own, lengths)
            ids[places], word_starts[places] = part.read(numbers[own] - self._firsts[owner], lengths[own])
        return Flat(ids, word_starts, lengths)

    def mixed_with(self, other: "TokenizedCorpus", share: float, seed: int) -> "TokenizedCorpus":
        """This corpus and documents of another, whose tokens are about `share` of the total."""
        if share == 0:
            return self
        if self.fingerprint != other.fingerprint:
            problem = "the two corpora were made with different tokenizers"
            raise BadData(Code.TOKENIZER, "replay", problem, "run `dvc repro tokenize`")
        replay_tokens = share / (1 - share) * self.tokens
        generator = np.random.Generator(np.random.Philox(seed_of(seed, "replay")))
        order = generator.permutation(len(other.lengths))
        taken = order[: int(np.searchsorted(np.cumsum(other.lengths[order]), replay_tokens)) + 1]
        chosen = np.concatenate([self._chosen, int(self._firsts[-1]) + np.sort(other._chosen[taken])])
        return TokenizedCorpus([*self._parts, *other._parts], chosen)


class _Part:
    """The files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.facts = folder, read_json(folder / "corpus.json")
        self.offsets = np.memmap(folder / "offsets.bin", np.int64, "r")
        self.ids = np.memmap(folder / "ids.bin", np.dtype(self.facts["dtype"]), "r")
        self.word_starts = np.memmap(folder / "word_starts.bin", np.bool_, "r")
        self.characters = np.memmap(folder / "characters.bin", np.int64, "r")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles for the processes of other devices: they map the same files."""
        return _Part, (self._folder,)

    def read(self, rows: Int64, lengths: Int64) -> tuple[NDArray[Any], Bools]:
        """Ids and word starts of some documents of these lengths, (tokens,) each."""
        ends = np.cumsum(lengths)
        places = np.arange(lengths.sum()) + np.repeat(self.offsets[rows] - (ends - lengths), lengths)
        return self.ids[places], self.word_starts[places]
