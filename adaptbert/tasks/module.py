"""Supervised fine-tuning: a Hugging Face model with a head, and predictions by the same path."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytorch_lightning as pl
from numpy.typing import NDArray
from torch import Tensor

from adaptbert.config.schema.training import Training
from adaptbert.model.device import evaluating
from adaptbert.model.optimizer import Optimization
from adaptbert.tasks.batches import LabelledBatch, batch_of
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.head import TaskHead

PREDICT_ROWS = 128
"""Rows of a group of forward passes, counted from the first row of a set: see `outputs`."""
PREDICT_TOKENS = 8192
"""Approximate tokens of a forward pass: rows may be long and have many windows."""


class FineTuning(pl.LightningModule):
    """Loss, optimizer and schedule around a Hugging Face model with a head."""

    def __init__(self, model: Any, head: TaskHead, optim: Training, steps: int) -> None:
        super().__init__()
        model.train()  # from_pretrained leaves it in eval mode and Lightning keeps it: dropout would be off
        self.model, self.head, self._optim, self._steps = model, head, optim, steps

    def training_step(self, batch: LabelledBatch, k: int) -> Tensor:
        return self.head.loss(self.head.logits(self.model, batch), batch)

    def configure_optimizers(self) -> Any:
        return Optimization(self._optim, self._steps).of(self.model)


def outputs(
    model: Any, computed: Callable[[Any, LabelledBatch], Tensor], examples: Examples, block_size: int, precision: str
) -> NDArray[np.float64]:
    """What a function of the model and a batch computes of all examples, one pass after another, without dropout; the
    model is as before.

    The last bits of an output depend on the other examples of its forward pass, because matrix products are blocked by
    their sizes. So passes never cross a multiple of `PREDICT_ROWS` rows, and a group of so many rows has the same bits
    alone as within a set.
    """
    parts = []
    with evaluating(model, precision):
        for chosen in passes(examples):
            batch = batch_of(examples.take(chosen), block_size).to(model.device)
            parts.append(computed(model, batch).double().cpu().numpy())
    return np.concatenate(parts)


def passes(examples: Examples) -> Iterator[NDArray[np.int64]]:
    """The examples of each forward pass."""
    every = np.arange(len(examples))
    for group in (every[run] for run in _runs(examples.rows // PREDICT_ROWS)):
        ends = np.cumsum(examples.lengths[group]) - 1
        yield from (group[run] for run in _runs(ends // PREDICT_TOKENS))


def _runs(numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The indices of each run of equal numbers."""
    return np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers)) + 1)
