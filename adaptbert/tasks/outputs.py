"""The outputs of a model for examples, in evaluation as in prediction: groups of forward passes with equal bits."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from adaptbert.model.device import evaluating
from adaptbert.tasks.batches import LabelledBatch, batch_of
from adaptbert.tasks.examples import Examples

PREDICT_ROWS = 128
"""Rows of a group of forward passes, counted from the first row of a set: see `outputs`."""
PREDICT_TOKENS = 8192
"""Approximate tokens of a forward pass: rows may be long and have many windows."""


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
