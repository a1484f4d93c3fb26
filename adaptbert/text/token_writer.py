"""Writes a tokenised corpus: (id, text) rows in, a folder of flat token arrays out, in batches, in constant memory.

ids.bin         token ids, document after document, special tokens included
word_starts.bin whether a token begins a word (adaptbert.text.words)
offsets.bin     the first token of each document, and the end of the last
characters.bin  characters of each document
corpus.json     counts, the digest of the text, the fingerprint of the tokenizer and the segmenter

It is read by adaptbert.text.token_store, which imports nothing of this: a change here trains nothing again whose tokens
stay the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import lru_cache
from hashlib import blake2b, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptbert.codes import Code
from adaptbert.config.schema.bases import Base
from adaptbert.core.files import atomic_write, write_json
from adaptbert.errors import BadData, raise_all
from adaptbert.runtime.worker_pool import in_order
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.words import Bools, Int64, Segmenter, joined

if TYPE_CHECKING:
    from tokenizers import Encoding

TOKENIZER_WORDS = Segmenter()
BATCH_TEXTS = 1_000
BATCH_CHARACTERS = 100_000
"""A batch ends at whichever comes first: texts may be posts or whole articles, and a token needs hundreds of bytes."""
FEW_UNKNOWN, MOST_UNKNOWN = 0.01, 0.2
"""Shares of unknown tokens in a text: so few do not matter; with more, the vocabulary is one of other text."""


def is_heldout(text_id: str, fraction: float) -> bool:
    """Whether the text of this id is held out: the same in every corpus, for any size and order."""
    return int.from_bytes(blake2b(text_id.encode(), digest_size=8).digest(), "big") < fraction * 2**64


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
        max_length: tokens of the longest document, special tokens included.
        workers: processes that tokenise; 0: this one. The output is bit-identical.
        segmenter: determines the words.

    Returns:
        The content of corpus.json.

    Raises:
        BadData: no text has a token.
    """
    cutter, digest, counts = Cutter(tokenizer, max_length, segmenter), sha256(), Counter[str]()

    def texts() -> Iterator[list[str]]:
        for batch in _batches(rows):
            digest.update("".join(f"{text_id}\0{text}\0" for text_id, text in batch).encode())
            counts["texts"] += len(batch)
            yield [text for _, text in batch]

    with atomic_write(folder) as part:
        part.mkdir()
        with ExitStack() as stack:
            names = ("ids", "word_starts", "offsets", "characters")
            files = {name: stack.enter_context((part / f"{name}.bin").open("wb")) for name in names}
            files["offsets"].write(np.zeros(1, np.int64).tobytes())
            for cut in stack.enter_context(closing(in_order(cutter, texts(), workers))):
                offsets = counts["tokens"] + np.cumsum(cut.lengths)
                for name, values in zip(names, (cut.ids, cut.word_starts, offsets, cut.characters), strict=True):
                    files[name].write(values.tobytes())
                counts["documents"] += len(cut.lengths)
                counts["tokens"] += len(cut.ids)
                counts["characters"] += int(cut.characters.sum())
                counts["unknown"] += cut.unknown
                counts["misaligned"] += cut.misaligned
        facts = {
            "name": folder.name,
            **{name: counts[name] for name in ("texts", "documents", "tokens", "characters")},
            "unknown_rate": _unknown_rate(counts, tokenizer.extra(1), f"{folder.parent.name}/{folder.name}"),
            "dtype": cutter.dtype,
            "tokenizer": tokenizer.fingerprint,
            "digest": digest.hexdigest(),
            "segmentation": {**segmenter.facts, "misaligned": counts["misaligned"]},
        }
        write_json(part / "corpus.json", facts)
    return facts


def _unknown_rate(counts: Mapping[str, int], extra: int, place: str) -> float:
    """Share of the subword tokens that are unknown; raises BadData where nothing has a token.

    Args:
        extra: special tokens of a document.
    """
    subwords = counts["tokens"] - extra * counts["documents"]
    if subwords == 0:
        state = f"0 of {counts['texts']} texts have a token" if counts["texts"] else "no text"
        remedy = "check the text; for held-out text raise tokenize.heldout_fraction"
        raise BadData(Code.NOTHING_LEFT, place, state, remedy)
    return counts["unknown"] / subwords


def unknown_notices(rates: Mapping[str, float], base: Base) -> list[str]:
    """A line for each text of which the vocabulary does not know so much that it may matter.

    Args:
        rates: folder of a tokenised text -> its share of unknown tokens; a corpus and its held-out share are one text.
        base: whose vocabulary it is.

    Raises:
        BadData: the vocabulary does not fit a text; of all such texts together.
    """
    by_text: dict[str, float] = {}
    for folder, rate in rates.items():
        text = Path(folder).name
        by_text[text] = max(rate, by_text.get(text, 0))
    lines, errors = [], []
    for text, rate in by_text.items():
        if base.is_random:
            remedy = "train the vocabulary on such text, too: put it into a corpus that tokenizer.corpora names"
        else:
            words = "{corpora: [CORPUS], num_new_tokens: 2000, min_frequency: 5}"
            remedy = f"add words of such text, `tokenizer.extend: {words}`, or take a checkpoint for this language"
        if rate > MOST_UNKNOWN:
            problem = f"{rate:.1%} of its tokens are unknown, more than {MOST_UNKNOWN:.0%}: no vocabulary for this text"
            errors.append(BadData(Code.TOKENIZER, text, problem, remedy))
        elif rate > FEW_UNKNOWN:
            lines.append(f"{text}: {rate:.1%} of its tokens are unknown; if they matter, {remedy}")
    raise_all(errors)
    return lines


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


class Cut(NamedTuple):
    """The documents of some texts, concatenated; a text without a token has none.

    Attributes:
        ids: in the type in which they are stored, (tokens,).
        word_starts: whether a token begins a word; special tokens do, (tokens,).
        lengths: tokens of each, (documents,).
        characters: of the text of each, (documents,).
        unknown: tokens that are unknown.
        misaligned: texts whose words are the tokenizer's, because the segmenter's do not fit its tokens.
    """

    ids: NDArray[Any]
    word_starts: Bools
    lengths: Int64
    characters: Int64
    unknown: int
    misaligned: int


class Cutter:
    """Cuts texts into documents of at most `max_length` tokens with special tokens; longer texts between words.

    It is vectorised over batches of texts, and can be pickled into a worker process, which then imports no more than
    the tokenizers library.

    Attributes:
        rules: the tokenizer, serialised by the tokenizers library.
        around: the special tokens of a document.
        unknown: id of the unknown token.
        splits_words: see `Tokenizer`.
        dtype: of the ids.
        segmenter: determines the words.
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int, segmenter: Segmenter) -> None:
        self.rules, self.around = tokenizer.backend.to_str(), tokenizer.one
        self.unknown, self.splits_words = tokenizer.unknown, tokenizer.splits_words
        self.dtype = "uint16" if tokenizer.size <= 2**16 else "int32"
        self.max_length, self.segmenter = max_length, segmenter

    def __call__(self, texts: Sequence[str]) -> Cut:
        encodings = _backend(self.rules).encode_batch(list(texts), add_special_tokens=False)
        counts = np.array([len(encoding) for encoding in encodings], np.int64)
        ids = joined(encoding.ids for encoding in encodings)
        begins, misaligned = self.segmenter.word_starts(texts, encodings, self.splits_words)
        ends = self._ends(counts, begins)
        starts = np.concatenate([[0], ends[:-1]])[: len(ends)]

        before, after = self.around.before, self.around.after
        special = [*before, *after]
        # The order of these places is that of the documents: one that ends where another begins comes first.
        places = np.repeat(np.stack([starts, ends], 1), [len(before), len(after)], axis=1).ravel()
        stored_ids = np.insert(ids.astype(self.dtype), places, np.tile(np.array(special, self.dtype), len(ends)))
        stored_begins = np.insert(begins, places, True)
        lengths = ends - starts + len(special)
        characters = _characters(encodings, np.cumsum(counts) - counts, starts, ends)
        unknown = 0 if self.unknown is None else int(np.count_nonzero(ids == self.unknown))
        return Cut(stored_ids, stored_begins, lengths, characters, unknown, misaligned)

    def _ends(self, counts: Int64, begins: Bools) -> Int64:
        """The end of each document in the tokens of all texts: at the end of a text or between words, (documents,)."""
        room = self.max_length - len(self.around.before) - len(self.around.after)
        text_ends = np.cumsum(counts)
        cuts: list[int] = []
        for text in np.flatnonzero(counts > room):
            start, end = int(text_ends[text] - counts[text]), int(text_ends[text])
            of_text = begins[start:end].tolist()
            cut = 0
            while cut + room < len(of_text):
                most, least = cut + room, cut + room // 2
                # A word that fills half of a document is cut itself.
                cut = next((place for place in range(most, least, -1) if of_text[place]), most)
                cuts.append(start + cut)
        return np.union1d(text_ends[counts > 0], np.array(cuts, np.int64))


def _characters(encodings: "Sequence[Encoding]", text_starts: Int64, starts: Int64, ends: Int64) -> Int64:
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
