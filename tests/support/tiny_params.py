"""Values of params.yaml for rungs and cells of some steps."""

from typing import Any, get_args

from adaptbert.config.schema.finetuning import Finetune
from adaptbert.config.schema.mlm import Masking, MlmStep, Ngram
from adaptbert.config.schema.text import Measure
from adaptbert.config.schema.training import Training
from adaptbert.mlm.masking import Masker
from adaptbert.tasks import shapes
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training.document_stream import BudgetConfig
from tests.support.tiny import MAX_LENGTH, tokenizer
from tests.support.tiny_tasks import options


def masking(**changes: Any) -> Masking:
    usual = {"unit": "token", "probability": 0.15, "mask_share": 0.8, "random_share": 0.1, "keep_share": 0.1}
    return Masking(**(usual | changes))


UNITS: dict[str, dict[str, Any]] = {
    **{unit: {} for unit in get_args(Masking.model_fields["unit"].annotation)},
    "ngram": {"ngram": Ngram(longest=3, geometric=0)},
}
"""Every masking unit, with the options that it requires."""


def masker(seed: int = 0, pieces: Tokenizer | None = None, **changes: Any) -> Masker:
    pieces = pieces or tokenizer()
    return Masker(masking(**changes), seed, pieces)


def optim(**changes: Any) -> Training:
    usual = {
        "learning_rate": 3e-3,
        "weight_decay": 0.01,
        "warmup_fraction": 0.1,
        "betas": [0.9, 0.98],
        "epsilon": 1e-6,
        "clip_norm": 1.0,
    }
    return Training(**(usual | changes))


MEASURE = Measure(probability=0.15, max_tokens=500, seed=0)


def rung_values(**changes: Any) -> dict[str, Any]:
    """Of a `MlmStep`."""
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


def rung(**changes: Any) -> MlmStep:
    return MlmStep(**rung_values(**changes))


def cell_values(**changes: Any) -> dict[str, Any]:
    """Of a `Finetune`; of a single sentence unless `changes` has the options of another shape."""
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


def cell(**changes: Any) -> Finetune:
    return Finetune(**cell_values(**changes))
