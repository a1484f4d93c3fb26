"""(id, text) rows -> a folder of flat token arrays, which adaptbert.tokenization.store.tokenized_corpus reads.

ids.bin         token ids, document after document, [CLS] and [SEP] included
word_starts.bin whether a token begins a word (adaptbert.tokenization.word_segmentation)
offsets.bin     where each document begins, and the end of the last
characters.bin  characters of each document
corpus.json     counts, the digest of the text, the fingerprint of the tokenizer and what decided the words

Memory stays flat: rows, documents and counts pass through, a few batches at a time.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from adaptbert.base.files import whole, write_json
from adaptbert.codes import Code
from adaptbert.errors import BadData, raise_all
from adaptbert.runtime.worker_pool import in_order
from adaptbert.tokenization.documents import Cutter, Documents
from adaptbert.tokenization.store.tokenizer import Tokenizer
from adaptbert.tokenization.word_segmentation import Segmenter

TOKENIZER_WORDS = Segmenter()
BATCH_TEXTS = 1_000
BATCH_CHARACTERS = 100_000
"""Whichever comes first: texts may be posts or whole articles, and a token takes some hundred bytes on its way."""


def write(
    folder: Path,
    name: str,
    rows: Iterable[tuple[str, str]],
    tokenizer: Tokenizer,
    max_length: int,
    workers: int = 0,
    segmenter: Segmenter = TOKENIZER_WORDS,
) -> dict[str, Any]:
    """Tokenise rows into `folder`.

    Args:
        rows: ids and texts, read once.
        max_length: see `DocumentConfig`.
        workers: processes that tokenise; 0: this one. The bytes are the same.
        segmenter: says what a word is.

    Returns:
        The facts that corpus.json holds.

    Raises:
        BadData: no text, or a vocabulary that does not fit it.
    """
    place = f"{folder.parent.name}/{folder.name}"
    cutter, read, written = Cutter.of(tokenizer, max_length, segmenter), _Read(), _Written()
    with whole(folder) as part:
        part.mkdir()
        with closing(in_order(cutter, read.texts_of(rows), workers)) as batches:
            written.write(part, batches)
        pieces = written.tokens - 2 * written.documents
        if pieces == 0:
            remedy = "check the text; for held-out text raise tokenize.heldout_fraction"
            raise BadData(Code.NOTHING_LEFT, place, f"0 of {read.texts} texts have a token", remedy)
        raise_all(unknown_errors(written.unknown, pieces, place))
        facts = {
            "name": name,
            "texts": read.texts,
            "documents": written.documents,
            "tokens": written.tokens,
            "characters": written.characters,
            "unknown_rate": written.unknown / pieces,
            "dtype": cutter.dtype,
            "tokenizer": tokenizer.fingerprint,
            "digest": read.digest.hexdigest(),
            "segmentation": {**segmenter.facts, "misaligned": written.misaligned},
        }
        write_json(part / "corpus.json", facts)
    return facts


class _Read:
    """Rows on their way to the tokenizer: how many there were, and the digest of their ids and texts."""

    def __init__(self) -> None:
        self.texts, self.digest = 0, sha256()

    def texts_of(self, rows: Iterable[tuple[str, str]]) -> Iterator[list[str]]:
        """Batches of texts."""
        for batch in _batches(rows):
            self.digest.update("".join(f"{text_id}\0{text}\0" for text_id, text in batch).encode())
            self.texts += len(batch)
            yield [text for _, text in batch]


class _Written:
    """Documents on their way to the disk: sums of their counts."""

    def __init__(self) -> None:
        self.documents = self.tokens = self.characters = self.unknown = self.misaligned = 0

    def write(self, folder: Path, batches: Iterable[Documents]) -> None:
        """The files of arrays, batch by batch."""
        with ExitStack() as stack:
            ids, word_starts, offsets, lengths = (
                stack.enter_context((folder / f"{file}.bin").open("wb"))
                for file in ("ids", "word_starts", "offsets", "characters")
            )
            offsets.write(np.zeros(1, np.int64).tobytes())
            for documents in batches:
                ids.write(documents.ids.tobytes())
                word_starts.write(documents.word_starts.tobytes())
                offsets.write((self.tokens + np.cumsum(documents.lengths)).tobytes())
                lengths.write(documents.characters.tobytes())
                self.documents += len(documents.lengths)
                self.tokens += len(documents.ids)
                self.characters += int(documents.characters.sum())
                self.unknown += documents.unknown
                self.misaligned += documents.misaligned


def unknown_errors(unknown: int, pieces: int, place: str | Path) -> list[BadData]:
    """The error when more than a fifth of the pieces of a text are unknown to the vocabulary."""
    if unknown <= 0.2 * pieces:
        return []
    problem = f"unk rate {unknown / pieces:.1%} > 20 %: vocabulary does not fit this text"
    remedy = "train the vocabulary on such text, too: put it into a corpus that tokenizer.corpora names"
    return [BadData(Code.VOCABULARY_DOES_NOT_FIT, place, problem, remedy)]


def _batches(rows: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    batch: list[tuple[str, str]] = []
    characters = 0
    for row in rows:
        batch.append(row)
        characters += len(row[1])
        if len(batch) == BATCH_TEXTS or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
