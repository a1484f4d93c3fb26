"""What is trained in a benchmark: architectures, and documents of random ids, for speed does not depend on them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from transformers import BertConfig, BertTokenizer

from adaptbert.config.schema.training import Training
from adaptbert.text.token_store import Flat
from adaptbert.text.tokenizer import SPECIALS

ROW = 128
"""Tokens of the longest short text, and of the rows that short texts are packed into."""
CLS, SEP, MASK = (SPECIALS.index(token) for token in ("[CLS]", "[SEP]", "[MASK]"))
OPTIM = Training(learning_rate=1e-4, warmup_fraction=0.06, betas=[0.9, 0.98], epsilon=1e-6, dropout=0.0)
"""Options of the optimizer alone; the dropout is that of a `Setting`."""


@dataclass(frozen=True)
class Setting:
    """An architecture and the documents of a step.

    Attributes:
        length: tokens of every document; 0: lengths like those of short posts.
        documents: a step.
        dropout: rate, 0.1 in Hugging Face's configuration.
    """

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    length: int
    documents: int
    dropout: float = 0.1

    @property
    def block(self) -> int:
        """Tokens of a packed row."""
        return self.length or ROW

    def config(self, attention: str = "sdpa", **more: object) -> BertConfig:
        """The config as Hugging Face writes it."""
        return BertConfig(
            vocab_size=self.vocabulary,
            hidden_size=self.hidden,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=4 * self.hidden,
            max_position_embeddings=512,
            attn_implementation=attention,
            hidden_dropout_prob=self.dropout,
            attention_probs_dropout_prob=self.dropout,
            **more,
        )


def _grid() -> dict[str, Setting]:
    """Sizes of Turc et al. 2019, table 1; short texts in small steps and in large ones, packed ones of one size."""
    return {
        f"{size}-{kind}-{name}": Setting(*shape, vocabulary, length, documents)
        for size, shape in {"tiny": (2, 128, 2), "mini": (4, 256, 4), "small": (4, 512, 8)}.items()
        for name, vocabulary in (("30k", 30522), ("8k", 8192))
        for kind, length, documents in (
            ("short", 0, 32),
            ("large", 0, 128),
            ("packed128", 128, 16),
            ("packed512", 512, 4),
        )
    }


SETTINGS = {
    "cpu": _grid(),
    "gpu": {
        f"base-{kind}-30k{suffix}": Setting(12, 768, 12, 30522, length, documents, dropout)
        for suffix, dropout in (("", 0.1), ("-dropout0", 0.0))
        for kind, length, documents in (("short", 0, 512), ("packed128", 128, 256), ("packed512", 512, 64))
    },
}
USUAL = {
    "cpu": [f"mini-{kind}-30k" for kind in ("short", "large", "packed128", "packed512")]
    + ["mini-short-8k", "mini-packed128-8k", "mini-packed512-8k", "tiny-short-30k", "small-short-30k"],
    "gpu": list(SETTINGS["gpu"]),
}
"""What is run when no settings are named: some minutes."""


class Documents:
    """Random ids between [CLS] and [SEP], in the form of a `TokenizedCorpus`."""

    def __init__(self, setting: Setting, count: int) -> None:
        draw = np.random.default_rng(0)
        if setting.length:
            self.lengths: NDArray[np.int64] = np.full(count, setting.length)
        else:
            self.lengths = np.clip(draw.lognormal(3.13, 0.62, count).round().astype(np.int64), 4, ROW)  # mean about 28
        self.documents = [
            np.concatenate([[CLS], draw.integers(len(SPECIALS), setting.vocabulary, length - 2), [SEP]])
            for length in self.lengths
        ]

    def read(self, documents: NDArray[np.int64]) -> Flat:
        """Documents as `TokenizedCorpus.read` gives them."""
        ids = np.concatenate([self.documents[number] for number in documents])
        return Flat(ids, np.ones(len(ids), np.bool_), self.lengths[documents])


def tokenizer(setting: Setting) -> BertTokenizer:
    """A tokenizer for the collators of the peer, which ask for the ids of the special tokens."""
    vocabulary = {token: number for number, token in enumerate(SPECIALS)}
    vocabulary |= {f"t{number}": number for number in range(len(SPECIALS), setting.vocabulary)}
    return BertTokenizer(vocab=vocabulary)
