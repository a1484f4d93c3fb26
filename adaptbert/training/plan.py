"""What a run of training is asked for, and what it leaves beside the weights."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch

from adaptbert.training.early_stopping import KeepBest


class MicroBatch(Protocol):
    """What a module's `training_step` gets."""

    @property
    def counts(self) -> Mapping[str, int]:
        """What to sum over the run; `tokens`, padding not counted, is one of them."""
        ...

    def to(self, device: torch.device) -> "MicroBatch":
        """The same on another device."""
        ...

    def pin_memory(self) -> "MicroBatch":
        """The same in pinned memory; asked for only where there is a CUDA device."""
        ...


Batches = Callable[[int], MicroBatch]
"""The k-th micro-batch of a run; for several devices it can be pickled."""


@dataclass(frozen=True)
class Plan:
    """How far training goes.

    Attributes:
        steps: optimizer steps.
        accumulate: micro-batches an optimizer step.
        clip_norm: of the gradient.
        precision: as Lightning names it.
        seed: of dropout, micro-batch by micro-batch.
        loss_name: of the loss on the curves, e.g. `train/mlm_loss`.
        parts: what else `training_step` returns by these names goes on the curves, as means over micro-batches.
        flop: floating-point operations of what has such counts, to tell the share of the machine's peak; for several
            devices it can be pickled, as batches are.
        keep_best: which measured step is kept, and when to stop; without it the last one is, after all steps.
    """

    steps: int
    accumulate: int
    clip_norm: float
    precision: str
    seed: int
    loss_name: str
    parts: tuple[str, ...] = ()
    flop: Callable[[Mapping[str, int]], float] | None = None
    keep_best: KeepBest | None = None


@dataclass(frozen=True)
class Fitted:
    """What a run leaves beside the weights.

    Attributes:
        curve: a dict for each measured step: `step`, `tokens`, the measures, the mean training loss since the last one.
        counts: sums over all micro-batches, and `skipped_steps`, `spikes`.
        step: after which optimizer step the weights were as they are now: the last, or the best.
    """

    curve: list[dict[str, float]]
    counts: dict[str, int]
    step: int


Measure = Callable[[int], Mapping[str, float]]
