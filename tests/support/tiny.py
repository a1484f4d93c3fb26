"""A tiny world for the tests of the core: two kinds of text, a tokenizer, a BERT of 2 x 32.

Its labelled sets are in tests.support.tiny_tasks, the values of its runs in tests.support.tiny_params.

Everything is a function of its arguments, and small enough that a training run of some steps takes about a second.
"""

import random
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.text import Vocabulary
from adaptbert.model import checkpoint
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import Provenance
from adaptbert.runtime.mlflow import Run
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.token_writer import write
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training.resume import Work

TEXTS = {
    "general": "the house stood by a river and people walked along its bank every morning to buy bread or fish",
    "domain": "an array of values is returned whose shape equals that of the estimator matrix when axis = 0",
}
WORDS = {kind: text.split() for kind, text in TEXTS.items()}
ENDINGS = [".", "?", "!", " (see above).", ", 1999.", "：好的。", " 🙂"]
MAX_LENGTH = 64
POSITIONS = 64


def sentences(kind: str, count: int, seed: int = 0) -> list[str]:
    """Distinct texts of 3 to 24 words; a quarter of them from the words of the other kind."""
    draw = random.Random(f"{kind} {seed}")
    own, other = WORDS[kind], WORDS["domain" if kind == "general" else "general"]
    texts: dict[str, None] = {}
    while len(texts) < count:
        words = [draw.choice(own if draw.random() < 0.75 else other) for _ in range(draw.randint(3, 24))]
        texts[" ".join(words).capitalize() + draw.choice(ENDINGS)] = None
    return list(texts)


def rows(kind: str, count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Ids and texts."""
    return [(f"{kind}-{seed}-{number}", text) for number, text in enumerate(sentences(kind, count, seed))]


@cache
def tokenizer(lowercase: bool = True) -> Tokenizer:
    texts = [*sentences("general", 200), *sentences("domain", 200)]
    return Tokenizer.train(lambda: texts, Vocabulary(vocabulary_size=150, lowercase=lowercase, min_frequency=1))


def corpus(folder: Path, kind: str, count: int = 60, seed: int = 0, pieces: Tokenizer | None = None) -> TokenizedCorpus:
    write(folder, rows(kind, count, seed), pieces or tokenizer(), MAX_LENGTH)
    return TokenizedCorpus.load(folder)


def heldout(folder: Path, pieces: Tokenizer | None = None, tasks: Sequence[str] = ()) -> Path:
    """Held-out texts of both kinds, and of tasks about the domain, as `tokenize` leaves them."""
    for kind in WORDS:
        corpus(folder / kind, kind, 30, seed=99, pieces=pieces)
    for number, task in enumerate(tasks):
        corpus(folder / task, "domain", 30, seed=100 + number, pieces=pieces)
    return folder


def config(dropout: float | None = None, **changes: Any) -> Any:
    """The architecture as Hugging Face writes it; with `dropout`, that of hidden states and attention."""
    shape = Base(layers=2, hidden_size=32, heads=2, intermediate_size=64, max_positions=POSITIONS)
    made = checkpoint.random_weights(shape, tokenizer().size, tokenizer().pad)
    rates = ("hidden_dropout_prob", "attention_probs_dropout_prob")
    made.update({**({} if dropout is None else dict.fromkeys(rates, dropout)), **changes})
    return made


def card(checkpoint: str, **changes: Any) -> Provenance:
    return Provenance(
        **{
            "stage": "pretrain",
            "checkpoint": checkpoint,
            "params": {},
            "init": None,
            "texts": [],
            "measured": {},
            **changes,
        }
    )


def scratch(folder: Path) -> Checkpoint:
    """An architecture and a tokenizer without weights."""
    checkpoint.save(folder, config(), tokenizer(), card("scratch"))
    return Checkpoint.load(folder)


def pretrained(folder: Path, seed: int = 1, **changes: Any) -> Checkpoint:
    """A checkpoint with weights, random ones; `changes` of the configuration."""
    import torch
    from transformers import BertForMaskedLM

    torch.manual_seed(seed)
    checkpoint.save(folder, BertForMaskedLM(config(**changes)), tokenizer(), card("pretrain"))
    return Checkpoint.load(folder)


def public(folder: Path) -> None:
    """A folder in Hugging Face format with random weights, as a public checkpoint in models/init."""
    pretrained(folder)
    (folder / "card.json").unlink()


def no_record() -> Run:
    """A run that nobody keeps."""
    return Run()


def work(beside: Path) -> Work:
    """A work folder that no run has used, so that nothing is resumed."""
    return Work(Path(tempfile.mkdtemp(prefix=".work-", dir=beside.parent)), code="")


def folder_bytes(folder: Path, *within: str) -> dict[str, bytes]:
    """Every file below a folder, or below some folders in it."""
    paths = sorted(path for name in within or [""] for path in (folder / name).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def documents(count: int, length: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random ids, word starts and lengths of documents `[CLS] ... [SEP]` of one length."""
    pieces, draw = tokenizer(), np.random.default_rng(seed)
    inner = draw.choice(pieces.replacements, (count, length - 2))
    ids = np.concatenate(
        [np.full((count, 1), pieces.one.before[0]), inner, np.full((count, 1), pieces.one.after[0])], axis=1
    ).reshape(-1)
    starts = draw.random((count, length)) < 0.6
    starts[:, [0, 1, -1]] = True
    return ids, starts.reshape(-1), np.full(count, length)
