"""Whether existing vocabularies cover the words of some rows, before anything is tokenised.

A start has that of its checkpoint, where it is a folder and no words are added; or the one that an earlier run trained,
as long as it still covers its corpora. Loaded with `tokenizers` alone: transformers takes a second to import.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adaptbert.base.start import FOLDERS, RANDOM
from adaptbert.errors import BadData
from adaptbert.rows.layout import Layout
from adaptbert.runtime.params import blocks
from adaptbert.tokenization.corpus_writer import unknown_errors

INIT, TRAINED = Path(FOLDERS), Path("data/tokenizer")
_ROWS = 200


class KnownWords:
    """The existing vocabularies of all starts; without one there are no errors."""

    def __init__(self, vocabularies: Mapping[str, "Vocabulary"]) -> None:
        self._vocabularies = vocabularies

    @classmethod
    def at_hand(cls, document: Mapping[str, Any]) -> "KnownWords":
        """Those that stages will use as they are, or train again on the same corpora."""
        if "tokenizer" not in document:
            return cls({})
        section, starts = document["tokenizer"], document["ladder"]["starts"]
        return cls({start: _vocabulary(start, weights["init"], section) for start, weights in starts.items()})

    def errors(self, name: str, valid_rows: Path, layout: Layout, place: str) -> list[BadData]:
        """An error for each vocabulary that finds more unknown tokens in the rows than `tokenize` accepts.

        Args:
            name: of the corpus or the set.
            valid_rows: Parquet file of rows that passed validation.
            place: for the message.
        """
        several = len(self._vocabularies) > 1
        return [
            error
            for start, vocabulary in self._vocabularies.items()
            for error in vocabulary.errors(
                name, valid_rows, layout, f"{place} (with the vocabulary of {start})" if several else place
            )
        ]


class Vocabulary:
    """That of one start.

    Args:
        file: tokenizer.json; None: there is none.
        corpora: those that it will be trained on again: unknown words in them are no error, but show that the
            vocabulary is from another recipe.
    """

    def __init__(self, file: Path | None, corpora: Sequence[str] = ()) -> None:
        self._tokenizer = _load_tokenizer(file) if file is not None and file.is_file() else None
        self._corpora = corpora
        self._fits = not corpora

    def errors(self, name: str, valid_rows: Path, layout: Layout, place: str) -> list[BadData]:
        """See `KnownWords.errors`."""
        if self._tokenizer is None:
            return []
        failures = unknown_errors(*self._counts(_texts(valid_rows, layout)), place)
        if name in self._corpora:
            self._fits = not failures
            if failures:
                self._tokenizer = None  # of another recipe: it will be trained anew
            return []
        return failures if self._fits else []

    def _counts(self, texts: list[str]) -> tuple[int, int]:
        """Number of unknown subword tokens, and of all."""
        assert self._tokenizer is not None
        unknown = self._tokenizer.token_to_id("[UNK]")
        encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return sum(encoding.ids.count(unknown) for encoding in encodings), sum(map(len, encodings))


def _vocabulary(start: str, init: str, section: Mapping[str, Any]) -> Vocabulary:
    """Without a file where words will be added to it, and for a model on the hub."""
    values = blocks.in_force(section, [start])
    if init == RANDOM:
        return Vocabulary(TRAINED / start / "tokenizer.json", values.get("corpora", ()))
    is_at_hand = init.startswith(FOLDERS) and values.get("extend") is None
    return Vocabulary(INIT / start / "tokenizer.json" if is_at_hand else None)


def _load_tokenizer(file: Path) -> Any:
    """None for a damaged file, which the stage that opens it reports."""
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
    except Exception:  # its errors have no other type
        return None
    tokenizer.encode_special_tokens = True
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _texts(path: Path, layout: Layout) -> list[str]:
    import pyarrow.parquet as pq

    rows = pq.read_table(path, columns=list(layout.inputs)).slice(0, _ROWS).to_pylist()
    return [text if isinstance(text, str) else " ".join(text) for row in rows for text in row.values()]
