"""One `fit` for every step: Lightning's loop over a run's micro-batches, resumed from a savepoint bit for bit.

A run is one stream of micro-batches 0 .. n-1 and Lightning sees a single epoch of those that are left. Each one, and
every random draw in it, is a function of its number, so a run has no state but that number, the weights and the
optimizer's means.
"""

import logging
import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from adaptbert import interruption
from adaptbert.errors import Diverged
from adaptbert.health import Health
from adaptbert.outputs import write_json
from adaptbert.progress import Progress
from adaptbert.savepoints import Savepoints, State
from adaptbert.stream import seed_of
from adaptbert.tracking import Run

LOG_EVERY = 10
SAVE_SECONDS = 60.0
SAVE_SHARE = 20.0  # so many times as long as saving takes is trained before the next one


class MicroBatch(Protocol):
    """What a module's `training_step` gets."""

    @property
    def counts(self) -> Mapping[str, int]:
        """What to sum over the run; `tokens`, padding not counted, is one of them."""
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
        parts: what else `training_step` returns by these names goes on the curves, as means over micro-batches.
    """

    steps: int
    accumulate: int
    clip_norm: float
    precision: str
    seed: int
    loss_name: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fitted:
    """What a run leaves beside the weights.

    Attributes:
        curve: a dict for each measured step: `step`, `tokens`, the measures, the mean training loss since the last one.
        counts: sums over all micro-batches, and `skipped_steps`, `spikes`.
    """

    curve: list[dict[str, float]]
    counts: dict[str, int]


Measure = Callable[[int], Mapping[str, float]]


def fit(
    module: pl.LightningModule,
    batch: Callable[[int], MicroBatch],
    plan: Plan,
    run: Run,
    measure_at: Mapping[int, Measure] | None = None,
    savepoints: Savepoints | None = None,
) -> Fitted:
    """Train a module, from the newest savepoint if there is one.

    Args:
        module: its `training_step` returns the loss of a micro-batch.
        batch: the k-th micro-batch of the run.
        run: gets loss, learning rate and speed by optimizer step.
        measure_at: after which optimizer steps to measure what; called with the step.
        savepoints: every minute (ADAPTBERT_SAVE_SECONDS), on a signal and at the end the state is saved there.

    Batches are made in this process, or in ADAPTBERT_WORKERS others; the bits are the same.

    Raises:
        Diverged: too many losses or gradients are not finite; or weights would be saved that are not.
        Interrupted: a signal came; the state was saved.
    """
    if plan.steps == 0:
        return Fitted([], {})
    asleep = [name for name, child in module.named_modules() if not child.training]
    if asleep:
        raise AssertionError(f"{asleep[0]} is in eval mode: its dropout would be off")
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    follower = _Follower(plan, run, measure_at or {}, savepoints)
    state = savepoints.latest() if savepoints else None
    if state is not None:
        follower.restore(module, state)
        if state.step == plan.steps:
            return follower.fitted()
        print(f"  resumed after step {state.step:,} of {plan.steps:,}")
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
    left = _Batches(batch, follower.step * plan.accumulate, plan.steps * plan.accumulate)
    workers = int(os.environ.get("ADAPTBERT_WORKERS", "0"))
    loader = torch.utils.data.DataLoader(
        left, batch_size=None, num_workers=workers, worker_init_fn=_begin_worker if workers else None
    )
    with interruption.deferred():
        trainer.fit(module, train_dataloaders=loader)
    return follower.fitted()


class _Batches(torch.utils.data.Dataset[MicroBatch]):
    """Micro-batches first .. last-1."""

    def __init__(self, batch: Callable[[int], MicroBatch], first: int, last: int) -> None:
        self._batch, self._first, self._last = batch, first, last

    def __len__(self) -> int:
        return self._last - self._first

    def __getitem__(self, index: int) -> MicroBatch:
        if index >= len(self):
            raise IndexError(index)
        return self._batch(self._first + index)


def _begin_worker(number: int) -> None:
    """A worker ends with its process, and lets that one answer the signals of a terminal."""
    interruption.ignore()
    interruption.die_with_parent(signal.SIGKILL)


class _Follower(pl.Callback):
    """Seeds every micro-batch, guards every step, keeps the curve and saves."""

    def __init__(self, plan: Plan, run: Run, measure_at: Mapping[int, Measure], savepoints: Savepoints | None) -> None:
        self._plan, self._run, self._measure_at, self._savepoints = plan, run, measure_at, savepoints
        self.step = 0
        self._first = 0  # of this process
        self._curve: list[dict[str, float]] = []
        self._counts: dict[str, int] = {"tokens": 0}
        self._health = Health()
        self._names = (plan.loss_name, *plan.parts)
        self._last = [math.nan for _ in self._names]  # the last finite loss, and its parts
        self._since_logged: list[list[float]] = []
        self._since_measured: list[list[float]] = []
        # Of steps that were not looked at yet: asking a GPU for a number at each step would make it wait.
        self._pending: list[tuple[int, Tensor, Tensor, Tensor]] = []
        self._micro_losses: list[Tensor] = []
        self._micro_parts: list[Tensor] = []
        self._norm = torch.zeros(())
        self._optimizer_state: State | None = None
        self._saved = time.monotonic()
        self._save_seconds = float(os.environ.get("ADAPTBERT_SAVE_SECONDS", SAVE_SECONDS))
        self._progress = Progress(plan.steps, run)

    def fitted(self) -> Fitted:
        return Fitted(
            self._curve, {**self._counts, "skipped_steps": self._health.skipped, "spikes": self._health.spikes}
        )

    # Resuming and saving

    def restore(self, module: pl.LightningModule, state: State) -> None:
        """Weights now; the optimizer's means when there is an optimizer."""
        with torch.no_grad():
            for name, tensor in _weights(module):
                tensor.copy_(state.tensors[f"weights/{name}"])
        self.step = self._first = state.step
        self._optimizer_state = state
        self._curve, self._counts = state.values["curve"], state.values["counts"]
        self._since_logged, self._since_measured = state.values["since_logged"], state.values["since_measured"]
        self._last = state.values["last"]
        self._health.restore(state.values["health"])

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        interruption.insist()  # Lightning has put its own handlers in place; theirs would end the process with 0
        if self._optimizer_state is not None:
            _restore_optimizer(trainer, self._optimizer_state)
            self._optimizer_state = None
        self._progress.begin(self.step, self._counts["tokens"])

    def _save(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        assert self._savepoints is not None
        tensors = {f"weights/{name}": tensor for name, tensor in _weights(module)}
        broken = [name for name, tensor in tensors.items() if not bool(torch.isfinite(tensor).all())]
        if broken:
            raise Diverged(158, f"step {self.step}", f"{broken[0]} is not finite", "lower optim.learning_rate")
        if self.step < self._plan.steps:
            for number, means in trainer.optimizers[0].state_dict()["state"].items():
                tensors |= {f"optimizer/{number}/{name}": mean for name, mean in means.items()}
        values = {
            "curve": self._curve,
            "counts": self._counts,
            "since_logged": self._since_logged,
            "since_measured": self._since_measured,
            "last": self._last,
            "health": self._health.values(),
        }
        self._run.flush()  # what a resumed process will not log again
        began = time.monotonic()
        self._savepoints.save(State(self.step, tensors, values))
        self._saved = time.monotonic()
        # Saving must stay cheap beside training, however large the model and however slow the disk.
        self._save_seconds = max(self._save_seconds, SAVE_SHARE * (self._saved - began))

    # Training

    def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, index: int) -> None:
        torch.manual_seed(seed_of(self._plan.seed, "step", self._first * self._plan.accumulate + index))

    def on_before_optimizer_step(self, trainer: pl.Trainer, module: pl.LightningModule, optimizer: Any) -> None:
        # Lightning itself refuses to clip for a fused optimizer under autocast; bfloat16 has no scaler to undo first.
        self._norm = nn.utils.clip_grad_norm_(module.parameters(), self._plan.clip_norm)
        # The fused kernel leaves weights and means alone where this is 1, without asking the device for the number.
        optimizer.found_inf = (~torch.isfinite(self._norm)).to(torch.float32)

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        for name, count in batch.counts.items():
            self._counts[name] = self._counts.get(name, 0) + count
        self._micro_losses.append(outputs["loss"].detach())  # Lightning has divided it by the accumulation
        parts = [outputs[name].float() for name in self._plan.parts]
        self._micro_parts.append(torch.stack(parts) if parts else torch.empty(0))
        if (index + 1) % self._plan.accumulate:
            return
        self.step += 1
        last = self.step == self._plan.steps
        loss = torch.stack(self._micro_losses).float().sum()
        self._pending.append((self.step, loss, self._norm, torch.stack(self._micro_parts).mean(0)))
        self._micro_losses, self._micro_parts = [], []
        stop = interruption.asked()
        measured = self.step in self._measure_at
        logged = self.step % LOG_EVERY == 0 or last
        save = self._savepoints is not None and (
            last or bool(stop) or time.monotonic() - self._saved >= self._save_seconds
        )
        tell = last or self._progress.is_due()
        if module.device.type == "cpu" or measured or logged or save or tell:
            self._settle()
        if logged:
            rate = trainer.optimizers[0].param_groups[0]["lr"]
            means = self._means(self._since_logged)
            self._run.log_metrics({**means, "train/learning_rate": rate}, self.step)
            self._since_logged = []
        if measured:
            with self._progress.paused():
                self._measure()
        if tell:
            self._progress.tell(self.step, self._counts["tokens"], self._last[0])
        if save:
            with self._progress.paused():
                self._save(trainer, module)
        if stop and not last:
            kept = "" if save else "; nothing could be saved"
            raise interruption.Interrupted(f"{stop} after step {self.step:,} of {self._plan.steps:,}{kept}")

    def _settle(self) -> None:
        """Look at the steps that were not looked at yet, in their order."""
        pending, self._pending = self._pending, []
        numbers = torch.stack([torch.stack([loss, norm, *parts]) for _, loss, norm, parts in pending]).tolist()
        for (step, *_), (loss, norm, *parts) in zip(pending, numbers, strict=True):
            try:
                told = self._health.observe(step, loss, norm)
            except Diverged:
                self._explain()
                raise
            if told:
                print(f"  warning: {told}")
            if math.isfinite(loss):
                self._last = [loss, *parts]
                self._since_logged.append(self._last)
                self._since_measured.append(self._last)

    def _measure(self) -> None:
        measures = self._measure_at[self.step](self.step)
        self._run.log_metrics(measures, self.step)
        means = self._means(self._since_measured)
        self._curve.append({"step": self.step, "tokens": self._counts["tokens"], **measures, **means})
        self._since_measured = []

    def _means(self, steps: list[list[float]]) -> dict[str, float]:
        """Loss and parts of the steps that counted; where none did, of the last one that did."""
        if not steps and math.isnan(self._last[0]):
            raise Diverged(158, f"step {self.step}", "no loss was finite yet", "lower optim.learning_rate")
        values = [sum(column) / len(steps) for column in zip(*steps, strict=True)] or self._last
        return dict(zip(self._names, values, strict=True))

    def _explain(self) -> None:
        """What is needed to look into a run that diverged: the micro-batches are functions of seed and number."""
        if self._savepoints is None:
            return
        self._savepoints.folder.mkdir(parents=True, exist_ok=True)
        path = self._savepoints.folder / "diverged.json"
        found = {"seed": self._plan.seed, "accumulate": self._plan.accumulate, "steps": self._health.bad_steps}
        write_json(path, found)
        self._run.log_artifact(path)
        print(f"  the steps that went wrong are in {path}")


def _weights(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters, shared ones once, and the buffers that are saved."""
    yield from module.named_parameters()
    kept = module.state_dict().keys()
    yield from ((name, buffer) for name, buffer in module.named_buffers() if name in kept)


def _restore_optimizer(trainer: pl.Trainer, state: State) -> None:
    optimizer, scheduler = trainer.optimizers[0], trainer.lr_scheduler_configs[0].scheduler
    assert isinstance(scheduler, torch.optim.lr_scheduler.LambdaLR)
    means: dict[int, dict[str, Tensor]] = {}
    for name, tensor in state.tensors.items():
        kind, _, rest = name.partition("/")
        if kind == "optimizer":
            number, _, mean = rest.partition("/")
            means.setdefault(int(number), {})[mean] = tensor
    optimizer.load_state_dict({"state": means, "param_groups": optimizer.state_dict()["param_groups"]})
    # The schedule is a function of the step.
    scheduler.load_state_dict({**scheduler.state_dict(), "last_epoch": state.step, "_step_count": state.step + 1})
    for group, base, rate in zip(optimizer.param_groups, scheduler.base_lrs, scheduler.lr_lambdas, strict=True):
        group["lr"] = base * rate(state.step)


def parameters(model: nn.Module) -> int:
    """Numbers that a model holds; shared ones are counted once."""
    return sum(parameter.numel() for parameter in model.parameters())
