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
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from adaptbert.base.files import atomic_write, write_json
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
    cutter = Cutter.of(tokenizer, max_length, segmenter)
    digest, texts = sha256(), 0

    def batches() -> Iterator[list[str]]:
        nonlocal texts
        for batch in _batches(rows):
            digest.update("".join(f"{text_id}\0{text}\0" for text_id, text in batch).encode())
            texts += len(batch)
            yield [text for _, text in batch]

    with atomic_write(folder) as part:
        part.mkdir()
        with closing(in_order(cutter, batches(), workers)) as cuts:
            sums = _write_arrays(part, cuts)
        pieces = sums.tokens - 2 * sums.documents
        if pieces == 0:
            remedy = "check the text; for held-out text raise tokenize.heldout_fraction"
            raise BadData(18, place, f"0 of {texts} texts have a token", remedy)
        raise_all(unknown_errors(sums.unknown, pieces, place))
        facts = {
            "name": name,
            "texts": texts,
            "documents": sums.documents,
            "tokens": sums.tokens,
            "characters": sums.characters,
            "unknown_rate": sums.unknown / pieces,
            "dtype": cutter.dtype,
            "tokenizer": tokenizer.fingerprint,
            "digest": digest.hexdigest(),
            "segmentation": {**segmenter.facts, "misaligned": sums.misaligned},
        }
        write_json(part / "corpus.json", facts)
    return facts


@dataclass
class _Sums:
    """Over all documents of a corpus."""

    documents: int = 0
    tokens: int = 0
    characters: int = 0
    unknown: int = 0
    misaligned: int = 0


def _write_arrays(folder: Path, cuts: Iterable[Documents]) -> _Sums:
    """The arrays of a corpus, batch by batch."""
    sums = _Sums()
    with ExitStack() as opened:
        ids, word_starts, offsets, lengths = (
            opened.enter_context((folder / f"{file}.bin").open("wb"))
            for file in ("ids", "word_starts", "offsets", "characters")
        )
        offsets.write(np.zeros(1, np.int64).tobytes())
        for cut in cuts:
            ids.write(cut.ids.tobytes())
            word_starts.write(cut.word_starts.tobytes())
            offsets.write((sums.tokens + np.cumsum(cut.lengths)).tobytes())
            lengths.write(cut.characters.tobytes())
            sums.documents += len(cut.lengths)
            sums.tokens += len(cut.ids)
            sums.characters += int(cut.characters.sum())
            sums.unknown += cut.unknown
            sums.misaligned += cut.misaligned
    return sums


def unknown_errors(unknown: int, pieces: int, place: str | Path) -> list[BadData]:
    """The error when more than a fifth of the pieces of a text are unknown to the vocabulary."""
    if unknown <= 0.2 * pieces:
        return []
    problem = f"unk rate {unknown / pieces:.1%} > 20 %: vocabulary does not fit this text"
    remedy = "train the vocabulary on such text, too: put it into a corpus that tokenizer.corpora names"
    return [BadData(25, place, problem, remedy)]


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
