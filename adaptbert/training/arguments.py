"""The arguments of a training run, and its results besides the weights."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Measure = Callable[[int], Mapping[str, float]]
"""Measures the model after an optimizer step, which it gets."""


@dataclass(frozen=True)
class TrainingArguments:
    """Length and settings of a training run.

    Attributes:
        steps: optimizer steps.
        accumulate: micro-batches an optimizer step.
        clip_norm: of the gradient.
        precision: as Lightning names it.
        seed: of dropout, micro-batch by micro-batch.
        loss_name: of the loss on the curves, e.g. `train/mlm_loss`.
        parts: other values that `training_step` returns by these names; the curves get their means over steps.
        keep_best: a measure: the weights of the measured step with the highest are kept; None: those of the last step.
        patience: with `keep_best`, measurements without a better one, after which the run ends.
        label: what progress calls the run, where a stage has several.
    """

    steps: int
    accumulate: int
    clip_norm: float
    precision: str
    seed: int
    loss_name: str
    parts: tuple[str, ...] = ()
    keep_best: str | None = None
    patience: int = 0
    label: str = ""


@dataclass(frozen=True)
class Fitted:
    """The results of a run besides the weights.

    Attributes:
        curve: a dict for each measured step: `step`, `tokens`, the measures, the mean training loss since the last one.
        counts: sums over all micro-batches, and `skipped_steps`, `spikes`.
        step: the optimizer step of the present weights: the last, or the best.
    """

    curve: list[dict[str, float]]
    counts: dict[str, int]
    step: int
