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
    return Masking(**({"probability": 0.15} | changes))


UNITS: dict[str, dict[str, Any]] = {
    **{unit: {} for unit in get_args(Masking.model_fields["unit"].annotation)},
    "ngram": {"ngram": Ngram(longest=3, geometric=0)},
}
"""Every masking unit, with the options that it requires."""


def masker(seed: int = 0, pieces: Tokenizer | None = None, **changes: Any) -> Masker:
    return Masker(masking(**changes), seed, pieces or tokenizer())


OPTIM: dict[str, Any] = {"learning_rate": 3e-3, "warmup_fraction": 0.1, "betas": [0.9, 0.98], "epsilon": 1e-6}
TRAINING: dict[str, Any] = OPTIM | {"dropout": 0.1, "block_size": 64, "precision": "32-true"}


def optim(**changes: Any) -> Training:
    return Training(**(OPTIM | {"dropout": 0.1} | changes))


MEASURE = Measure(probability=0.15, max_tokens=500, seed=0)


def step_values(**changes: Any) -> dict[str, Any]:
    """Values of a `MlmStep`."""
    budget = {} if changes.keys() & {*BUDGET} else {"steps": 6}
    batch = {"global_batch_tokens": 128, "micro_batch_tokens": 128}
    return {**TRAINING, **budget, **batch, "masking": masking(), "measurements": 2, **changes}


def step(**changes: Any) -> MlmStep:
    return MlmStep(**step_values(**changes))


def cell_values(**changes: Any) -> dict[str, Any]:
    """Values of a `Finetune`."""
    batch = {"global_batch_size": 16, "micro_batch_size": 16}
    return {**TRAINING, **batch, "seeds": [1, 2], "epochs": 2.0, "max_length": MAX_LENGTH, **changes}


def cell(**changes: Any) -> Finetune:
    return Finetune(**cell_values(**changes))
