"""Whether a vocabulary that lies here knows the words of some rows, before anything is tokenised.

It is that of models/init where params take it as it is; or the one that an earlier run trained, as long as it still
knows the corpora that it is trained on. Read by `tokenizers` alone: transformers takes a second to import.
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
    """A vocabulary and what it is good for; without one nothing is found.

    Args:
        file: tokenizer.json; None: none is at hand.
        corpora: that it is trained on anew, so that they are no fault but show whether it is that of another recipe.
    """

    def __init__(self, file: Path | None, corpora: Sequence[str] = ()) -> None:
        self._tokenizer = _opened(file) if file is not None and file.is_file() else None
        self._corpora = corpora
        self._fits = not corpora

    @classmethod
    def at_hand(cls, document: Mapping[str, Any]) -> "KnownWords":
        """What the section `tokenizer` speaks of; words that are added to it cannot be told before."""
        section = document.get("tokenizer")
        if section is None:
            return cls(None)
        if section["source"] == "train":
            return cls(TRAINED, section["corpora"])
        return cls(INIT if section["source"] == "init" and section.get("extend") is None else None)

    def errors(self, name: str, kept: Path, layout: Layout, place: str) -> list[BadData]:
        """The error where more of the rows is unknown than `tokenize` takes.

        Args:
            name: of the corpus or the set.
            kept: Parquet file of rows that passed the gate.
        """
        if self._tokenizer is None:
            return []
        found = unknown_errors(*self._counts(_texts(kept, layout)), place)
        if name in self._corpora:
            self._fits = not found
            if found:
                self._tokenizer = None  # of another recipe: it will be trained anew
            return []
        return found if self._fits else []

    def _counts(self, texts: list[str]) -> tuple[int, int]:
        """Unknown pieces, and all."""
        assert self._tokenizer is not None
        unknown = self._tokenizer.token_to_id("[UNK]")
        encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return sum(encoding.ids.count(unknown) for encoding in encodings), sum(map(len, encodings))


def _opened(file: Path) -> Any:
    """None of a damaged file, of which the stage that opens it tells more."""
    import tokenizers

    try:
        found = tokenizers.Tokenizer.from_file(str(file))
    except Exception:  # its errors have no other type
        return None
    found.encode_special_tokens = True
    found.no_truncation()
    found.no_padding()
    return found


def _texts(kept: Path, layout: Layout) -> list[str]:
    import pyarrow.parquet as pq

    rows = pq.read_table(kept, columns=list(layout.inputs)).slice(0, _ROWS).to_pylist()
    return [text if isinstance(text, str) else " ".join(text) for row in rows for text in row.values()]
