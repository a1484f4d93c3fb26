"""Real text for the benchmark of quality: a file or docstrings of installed packages, tokenised, a part held out."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from adaptbert.config.schema.sources import Corpus
from adaptbert.config.schema.text import Measure, Vocabulary
from adaptbert.data.files import Files
from adaptbert.mlm.heldout_evaluation import HeldOut, sets_in
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.token_writer import is_heldout, write
from adaptbert.text.tokenizer import Tokenizer
from benchmarks.workload import ROW
from examples.docstrings import SETS, corpus, sentences

MAX_LENGTH = 64
HELDOUT = 0.05
"""Share of the texts."""


@dataclass(frozen=True)
class Text:
    """What is trained on and what is measured on."""

    tokenizer: Tokenizer
    corpus: TokenizedCorpus
    heldout: HeldOut


def read(path: Path | None, most: int | None) -> list[tuple[str, str]]:
    """Ids and texts; of a file one document a line (or row: any format that `collect` reads), the first `most`."""

    def rows() -> Iterator[tuple[str, str]]:
        if path is None:
            yield from ((row["id"], row["text"]) for row in corpus(sentences(SETS["demo"].domain)))
            return
        for row in Files(path, Corpus(path=str(path))).rows():
            if row.problem is None and row.values["text"].strip():
                yield row.id, row.values["text"]

    return list(islice(rows(), most))


def prepare(rows: list[tuple[str, str]], folder: Path, vocabulary: int, heldout_tokens: int) -> Text:
    """A vocabulary for the texts, and their documents in `folder`; the hash of its id says whether one is held out."""
    config = Vocabulary(vocabulary_size=vocabulary, lowercase=True, min_frequency=2)
    tokenizer = Tokenizer.train(lambda: [text for _, text in rows], config)
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "heldout/text": []}
    for text_id, text in rows:
        parts["heldout/text" if is_heldout(text_id, HELDOUT) else "train"].append((text_id, text))
    for name, part in parts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write(folder / name, part, tokenizer, MAX_LENGTH)
    measured = Measure(probability=0.15, max_tokens=heldout_tokens, seed=0)
    corpus = TokenizedCorpus.load(folder / "train")
    return Text(tokenizer, corpus, HeldOut(sets_in(folder / "heldout"), measured, tokenizer, ROW))
