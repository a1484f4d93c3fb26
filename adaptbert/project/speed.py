"""The speed of this machine on models of the sizes of a recipe: tokens a second of masked-language modelling and of
fine-tuning, and the processor time in which a stage starts.

The model has random weights and reads random ids, by our encoder, loss and optimizer, one micro-batch after another for
some seconds. So neither text nor weights need to be there, and how long it takes does not depend on either.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from adaptbert.config.plan import FINETUNE
from adaptbert.config.recipe import Recipe
from adaptbert.mlm.masked_lm import MaskedBatch, MaskedLM
from adaptbert.model.checkpoint import random_weights
from adaptbert.model.checkpoint_files import CONFIG, check_architecture, check_folder, downloaded, read_object
from adaptbert.model.device import BF16, chosen, fastest_device
from adaptbert.model.encoder import Tokens, encode
from adaptbert.model.families.registry import family_of
from adaptbert.model.optimizer import adamw
from adaptbert.model.packing import pack
from adaptbert.project.trainings import Training
from adaptbert.runtime.libraries import keep_freed_memory
from adaptbert.runtime.side_by_side import JOBS, threads

SECONDS = 8.0
FIRST_TOKENS = 512
"""Of the steps that warm up; as many as a second allows follow, a micro-batch at most."""
EXAMPLE_TOKENS = 32
"""Of a document or an example of which nothing is known."""


class Speed(NamedTuple):
    """Of one base, in one of the stages that run side by side.

    Attributes:
        config: of its model.
        masked, labelled: tokens a second of masked-language modelling and of fine-tuning; 0: not measured.
    """

    config: Any
    masked: float = 0.0
    labelled: float = 0.0

    def of(self, step: str) -> float:
        return self.labelled if step == FINETUNE else self.masked


class Speeds(NamedTuple):
    """Of a recipe on this machine.

    Attributes:
        bases: name -> speed.
        start: seconds of a stage before and after it trains.
        jobs: stages that train side by side.
    """

    bases: dict[str, Speed]
    start: float
    jobs: int


def measured(recipe: Recipe, planned: Sequence[Training], seconds: float = SECONDS) -> Speeds:
    """Of these trainings one of each kind and base.

    Args:
        seconds: of all measurements together, about.

    Raises:
        BadData: the config of a base with weights cannot be read.
    """
    keep_freed_memory()
    torch.set_num_threads(int(threads().partition(",")[0]))
    samples = {(each.base, each.step == FINETUNE): each for each in planned}
    speeds = {base: Speed(_config(recipe, base)) for base in recipe.bases}
    start = time.process_time()
    for (base, is_labelled), training in samples.items():
        step = _step(speeds[base].config, training)
        tokens = _tokens_per_second(step, _micro_batch(training), seconds / len(samples))
        speeds[base] = speeds[base]._replace(**{"labelled" if is_labelled else "masked": tokens})
    return Speeds(speeds, start, 1 if fastest_device().type == "cuda" else JOBS)


def _config(recipe: Recipe, base: str) -> Any:
    from transformers import AutoConfig

    weights = recipe.bases[base]
    if weights.is_random:
        return random_weights(weights, recipe.values("tokenizer", {"base": base}).vocabulary_size, 0)
    file: Path | None = Path(str(weights.checkpoint), CONFIG)
    if weights.is_folder:
        check_folder(Path(str(weights.checkpoint)))
    else:
        file = downloaded(str(weights.checkpoint), weights.revision or "main", CONFIG)
    assert file is not None
    check_architecture(read_object(file), file)
    return AutoConfig.from_pretrained(file.parent)


def _micro_batch(training: Training) -> int:
    """Tokens, about."""
    values = training.values
    return int(values.micro_batch_size * _length(training) if training.step == FINETUNE else values.micro_batch_tokens)


def _length(training: Training) -> int:
    """Tokens of a document or an example, on average; a longer text is cut into several documents."""
    amount, most = training.amount, training.values.block_size
    return int(min(most, max(3, amount.tokens / amount.rows))) if amount and amount.rows else min(most, EXAMPLE_TOKENS)


def _step(config: Any, training: Training) -> Callable[[int], int]:
    """An optimizer step on about so many tokens; it returns how many these were."""
    values, device, draw = training.values, fastest_device(), np.random.default_rng(0)
    model = family_of(config).hugging_face("masked_lm")(config).to(device)
    module = MaskedLM(model, values, steps=1)  # in train mode
    optimizer, length = adamw(model, values), _length(training)
    is_labelled, dtype = training.step == FINETUNE, torch.bfloat16

    def loss(tokens: int) -> torch.Tensor:
        rows = pack(np.full(tokens // length, length), values.block_size)
        ids = torch.from_numpy(draw.integers(config.vocab_size, size=tokens))
        share = 1 / length if is_labelled else values.masking.probability
        chosen = torch.from_numpy(np.sort(draw.choice(tokens, max(1, round(tokens * share)), replace=False)))
        batch = MaskedBatch(rows, ids, chosen, ids[chosen], {"tokens": tokens}).to(device)
        if is_labelled:  # a head costs next to nothing
            return encode(model.base_model, batch.rows, Tokens(batch.ids), batch.chosen).float().square().mean()
        return module.training_step(batch, 0)  # type: ignore[return-value]

    def step(about: int) -> int:
        tokens = max(1, about // length) * length
        with torch.autocast(device.type, dtype, enabled=precision == BF16):
            torch.autograd.backward(loss(tokens))
        torch.nn.utils.clip_grad_norm_(model.parameters(), values.clip_norm)
        optimizer.step()
        optimizer.zero_grad()
        return tokens

    precision = chosen(values.precision)
    return step


def _tokens_per_second(step: Callable[[int], int], most: int, seconds: float) -> float:
    """After a warm-up; of a model so large that this takes all the time, of the warm-up.

    Args:
        most: tokens of a micro-batch.
    """
    size = min(most, FIRST_TOKENS)
    for _ in range(2):
        began = time.perf_counter()
        tokens = step(size)
        _wait()
        took = time.perf_counter() - began
        if took > seconds:
            return tokens / took
    size = min(most, max(size, int(tokens / took)))
    tokens, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        tokens += step(size)
        _wait()
    return tokens / took


def _wait() -> None:
    """For a device that has been told only."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
