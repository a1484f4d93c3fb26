"""Supervised fine-tuning: packed examples, a Hugging Face head, and predictions by the same path."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from adaptbert.config.schema.finetuning import GradualUnfreezing, RDrop
from adaptbert.config.schema.training import Training
from adaptbert.model.encoder import Tokens, encode
from adaptbert.model.evaluation import evaluating
from adaptbert.model.families.family import depths
from adaptbert.model.optimizer import adamw, rate
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.labelled_batch import LabelledBatch, batch_of
from adaptbert.tasks.options.freezing import frozen_depths
from adaptbert.tasks.options.r_drop import r_drop_loss
from adaptbert.tasks.shape import Shape
from adaptbert.training.document_stream import DocumentStream

PREDICT_ROWS = 128
"""Rows of a group of forward passes, counted from the first row of a set: see `logits`."""
PREDICT_TOKENS = 8192
"""Approximate tokens of a forward pass: rows may be long and have many windows."""


class LabelledBatches:
    """Micro-batch k of a run: `size` examples of a stream that continues through the epochs."""

    def __init__(self, examples: Examples, seed: int, size: int, block_size: int) -> None:
        self._examples, self._block_size = examples, block_size
        self._stream = DocumentStream(np.ones(len(examples), np.int64), seed, size)

    def __call__(self, k: int) -> LabelledBatch:
        chosen, _ = self._stream.batch(k)
        return batch_of(self._examples.take(chosen), self._block_size)


@dataclass(frozen=True)
class UnfreezingBatches:
    """The same micro-batches with the number of frozen depths in their epoch; a function of k, like the stream.

    Attributes:
        accumulate: micro-batches an optimizer step.
        epoch: optimizer steps an epoch; a step belongs to the epoch in which it begins.
        layers: of the encoder.
    """

    batches: LabelledBatches
    config: GradualUnfreezing
    accumulate: int
    epoch: float
    layers: int

    def __call__(self, k: int) -> LabelledBatch:
        epoch = int(k // self.accumulate / self.epoch)
        return replace(self.batches(k), frozen=frozen_depths(self.config, epoch, self.layers))


class FineTuning(pl.LightningModule):
    """Loss, optimizer and schedule around a Hugging Face model with a head.

    Args:
        r_drop: a regularizer with a second forward pass.
    """

    def __init__(self, model: Any, shape: Shape, optim: Training, steps: int, r_drop: RDrop | None = None) -> None:
        super().__init__()
        model.train()  # from_pretrained leaves it in eval mode and Lightning keeps it: dropout would be off
        self.model, self._shape, self._optim, self._steps = model, shape, optim, steps
        self._r_drop = r_drop
        self._depths = depths(name for name, _ in model.named_parameters())

    def training_step(self, batch: LabelledBatch, k: int) -> Tensor:
        if batch.frozen is not None:
            for name, parameter in self.model.named_parameters():
                parameter.requires_grad_(self._depths[name] >= batch.frozen)
        first = _logits(self.model, self._shape, batch)
        loss = self._shape.loss(first, batch)
        if self._r_drop is None:
            return loss
        other = _logits(self.model, self._shape, batch)
        log_first, log_other = (self._shape.log_probabilities(logits, batch) for logits in (first, other))
        return r_drop_loss(self._r_drop, loss, self._shape.loss(other, batch), log_first, log_other)

    def configure_optimizers(self) -> Any:
        optimizer = adamw(self.model, self._optim)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(self._optim, step, self._steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def logits(
    model: Any,
    shape: Shape,
    examples: Examples,
    block_size: int,
    precision: str,
    batch_tokens: int | None = None,
) -> NDArray[np.float64]:
    """Scores at every place, (places, scores), without dropout; the model's mode is as before.

    The last bits of a score depend on the other examples of its forward pass, because matrix products are blocked by
    their sizes. So passes never cross a multiple of `PREDICT_ROWS` rows, and a group of so many rows has the same bits
    alone as within a set.

    Args:
        batch_tokens: approximate tokens of a pass, ignoring the groups; None: as above.
    """
    scores = []
    with evaluating(model, precision):
        for chosen in passes(examples, batch_tokens):
            batch = batch_of(examples.take(chosen), block_size).to(model.device)
            scores.append(_logits(model, shape, batch).double().cpu().numpy())
    return np.concatenate(scores)


def passes(examples: Examples, batch_tokens: int | None = None) -> Iterator[NDArray[np.int64]]:
    """The examples of each forward pass of `logits`."""
    if batch_tokens is not None:
        yield from _cut(np.arange(len(examples)), examples, batch_tokens)
        return
    for group in _runs(examples.rows // PREDICT_ROWS):
        yield from _cut(group, examples, PREDICT_TOKENS)


def _cut(chosen: NDArray[np.int64], examples: Examples, tokens: int) -> Iterator[NDArray[np.int64]]:
    for part in _runs((np.cumsum(examples.lengths[chosen]) - 1) // tokens):
        yield chosen[part]


def _runs(numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The index ranges of runs of equal numbers."""
    return np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers)) + 1)


def _logits(model: Any, shape: Shape, batch: LabelledBatch) -> Tensor:
    hidden = encode(model.base_model, batch.rows, Tokens(batch.ids, batch.segments), batch.places)
    return shape.logits(model, hidden)
