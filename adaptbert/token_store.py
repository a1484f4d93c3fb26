"""A tokenised corpus on disk: flat token arrays that are mapped into memory, not read.

ids.bin         every token of every document, one after the other, [CLS] and [SEP] included
word_starts.bin whether a token begins a word
offsets.bin     where each document begins, and the end of the last
characters.bin  characters of each document
corpus.json     counts, the digest of the text and the fingerprint of the tokenizer
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adaptbert.errors import BadData
from adaptbert.outputs import read_json, whole, write_json
from adaptbert.params import Config
from adaptbert.stream import seed_of
from adaptbert.tokenization import Tokenizer

BATCH = 2_000


class DocumentConfig(Config):
    """How texts become documents."""

    max_length: Annotated[int, Field(ge=8, le=8192)]
    """Tokens of the longest document, [CLS] and [SEP] included; a longer text is cut into several, between words."""
    heldout_fraction: Annotated[float, Field(gt=0, lt=1)]
    """Share of the texts of a corpus that is held out, chosen by the hash of the id. Every rung is measured on it."""


@dataclass(frozen=True)
class Flat:
    """Documents that lie one after the other.

    Attributes:
        ids: (tokens,).
        word_starts: (tokens,).
        lengths: (documents,).
    """

    ids: NDArray[np.int64]
    word_starts: NDArray[np.bool_]
    lengths: NDArray[np.int64]


class Documents(Protocol):
    """What training reads: a corpus, or a view of one."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each document, (documents,)."""
        ...

    def read(self, documents: NDArray[np.int64]) -> Flat:
        """Some documents, in the order asked for."""
        ...


class TokenizedCorpus:
    """One corpus, or several read as one (`mixed_with`)."""

    def __init__(self, parts: list["_Part"], chosen: NDArray[np.int64]) -> None:
        self._parts, self._chosen = parts, chosen
        self._firsts = np.cumsum([0, *(len(part) for part in parts)])

    @classmethod
    def load(cls, folder: Path) -> "TokenizedCorpus":
        """Open a folder that `write` made; nothing is read but corpus.json."""
        part = _Part(folder)
        return cls([part], np.arange(len(part)))

    @property
    def fingerprint(self) -> str:
        """Of the tokenizer that made the ids."""
        return str(self._parts[0].facts["tokenizer"])

    @property
    def texts(self) -> list[dict[str, Any]]:
        """What text this is, for the ledger of a checkpoint: name, digest, tokens."""
        return [{key: part.facts[key] for key in ("name", "digest", "tokens")} for part in self._parts]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each document, (documents,)."""
        return np.concatenate([part.lengths for part in self._parts])[self._chosen]

    @cached_property
    def characters(self) -> NDArray[np.int64]:
        """Characters of each document, (documents,)."""
        return np.concatenate([part.characters for part in self._parts])[self._chosen]

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum())

    def read(self, documents: NDArray[np.int64]) -> Flat:
        """Some documents, in the order asked for."""
        numbers = self._chosen[documents]
        owner = np.searchsorted(self._firsts, numbers, side="right") - 1
        ids, starts = [], []
        for number, part in zip(numbers, owner, strict=True):
            store, row = self._parts[part], number - self._firsts[part]
            span = slice(int(store.offsets[row]), int(store.offsets[row + 1]))
            ids.append(store.ids[span])
            starts.append(store.word_starts[span])
        return Flat(np.concatenate(ids).astype(np.int64), np.concatenate(starts), self.lengths[documents])

    def mixed_with(self, other: "TokenizedCorpus", share: float, seed: int) -> "TokenizedCorpus":
        """This corpus and so many documents of another that their tokens are `share` of the whole."""
        if share == 0:
            return self
        if self.fingerprint != other.fingerprint:
            raise BadData(
                129, "replay", "the two corpora were made with different tokenizers", "run `dvc repro tokenize`"
            )
        wanted = share / (1 - share) * self.tokens
        generator = np.random.Generator(np.random.Philox(seed_of(seed, "replay")))
        order = generator.permutation(len(other.lengths))
        taken = order[: int(np.searchsorted(np.cumsum(other.lengths[order]), wanted)) + 1]
        first = int(self._firsts[-1])
        return TokenizedCorpus(
            [*self._parts, *other._parts], np.concatenate([self._chosen, first + np.sort(other._chosen[taken])])
        )


class _Part:
    """The files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.facts = read_json(folder / "corpus.json")
        self.offsets = np.memmap(folder / "offsets.bin", np.int64, "r")
        self.ids = np.memmap(folder / "ids.bin", np.dtype(self.facts["dtype"]), "r")
        self.word_starts = np.memmap(folder / "word_starts.bin", np.bool_, "r")
        self.characters = np.fromfile(folder / "characters.bin", np.int64)
        self.lengths = np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.lengths)


def is_heldout(text_id: str, fraction: float) -> bool:
    """Whether the text of this id is held out: the same answer in every corpus, whatever its size and order."""
    return int.from_bytes(blake2b(text_id.encode(), digest_size=8).digest(), "big") < fraction * 2**64


def write(
    folder: Path, name: str, rows: Iterable[tuple[str, str]], tokenizer: Tokenizer, max_length: int
) -> dict[str, Any]:
    """Tokenise (id, text) rows into `folder`; memory stays flat whatever their number.

    Returns:
        The facts that corpus.json holds.

    Raises:
        BadData: no text, or a vocabulary that does not fit it.
    """
    place = f"{folder.parent.name}/{folder.name}"
    dtype = np.uint16 if tokenizer.size <= 2**16 else np.int32
    digest, offsets, characters = sha256(), [0], []
    texts = unknown = pieces = 0
    with whole(folder) as part:
        part.mkdir()
        with (part / "ids.bin").open("wb") as ids, (part / "word_starts.bin").open("wb") as word_starts:
            for batch in _batches(rows):
                for text_id, text in batch:
                    digest.update(f"{text_id}\0{text}\0".encode())
                encodings = tokenizer.encode([text for _, text in batch])
                texts += len(batch)
                for encoding in encodings:
                    unknown += encoding.ids.count(tokenizer.unknown)
                    pieces += len(encoding.ids)
                    for document in _documents(encoding, tokenizer, max_length):
                        ids.write(document.ids.astype(dtype).tobytes())
                        word_starts.write(document.word_starts.tobytes())
                        offsets.append(offsets[-1] + len(document.ids))
                        characters.append(document.characters)
        if pieces == 0:
            remedy = "check the text; for held-out text raise tokenize.heldout_fraction"
            raise BadData(18, place, f"0 of {texts} texts have a token", remedy)
        if unknown / pieces > 0.2:
            problem = f"unk rate {unknown / pieces:.1%} > 20 %: vocabulary does not fit this text"
            raise BadData(25, place, problem, "train a vocabulary on this text (tokenizer.corpora)")
        np.array(offsets, np.int64).tofile(part / "offsets.bin")
        np.array(characters, np.int64).tofile(part / "characters.bin")
        facts = {
            "name": name,
            "texts": texts,
            "documents": len(characters),
            "tokens": offsets[-1],
            "characters": sum(characters),
            "unknown_rate": unknown / pieces,
            "dtype": np.dtype(dtype).name,
            "tokenizer": tokenizer.fingerprint,
            "digest": digest.hexdigest(),
        }
        write_json(part / "corpus.json", facts)
    return facts


@dataclass(frozen=True)
class _Document:
    ids: NDArray[np.int64]
    word_starts: NDArray[np.bool_]
    characters: int


def _documents(encoding: Any, tokenizer: Tokenizer, max_length: int) -> Iterator[_Document]:
    """One text as documents of at most `max_length` tokens, cut between words where a word allows it."""
    ids, words, offsets = encoding.ids, encoding.word_ids, encoding.offsets
    begins = [i == 0 or words[i] != words[i - 1] for i in range(len(ids))]
    for start, end in spans(begins, max_length - 2):
        yield _Document(
            np.array([tokenizer.cls, *ids[start:end], tokenizer.sep], np.int64),
            np.array([True, *begins[start:end], True], np.bool_),
            offsets[end - 1][1] - offsets[start][0],
        )


def spans(begins: Sequence[bool], room: int) -> Iterator[tuple[int, int]]:
    """Pieces of at most `room` tokens, first and last + 1; a cut is where a word begins, but for too long words."""
    start = 0
    while start < len(begins):
        end = min(start + room, len(begins))
        if end < len(begins):
            end = next((cut for cut in range(end, start + room // 2, -1) if begins[cut]), end)
        yield start, end
        start = end


def _batches(rows: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    batch: list[tuple[str, str]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
