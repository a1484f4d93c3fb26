"""The part of training that rank 0 alone does: curve, checks, logging, evaluation, savepoints and the best weights."""

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from adaptbert.codes import Code
from adaptbert.core.files import write_json
from adaptbert.model.to_device import HostCopy
from adaptbert.runtime import signals
from adaptbert.runtime.progress import Progress
from adaptbert.runtime.tracking.run import Run
from adaptbert.training.arguments import Fitted, Measure, TrainingArguments
from adaptbert.training.early_stopping import Best
from adaptbert.training.savepoints import Savepoints, SaveThread, State
from adaptbert.training.stability import Diverged, Health
from adaptbert.training.step_metrics import Reading, Readings

LOG_EVERY = 10
SAVE_SECONDS = 60.0
SAVE_SHARE = 20.0  # training time between two savepoints, as a multiple of the time to save
WEIGHTS, MEANS, BEST = "weights/", "optimizer/", "best/"
"""Prefixes of the tensors of a savepoint: weights, the optimizer's means, the best weights so far."""


class Monitor:
    """Rank-0 logging, evaluation and saving: keeps the curve, and checks that losses and gradients are finite."""

    def __init__(
        self,
        plan: TrainingArguments,
        run: Run,
        measure_at: Mapping[int, Measure],
        savepoints: Savepoints | None,
        progress: Progress,
    ) -> None:
        self._plan, self._run, self._measure_at, self._savepoints = plan, run, measure_at, savepoints
        self._progress = progress
        self._rule, self._best = plan.keep_best, Best()
        self._best_weights: dict[str, Tensor] = {}
        self.step = 0
        self._curve: list[dict[str, float]] = []
        self._counts: dict[str, int] = {"tokens": 0}
        self._health = Health()
        self._names = (plan.loss_name, *plan.parts)
        self._last = [math.nan for _ in self._names]  # the last finite loss, and its parts
        self._since_logged: list[list[float]] = []
        self._since_measured: list[list[float]] = []
        self._readings = Readings()
        self._read = 0  # the last step whose numbers were read
        self._unlogged: list[tuple[int, float]] = []  # steps that end an interval, and their learning rate
        self._thread = SaveThread()
        self._saved = time.monotonic()
        self._save_seconds = float(os.environ.get("ADAPTBERT_SAVE_SECONDS", SAVE_SECONDS))

    @property
    def is_over(self) -> bool:
        """Whether training ends before its last step."""
        return self._rule is not None and self._best.worse >= self._rule.patience

    def fitted(self, module: pl.LightningModule) -> Fitted:
        """The result of the run; the module gets the best weights."""
        if self._rule is not None:
            _put(module, self._best_weights)
        return Fitted(
            self._curve,
            {**self._counts, "skipped_steps": self._health.skipped, "spikes": self._health.spikes},
            self.step if self._rule is None else self._best.step,
        )

    # Resuming and saving

    def restore(self, module: pl.LightningModule, state: State) -> None:
        """Restore the weights and the state of this monitor; the optimizer does not exist yet."""
        _put(module, part(state, WEIGHTS))
        values, self.step = state.values, state.step
        self._curve, self._counts, self._last = values["curve"], values["counts"], values["last"]
        self._since_logged, self._since_measured = values["since_logged"], values["since_measured"]
        self._health, self._best = Health(**values["health"]), Best(**values["best"])
        self._best_weights = part(state, BEST)

    @contextmanager
    def closing(self) -> Iterator[None]:
        """When this block ends, however it does, nothing is being written."""
        try:
            yield
        finally:
            self._thread.close()

    def begin(self) -> None:
        """Called before the first step, and before the first of a resumed run."""
        self._progress.begin(self.step, self._counts)

    def _save(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        assert self._savepoints is not None
        began = time.monotonic()
        tensors = {f"{WEIGHTS}{name}": tensor for name, tensor in weights(module)}
        largest = _largest(list(tensors.values()))
        names = list(tensors)
        tensors |= {f"{BEST}{name}": tensor for name, tensor in self._best_weights.items()}
        if self.step < self._plan.steps and not self.is_over:
            for number, means in trainer.optimizers[0].state_dict()["state"].items():
                tensors |= {f"{MEANS}{number}/{name}": mean for name, mean in means.items()}
        ahead = _runs_ahead(module.device)
        if ahead:
            *copies, largest = HostCopy([*tensors.values(), largest]).tensors()
            tensors = dict(zip(tensors, copies, strict=True))
        broken = [name for name, most in zip(names, largest.tolist(), strict=True) if not math.isfinite(most)]
        if broken:
            raise self._diverged(f"{broken[0]} is not finite")
        self._run.flush()  # a resumed process does not log these steps again
        if ahead:
            self._thread.save(self._savepoints, State(self.step, tensors, deepcopy(self._values())))
        else:
            self._savepoints.save(State(self.step, tensors, self._values()))
        self._saved = time.monotonic()
        # Saving takes at most 1 / SAVE_SHARE of the time, however large the model and slow the disk.
        self._save_seconds = max(self._save_seconds, SAVE_SHARE * (self._saved - began))

    def _values(self) -> dict[str, Any]:
        """Of a savepoint, besides its tensors."""
        return {
            "curve": self._curve,
            "counts": self._counts,
            "since_logged": self._since_logged,
            "since_measured": self._since_measured,
            "last": self._last,
            "health": asdict(self._health),
            "best": asdict(self._best),
        }

    # Training

    def after_step(
        self, trainer: pl.Trainer, module: pl.LightningModule, losses: Tensor, norm: Tensor, counts: Mapping[str, int]
    ) -> None:
        """After an optimizer step: the loss and its parts, (1 + parts,), the norm before clipping, and counts."""
        for name, number in counts.items():
            self._counts[name] = self._counts.get(name, 0) + number
        self.step += 1
        self._readings.add(self.step, self._counts, norm, losses)
        measured = self.step in self._measure_at
        if measured:
            self._observe(self._readings.all())
            with self._progress.paused():
                self._measure(module)
        last = self.step == self._plan.steps or self.is_over
        stop = signals.received()
        save = self._savepoints is not None and (
            last or bool(stop) or time.monotonic() - self._saved >= self._save_seconds
        )
        logged = self.step % LOG_EVERY == 0 or last
        if logged:
            self._unlogged.append((self.step, trainer.optimizers[0].param_groups[0]["lr"]))
        report = last or self._progress.is_due()
        unknown = report and math.isnan(self._last[0])
        if save or last or stop or unknown or not _runs_ahead(module.device):
            self._observe(self._readings.all())
        elif logged:
            self._observe(self._readings.end_interval())
        if report:
            self._progress.tell(self.step, self._counts, self._last[0])
        if save:
            with self._progress.paused():
                self._save(trainer, module)
                if last or stop:
                    self._thread.wait()
        if stop and not last:
            unsaved = "" if save else "; nothing could be saved"
            raise signals.Interrupted(f"{stop} after step {self.step:,} of {self._plan.steps:,}{unsaved}")

    def _observe(self, readings: Sequence[Reading]) -> None:
        """Check the numbers of steps, in order, and log the intervals that they complete."""
        for reading in readings:
            self._log(before=reading.step)
            self._check(reading)
            self._read = reading.step
        self._log(before=self._read + 1)

    def _check(self, reading: Reading) -> None:
        loss = reading.losses[0]
        try:
            warning = self._health.observe(reading.step, loss, reading.norm)
        except Diverged as error:
            error.trained = dict(reading.counts)
            self._explain()
            raise
        if warning:
            self._progress.note(f"warning: {warning}")
        if math.isfinite(loss):
            self._last = reading.losses
            self._since_logged.append(self._last)
            self._since_measured.append(self._last)

    def _log(self, before: int) -> None:
        """The intervals that ended before this step."""
        while self._unlogged and self._unlogged[0][0] < before:
            step, rate = self._unlogged.pop(0)
            means = self._means(self._since_logged)
            self._run.log_metrics({**means, "train/learning_rate": rate}, step)
            self._since_logged = []

    def _measure(self, module: pl.LightningModule) -> None:
        measures = self._measure_at[self.step](self.step)
        self._run.log_metrics(measures, self.step)
        self._curve.append(
            {
                "step": self.step,
                "tokens": self._counts["tokens"],
                **measures,
                **self._means(self._since_measured),
            }
        )
        self._since_measured = []
        if self._rule is not None and self._best.observe(self.step, measures[self._rule.metric]):
            self._best_weights = {name: tensor.detach().clone() for name, tensor in weights(module)}

    def _means(self, steps: list[list[float]]) -> dict[str, float]:
        """Mean loss and parts of the steps with a finite loss; if there are none, those of the last such step."""
        if not steps and math.isnan(self._last[0]):
            raise self._diverged("no loss was finite yet")
        values = [sum(column) / len(steps) for column in zip(*steps, strict=True)] or self._last
        return dict(zip(self._names, values, strict=True))

    def _diverged(self, problem: str) -> Diverged:
        return Diverged(Code.DIVERGED, f"step {self.step}", problem, "lower learning_rate", self._counts)

    def _explain(self) -> None:
        """Write the steps that diverged; seed and number reproduce their micro-batches."""
        if self._savepoints is None:
            return
        self._savepoints.folder.mkdir(parents=True, exist_ok=True)
        path = self._savepoints.folder / "diverged.json"
        steps = {"seed": self._plan.seed, "accumulate": self._plan.accumulate, "steps": self._health.bad}
        write_json(path, steps)
        self._run.log_artifact(path)
        print(f"  the steps that went wrong are in {path}")


def _runs_ahead(device: torch.device) -> bool:
    """Whether the processor only queues work, and training goes on while it reads copies and writes savepoints.

    Where the processor itself trains, a copy would take memory, and a thread the cores.
    """
    return device.type != "cpu"


def _largest(tensors: Sequence[Tensor]) -> Tensor:
    """The largest magnitude in each, (tensors,), not finite where one of its values is not; 0 for integers."""
    numbers = [
        tensor if tensor.is_floating_point() and tensor.numel() else tensor.new_zeros(1, dtype=torch.float32)
        for tensor in tensors
    ]
    return torch.stack([norm.float() for norm in torch._foreach_norm(numbers, math.inf)])


def weights(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters, shared ones once, and the buffers that are saved."""
    yield from module.named_parameters()
    saved_names = module.state_dict().keys()
    yield from ((name, buffer) for name, buffer in module.named_buffers() if name in saved_names)


def part(state: State, prefix: str) -> dict[str, Tensor]:
    """The tensors of a savepoint whose names begin with this."""
    return {name.removeprefix(prefix): tensor for name, tensor in state.tensors.items() if name.startswith(prefix)}


def _put(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy these into the weights."""
    with torch.no_grad():
        for name, tensor in weights(module):
            tensor.copy_(tensors[name])
