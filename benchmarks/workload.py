"""What is trained in a benchmark: architectures, and documents of random ids, for speed does not depend on them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import AutoConfig, BertTokenizer

from adaptbert.config.schema.training import Training
from adaptbert.text.token_store import Flat
from adaptbert.text.tokenizer import SPECIALS

ROW = 128
"""Tokens of the longest short text, and of the rows that short texts are packed into."""
PAD, CLS, SEP, MASK = (SPECIALS.index(token) for token in ("[PAD]", "[CLS]", "[SEP]", "[MASK]"))
OPTIM = Training(learning_rate=1e-4, warmup_fraction=0.06, betas=[0.9, 0.98], epsilon=1e-6, dropout=0.0)
"""Options of the optimizer alone; the dropout is that of a `Setting`."""


@dataclass(frozen=True)
class Setting:
    """An architecture and the documents of a step.

    Attributes:
        length: tokens of every document; 0: lengths like those of short posts.
        documents: a step.
        dropout: rate, 0.1 in Hugging Face's configuration; 0 where a type has none there.
        kind: type of model, as config.json names it.
    """

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    length: int
    documents: int
    dropout: float = 0.1
    kind: str = "bert"

    @property
    def block(self) -> int:
        """Tokens of a packed row."""
        return self.length or ROW

    def config(self, attention: str = "sdpa", **more: object) -> Any:
        """The config as Hugging Face writes it."""
        own = dict(OWN[self.kind])
        rates = dict.fromkeys(own.pop("rates"), self.dropout)
        return AutoConfig.for_model(
            self.kind,
            vocab_size=self.vocabulary,
            hidden_size=self.hidden,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=round(own.pop("wide") * self.hidden),
            attn_implementation=attention,
            **rates,
            **own,
            **more,
        )


RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob")
OWN: dict[str, dict[str, Any]] = {
    "bert": {"wide": 4, "rates": RATES, "max_position_embeddings": 512},
    "roberta": {"wide": 4, "rates": RATES, "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": PAD},
    "modernbert": {
        "wide": 1.5,
        "rates": (),
        "max_position_embeddings": 8192,
        "pad_token_id": PAD,
        **{f"{role}_token_id": CLS for role in ("bos", "cls")},
        **{f"{role}_token_id": SEP for role in ("eos", "sep")},
    },
}
"""Type of model -> what its config has of its own: the width of the feed-forward network by that of the hidden states,
the rates of dropout, the positions of its base size."""


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


def _encoders() -> dict[str, Setting]:
    """Other types of one size, with the lengths that they are trained at: short texts, and rows without padding."""
    lengths = {"short": (0, 32), "128": (128, 16), "512": (512, 4), "2048": (2048, 1), "8192": (8192, 1)}
    return {
        f"{kind}-mini-{name}": Setting(4, 256, 4, 8192, length, documents, kind=kind)
        for kind in ("roberta", "modernbert")
        for name, (length, documents) in lengths.items()
        if length <= OWN[kind]["max_position_embeddings"]
    }


SETTINGS = {
    "cpu": _grid(),
    "encoders": _encoders(),
}
USUAL = {
    "cpu": [f"mini-{kind}-30k" for kind in ("short", "large", "packed128", "packed512")]
    + ["mini-short-8k", "mini-packed128-8k", "mini-packed512-8k", "tiny-short-30k", "small-short-30k"],
    "encoders": list(SETTINGS["encoders"]),
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


def means(documents: Documents) -> tuple[float, float]:
    """Mean tokens of a document, and of the document in which a token stands."""
    lengths = documents.lengths
    return float(lengths.mean()), float(np.square(lengths).sum() / lengths.sum())


def tokenizer(setting: Setting) -> BertTokenizer:
    """A tokenizer for the collators of the peer, which ask for the ids of the special tokens."""
    vocabulary = {token: number for number, token in enumerate(SPECIALS)}
    vocabulary |= {f"t{number}": number for number in range(len(SPECIALS), setting.vocabulary)}
    return BertTokenizer(vocab=vocabulary)
