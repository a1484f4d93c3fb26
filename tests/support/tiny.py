"""A tiny world for the tests of the core: two kinds of text, a tokenizer, labelled sets, a BERT of 2 x 32.

Everything is a function of its arguments, and small enough that a training run of some steps takes about a second.
"""

import json
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.finetuning.cell_config import CellConfig
from adaptbert.finetuning.tasks import shapes
from adaptbert.finetuning.tasks.shapes import Shape, ShapeConfig
from adaptbert.model import checkpoint
from adaptbert.model.architecture import EncoderConfig
from adaptbert.model.card import Provenance
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.optimizer import OptimConfig
from adaptbert.pretraining.heldout_evaluation import MeasureConfig
from adaptbert.pretraining.masking import Masker, MaskingConfig, NgramConfig
from adaptbert.pretraining.rung_config import RungConfig
from adaptbert.rows import tag_schemes
from adaptbert.rows.task_description import TaskDescription
from adaptbert.runtime.tracking.run import Run
from adaptbert.tokenization.corpus_writer import write
from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus
from adaptbert.tokenization.store.tokenizer import Tokenizer, VocabularyConfig
from adaptbert.training.document_stream import BudgetConfig
from adaptbert.training.resume import Work

WORDS = {
    "general": [
        "the",
        "house",
        "stood",
        "by",
        "a",
        "river",
        "and",
        "people",
        "walked",
        "along",
        "its",
        "bank",
        "every",
        "morning",
        "to",
        "buy",
        "bread",
        "or",
        "fish",
    ],
    "domain": [
        "an",
        "array",
        "of",
        "values",
        "is",
        "returned",
        "whose",
        "shape",
        "equals",
        "that",
        "of",
        "the",
        "estimator",
        "matrix",
        "when",
        "axis",
        "=",
        "0",
    ],
}
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
    return Tokenizer.train(lambda: texts, VocabularyConfig(vocabulary_size=150, lowercase=lowercase, min_frequency=1))


def corpus(folder: Path, kind: str, count: int = 60, seed: int = 0, pieces: Tokenizer | None = None) -> TokenizedCorpus:
    write(folder, rows(kind, count, seed), pieces or tokenizer(), MAX_LENGTH)
    return TokenizedCorpus.load(folder)


def heldout(folder: Path, pieces: Tokenizer | None = None) -> Path:
    """Held-out texts of both kinds, as `tokenize` leaves them."""
    for kind in WORDS:
        corpus(folder / kind, kind, 30, seed=99, pieces=pieces)
    return folder


def config() -> Any:
    """The architecture as Hugging Face writes it."""
    shape = EncoderConfig(layers=2, hidden_size=32, heads=2, intermediate_size=64, max_positions=POSITIONS)
    return shape.hugging_face(tokenizer().size, tokenizer().pad)


def card(rung: str, **changes: Any) -> Provenance:
    return Provenance(
        **{"stage": "pretrain", "rung": rung, "params": {}, "init": None, "texts": [], "measured": {}, **changes}
    )


def scratch(folder: Path) -> Checkpoint:
    """An architecture and a tokenizer without weights."""
    checkpoint.save(folder, config(), tokenizer(), card("scratch"))
    return Checkpoint.load(folder)


def pretrained(folder: Path, seed: int = 1) -> Checkpoint:
    """A checkpoint with weights, random ones."""
    import torch
    from transformers import BertForMaskedLM

    torch.manual_seed(seed)
    checkpoint.save(folder, BertForMaskedLM(config()), tokenizer(), card("pretrain"))
    return Checkpoint.load(folder)


KINDS = [
    ("single_sentence", "class"),
    ("single_sentence", "labels"),
    ("single_sentence", "number"),
    ("sentence_pair", "class"),
    ("sentence_pair", "labels"),
    ("sentence_pair", "number"),
    ("extractive_answer", "answer"),
    ("sequence_labelling", "spans"),
    ("sequence_labelling", "tags"),
]
"""Every shape with every target; of a shape the first is meant where none is named."""

USUAL = dict(reversed(KINDS))
LABELS = {
    "class": ["code", "prose"],
    "labels": ["attribute", "object"],
    "number": [],
    "answer": [],
    "spans": ["ATTR", "OBJ"],
    "tags": ["DET", "NOUN", "X"],
}


def labelled(kind: str, shape: str, count: int, seed: int, target: str | None = None) -> list[dict[str, Any]]:
    """Rows whose answers can be learnt: `shape` and `estimator` decide, in a pair those of the second text."""
    make = {"sentence_pair": _pair, "extractive_answer": _question, "sequence_labelling": _tagged}.get(shape, _single)
    return [
        {"id": text_id, **make(text, target or USUAL[shape], random.Random(text_id))}
        for text_id, text in rows(kind, count, seed)
    ]


def _single(text: str, target: str, draw: random.Random) -> dict[str, Any]:
    return {"text": text, **_answer(text, target)}


def _pair(text: str, target: str, draw: random.Random) -> dict[str, Any]:
    words = text.split()
    middle = len(words) // 2
    first, second = " ".join(words[:middle]), " ".join(words[middle:])
    return {"text_a": first, "text_b": second, **_answer(second, target)}


def _answer(text: str, target: str) -> dict[str, Any]:
    words = text.split()
    if target == "class":
        return {"label": "code" if "shape" in words else "prose"}
    if target == "labels":
        word_of = {"attribute": "shape", "object": "estimator"}
        return {"labels": [label for label, word in word_of.items() if word in words]}
    return {"value": 100.0 + 50 * ("shape" in words) + 20 * ("estimator" in words)}


def _question(text: str, target: str, draw: random.Random) -> dict[str, Any]:
    """The answer is the fish; one row in four has no answer."""
    words = [word for word in text.split() if word.lower() not in ("bread", "fish")]
    if draw.random() < 0.25:
        return {"context": " ".join(words), "question": "Which fish?", "answers": []}
    place, fish = draw.randint(0, len(words)), draw.choice(["bread or fish", "fish", "fish"])
    context = " ".join([*words[:place], fish, *words[place:]])
    start = sum(len(word) + 1 for word in words[:place])
    return {"context": context, "question": "Which fish?", "answers": [{"text": fish, "start": start}]}


def _tagged(text: str, target: str, draw: random.Random) -> dict[str, Any]:
    words = text.split()
    if target == "tags":
        known = {"the": "DET", "an": "DET", "a": "DET", "matrix": "NOUN", "estimator": "NOUN", "array": "NOUN"}
        return {"tokens": words, "tags": [known.get(word.lower(), "X") for word in words]}
    tags = [{"shape": "B-ATTR", "estimator": "B-OBJ", "matrix": "I-OBJ"}.get(word, "O") for word in words]
    return {"tokens": words, "tags": tag_schemes.legal(tags, "bio")}


def about(shape: str, target: str | None = None) -> dict[str, Any]:
    """What task.json says, but for the numbers of rows."""
    target = target or USUAL[shape]
    more: dict[str, dict[str, Any]] = {"number": {"range": [100.0, 170.0]}, "answer": {"no_answer": True}}
    return {"shape": shape, "target": target, "labels": LABELS[target], **more.get(target, {})}


def described(shape: str, target: str | None = None, **changes: Any) -> TaskDescription:
    """The same as it is read."""
    return TaskDescription.of(about(shape, target) | changes)


def options(shape: str, target: str | None = None, **changes: Any) -> Any:
    """Of a shape; windows overlap by half. None takes an option away."""
    usual: dict[str, dict[str, Any]] = {
        "single_sentence": {"long_text": "head"},
        "sentence_pair": {"long_text": "head"},
        "extractive_answer": {"max_question": 10, "stride": 24, "max_answer": 8},
        "sequence_labelling": {"stride": 24, **({} if target == "tags" else {"tag_scheme": "bio"})},
    }
    values = {name: value for name, value in (usual[shape] | changes).items() if value is not None}
    return ShapeConfig.model_validate({shape: values}).options()


def shape_of(shape: str, target: str | None = None, **changes: Any) -> Shape:
    return shapes.shape_of(described(shape, target), options(shape, target, **changes))


def task(folder: Path, shape: str, rows_of: tuple[int, int, int] = (64, 24, 24), target: str | None = None) -> Path:
    """data/validated/tasks/<task>."""
    folder.mkdir(parents=True, exist_ok=True)
    splits = {
        name: labelled("domain", shape, count, 10 + number, target)
        for number, (name, count) in enumerate(zip(("train", "dev", "test"), rows_of, strict=True))
    }
    for name, content in splits.items():
        pq.write_table(pa.Table.from_pylist(content), folder / f"{name}.parquet")
    description = {**about(shape, target), "rows": {name: len(content) for name, content in splits.items()}}
    (folder / "task.json").write_text(json.dumps(description), encoding="utf-8")
    return folder


def masking(**changes: Any) -> MaskingConfig:
    usual = {"unit": "token", "probability": 0.15, "mask_share": 0.8, "random_share": 0.1, "keep_share": 0.1}
    return MaskingConfig(**(usual | changes))


UNITS: dict[str, dict[str, Any]] = {
    **{unit: {} for unit in get_args(MaskingConfig.model_fields["unit"].annotation)},
    "ngram": {"ngram": NgramConfig(longest=3, geometric=0)},
}
"""Every masking unit, with the options that it requires."""


def masker(seed: int = 0, pieces: Tokenizer | None = None, **changes: Any) -> Masker:
    pieces = pieces or tokenizer()
    return Masker(masking(**changes), seed, pieces)


def optim(**changes: Any) -> OptimConfig:
    usual = {
        "learning_rate": 3e-3,
        "weight_decay": 0.01,
        "warmup_fraction": 0.1,
        "betas": [0.9, 0.98],
        "epsilon": 1e-6,
        "clip_norm": 1.0,
    }
    return OptimConfig(**(usual | changes))


MEASURE = MeasureConfig(probability=0.15, max_tokens=500, seed=0)


def rung_values(**changes: Any) -> dict[str, Any]:
    """Of a `RungConfig`."""
    return {
        "masking": masking(),
        "optim": optim(),
        "budget": BudgetConfig(steps=6),
        "global_batch_tokens": 128,
        "micro_batch_tokens": 128,
        "dropout": 0.1,
        "block_size": 64,
        "sentence_objective": "none",
        "head_warmup_steps": 0,
        "precision": "32-true",
        "measurements": 2,
    } | changes


def rung(**changes: Any) -> RungConfig:
    return RungConfig(**rung_values(**changes))


def cell_values(**changes: Any) -> dict[str, Any]:
    """Of a `CellConfig`; of a single sentence unless `changes` has the options of another shape."""
    shape = {} if changes.keys() & shapes.SHAPES.keys() else {"single_sentence": options("single_sentence")}
    return {
        **shape,
        "seeds": [1, 2],
        "labels": 0,
        "epochs": 2.0,
        "optim": optim(),
        "global_batch_size": 16,
        "micro_batch_size": 16,
        "max_length": MAX_LENGTH,
        "block_size": 64,
        "dropout": 0.1,
        "precision": "32-true",
    } | changes


def cell(**changes: Any) -> CellConfig:
    return CellConfig(**cell_values(**changes))


def no_record() -> Run:
    """A run that nobody keeps."""
    return Run()


def work(beside: Path) -> Work:
    """A work folder that no run has used, so that nothing is resumed."""
    return Work(Path(tempfile.mkdtemp(prefix=".work-", dir=beside.parent)), code=[])


def folder_bytes(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def documents(count: int, length: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random ids, word starts and lengths of documents `[CLS] ... [SEP]` of one length."""
    pieces, draw = tokenizer(), np.random.default_rng(seed)
    inner = draw.choice(pieces.replacements, (count, length - 2))
    ids = np.concatenate([np.full((count, 1), pieces.cls), inner, np.full((count, 1), pieces.sep)], axis=1).reshape(-1)
    starts = draw.random((count, length)) < 0.6
    starts[:, [0, 1, -1]] = True
    return ids, starts.reshape(-1), np.full(count, length)
