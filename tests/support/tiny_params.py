"""Values of params.yaml for steps of some updates, and for cells."""

from typing import Any, get_args

from adaptbert.config.schema.finetuning import Finetune
from adaptbert.config.schema.mlm import BUDGET, Masking, MlmStep, Ngram
from adaptbert.config.schema.text import Measure
from adaptbert.config.schema.training import Training
from adaptbert.mlm.masking import Masker
from adaptbert.text.tokenizer import Tokenizer
from tests.support.tiny import MAX_LENGTH, tokenizer


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


OPTIM = {"learning_rate": 3e-3, "weight_decay": 0.01, "warmup_fraction": 0.1, "betas": [0.9, 0.98], "epsilon": 1e-6}


def optim(**changes: Any) -> Training:
    return Training(**(OPTIM | {"dropout": 0.1} | changes))


MEASURE = Measure(probability=0.15, max_tokens=500, seed=0)


def step_values(**changes: Any) -> dict[str, Any]:
    """Of a `MlmStep`."""
    budget = {} if changes.keys() & {*BUDGET} else {"steps": 6}
    return {
        **OPTIM,
        **budget,
        "masking": masking(),
        "global_batch_tokens": 128,
        "micro_batch_tokens": 128,
        "dropout": 0.1,
        "block_size": 64,
        "sentence_objective": "none",
        "head_warmup_steps": 0,
        "precision": "32-true",
        "measurements": 2,
    } | changes


def step(**changes: Any) -> MlmStep:
    return MlmStep(**step_values(**changes))


def cell_values(**changes: Any) -> dict[str, Any]:
    """Of a `Finetune`."""
    return {
        **OPTIM,
        "seeds": [1, 2],
        "labels": 0,
        "epochs": 2.0,
        "global_batch_size": 16,
        "micro_batch_size": 16,
        "max_length": MAX_LENGTH,
        "block_size": 64,
        "dropout": 0.1,
        "precision": "32-true",
    } | changes


def cell(**changes: Any) -> Finetune:
    return Finetune(**cell_values(**changes))
