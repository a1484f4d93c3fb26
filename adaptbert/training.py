"""One `fit` for every step: Lightning's loop over a run's micro-batches, with progress and curves.

Lightning sees a single epoch of micro-batches 0 .. n-1. Each one is a function of its number, so the loop has no state
but that number.
"""

import logging
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from adaptbert.errors import Diverged
from adaptbert.stream import seed_of
from adaptbert.tracking import Run

LINE_SECONDS = 5.0
LOG_EVERY = 10


class MicroBatch(Protocol):
    """What a module's `training_step` gets."""

    @property
    def tokens(self) -> int:
        """Tokens, padding not counted."""
        ...

    def to(self, device: torch.device) -> "MicroBatch":
        """The same on another device."""
        ...


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
    """

    steps: int
    accumulate: int
    clip_norm: float
    precision: str
    seed: int
    loss_name: str


Measure = Callable[[int], Mapping[str, float]]


def fit(
    module: pl.LightningModule,
    batch: Callable[[int], MicroBatch],
    plan: Plan,
    run: Run,
    measure_at: Mapping[int, Measure] | None = None,
) -> list[dict[str, float]]:
    """Train a module.

    Args:
        module: its `training_step` returns the loss of a micro-batch.
        batch: the k-th micro-batch of the run.
        run: gets loss, learning rate and speed by optimizer step.
        measure_at: after which optimizer steps to measure what; called with the step.

    Returns:
        The curve: a dict for each measured step, with `step`, the measures and the training loss since the last one.

    Raises:
        Diverged: the loss or the gradient is not finite.
    """
    if plan.steps == 0:
        return []
    asleep = [name for name, child in module.named_modules() if not child.training]
    if asleep:
        raise AssertionError(f"{asleep[0]} is in eval mode: its dropout would be off")
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    follower = _Follower(plan, run, measure_at or {})
    trainer = pl.Trainer(
        accelerator="auto",
        devices=1,
        max_epochs=1,
        precision=plan.precision,  # type: ignore[arg-type]
        accumulate_grad_batches=plan.accumulate,
        callbacks=[follower],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    loader = torch.utils.data.DataLoader(_Batches(batch, plan.steps * plan.accumulate), batch_size=None)
    trainer.fit(module, train_dataloaders=loader)
    return follower.curve


class _Batches(torch.utils.data.Dataset[MicroBatch]):
    def __init__(self, batch: Callable[[int], MicroBatch], count: int) -> None:
        self._batch, self._count = batch, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, k: int) -> MicroBatch:
        if k >= self._count:
            raise IndexError(k)
        return self._batch(k)


class _Follower(pl.Callback):
    """Seeds every step, tells the progress, keeps the curve."""

    def __init__(self, plan: Plan, run: Run, measure_at: Mapping[int, Measure]) -> None:
        self._plan, self._run, self._measure_at = plan, run, measure_at
        self.curve: list[dict[str, float]] = []
        self._losses: list[Tensor] = []
        self._norm = torch.zeros(())
        self._logged = self._measured = 0
        self._tokens = self._tokens_at_line = 0
        self._began = self._line = time.monotonic()

    def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, k: int) -> None:
        torch.manual_seed(seed_of(self._plan.seed, "step", k))

    def on_before_optimizer_step(self, trainer: pl.Trainer, module: pl.LightningModule, optimizer: Any) -> None:
        # Lightning itself refuses to clip for a fused optimizer under autocast; bfloat16 has no scaler to undo first.
        self._norm = nn.utils.clip_grad_norm_(module.parameters(), self._plan.clip_norm)

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, k: int
    ) -> None:
        self._tokens += batch.tokens
        self._losses.append(outputs["loss"].detach() * self._plan.accumulate)  # Lightning has divided it
        if (k + 1) % self._plan.accumulate:
            return
        step = (k + 1) // self._plan.accumulate
        last = step == self._plan.steps
        if step % LOG_EVERY == 0 or last:
            rate = trainer.optimizers[0].param_groups[0]["lr"]
            loss = self._mean_loss(self._logged, step)
            self._run.log_metrics({self._plan.loss_name: loss, "train/learning_rate": rate}, step)
            self._logged = len(self._losses)
        if step in self._measure_at:
            paused = time.monotonic()
            loss = self._mean_loss(self._measured, step)
            measures = self._measure_at[step](step)
            self._run.log_metrics(measures, step)
            self.curve.append({"step": step, "tokens": self._tokens, **measures, self._plan.loss_name: loss})
            self._measured = len(self._losses)
            self._began += time.monotonic() - paused
        if last or time.monotonic() - self._line > LINE_SECONDS:
            self._tell(step)

    def _mean_loss(self, first: int, step: int) -> float:
        """Of the micro-batches from `first` on; one that is no number, like a gradient that is none, ends the run."""
        loss = float(torch.stack(self._losses[first:]).float().mean())
        for what, value in (("loss", loss), ("norm of the gradient", float(self._norm))):
            if not math.isfinite(value):
                raise Diverged(158, f"step {step}", f"the {what} is {value}", "lower optim.learning_rate")
        return loss

    def _tell(self, step: int) -> None:
        now = time.monotonic()
        seconds = max(1e-9, now - self._began)
        speed = self._tokens / seconds
        left = seconds / step * (self._plan.steps - step)
        loss = float(self._losses[-1])
        self._run.log_metrics({"train/tokens_per_second": speed}, step)
        sys.stdout.write(
            f"  step {step:>6,}/{self._plan.steps:,}  loss {loss:.3f}  {speed:,.0f} tokens/s"
            f"  {int(left) // 60}:{int(left) % 60:02d} left\n"
        )
        sys.stdout.flush()
        self._line = now


def parameters(model: nn.Module) -> int:
    """Numbers that a model holds; shared ones are counted once."""
    return sum(parameter.numel() for parameter in model.parameters())
