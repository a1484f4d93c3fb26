"""Writes (id, text) rows to a folder of flat token arrays for adaptbert.text.token_store.

ids.bin         token ids, document after document, [CLS] and [SEP] included
word_starts.bin whether a token begins a word (adaptbert.text.words)
offsets.bin     the first token of each document, and the end of the last
characters.bin  characters of each document
corpus.json     counts, the digest of the text, the fingerprint of the tokenizer and the segmenter

Rows and documents are processed a few batches at a time, in constant memory.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from adaptbert.codes import Code
from adaptbert.core.files import atomic_write, write_json
from adaptbert.errors import BadData, raise_all
from adaptbert.runtime.worker_pool import in_order
from adaptbert.text.documents import Cutter, Documents
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.words import Segmenter

TOKENIZER_WORDS = Segmenter()
BATCH_TEXTS = 1_000
BATCH_CHARACTERS = 100_000
"""A batch ends at whichever comes first: texts may be posts or whole articles, and a token needs hundreds of bytes."""


def write(
    folder: Path,
    rows: Iterable[tuple[str, str]],
    tokenizer: Tokenizer,
    max_length: int,
    workers: int = 0,
    segmenter: Segmenter = TOKENIZER_WORDS,
) -> dict[str, Any]:
    """Tokenise rows into a folder; the corpus has its name.

    Args:
        rows: ids and texts, read once.
        max_length: see `DocumentConfig`.
        workers: processes that tokenise; 0: this one. The output is bit-identical.
        segmenter: determines the words.

    Returns:
        The content of corpus.json.

    Raises:
        BadData: no text has a token, or the vocabulary does not fit the text.
    """
    place = f"{folder.parent.name}/{folder.name}"
    cutter, read, written = Cutter.of(tokenizer, max_length, segmenter), _Read(), _Written()
    with atomic_write(folder) as part:
        part.mkdir()
        with closing(in_order(cutter, read.texts_of(rows), workers)) as batches:
            written.write(part, batches)
        subwords = written.tokens - 2 * written.documents  # without [CLS] and [SEP]
        if subwords == 0:
            state = f"0 of {read.texts} texts have a token" if read.texts else "no text"
            remedy = "check the text; for held-out text raise tokenize.heldout_fraction"
            raise BadData(Code.NOTHING_LEFT, place, state, remedy)
        raise_all(unknown_errors(written.unknown, subwords, place))
        facts = {
            "name": folder.name,
            "texts": read.texts,
            "documents": written.documents,
            "tokens": written.tokens,
            "characters": written.characters,
            "unknown_rate": written.unknown / subwords,
            "dtype": cutter.dtype,
            "tokenizer": tokenizer.fingerprint,
            "digest": read.digest.hexdigest(),
            "segmentation": {**segmenter.facts, "misaligned": written.misaligned},
        }
        write_json(part / "corpus.json", facts)
    return facts


class _Read:
    """Counts the rows that are tokenised, and computes the digest of their ids and texts."""

    def __init__(self) -> None:
        self.texts, self.digest = 0, sha256()

    def texts_of(self, rows: Iterable[tuple[str, str]]) -> Iterator[list[str]]:
        """Batches of texts."""
        for batch in _batches(rows):
            self.digest.update("".join(f"{text_id}\0{text}\0" for text_id, text in batch).encode())
            self.texts += len(batch)
            yield [text for _, text in batch]


class _Written:
    """Writes documents, and sums up their counts."""

    def __init__(self) -> None:
        self.documents = self.tokens = self.characters = self.unknown = self.misaligned = 0

    def write(self, folder: Path, batches: Iterable[Documents]) -> None:
        """Write the array files in batches."""
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


def unknown_errors(unknown: int, subwords: int, place: str | Path) -> list[BadData]:
    """The error when more than a fifth of the subword tokens of a text are [UNK]."""
    if unknown <= 0.2 * subwords:
        return []
    problem = f"unk rate {unknown / subwords:.1%} > 20 %: vocabulary does not fit this text"
    remedy = "train the vocabulary on such text, too: put it into a corpus that tokenizer.corpora names"
    return [BadData(Code.TOKENIZER, place, problem, remedy)]


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
