"""Whether an existing vocabulary covers the words of some rows, before anything is tokenised.

It is that of models/init where params.yaml uses it unchanged; or the one that an earlier run trained, as long as it
still covers its corpora. Loaded with `tokenizers` alone: transformers takes a second to import.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adaptbert.errors import BadData
from adaptbert.rows.layout import Layout
from adaptbert.tokenization.corpus_writer import unknown_errors

INIT, TRAINED = Path("models/init/tokenizer.json"), Path("data/tokenizer/tokenizer.json")
_ROWS = 200


class KnownWords:
    """An existing vocabulary; without one there are no errors.

    Args:
        file: tokenizer.json; None: there is none.
        corpora: those that it will be trained on again: unknown words in them are no error, but show that the
            vocabulary is from another recipe.
    """

    def __init__(self, file: Path | None, corpora: Sequence[str] = ()) -> None:
        self._tokenizer = _load_tokenizer(file) if file is not None and file.is_file() else None
        self._corpora = corpora
        self._fits = not corpora

    @classmethod
    def at_hand(cls, document: Mapping[str, Any]) -> "KnownWords":
        """The vocabulary of the section `tokenizer`; none where words will be added to it."""
        section = document.get("tokenizer")
        if section is None:
            return cls(None)
        if section["source"] == "train":
            return cls(TRAINED, section["corpora"])
        return cls(INIT if section["source"] == "init" and section.get("extend") is None else None)

    def errors(self, name: str, valid_rows: Path, layout: Layout, place: str) -> list[BadData]:
        """The error where the rows have more unknown tokens than `tokenize` accepts.

        Args:
            name: of the corpus or the set.
            kept: Parquet file of rows that passed validation.
        """
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
