"""The part of training that rank 0 alone does: curve, checks, logging, evaluation, savepoints and the best weights."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from adaptbert.core.files import write_json
from adaptbert.model.device import HostCopy
from adaptbert.runtime import signals, variables
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.progress import Progress
from adaptbert.training.arguments import Fitted, Measure, TrainingArguments
from adaptbert.training.savepoints import Savepoints, State
from adaptbert.training.stability import Diverged, Health

LOG_EVERY = 10
SAVE_SECONDS = 60.0
SAVE_SHARE = 20.0  # training time between two savepoints, as a multiple of the time to save
WEIGHTS, MEANS, BEST = "weights/", "optimizer/", "best/"
"""Prefixes of the tensors of a savepoint: weights, the optimizer's means, the best weights so far."""


@dataclass
class Best:
    """The best measurement so far.

    Attributes:
        step: of the best one, 0 before the first.
        value: its metric.
        worse: measurements since then.
    """

    step: int = 0
    value: float = -math.inf
    worse: int = 0

    def observe(self, step: int, value: float) -> bool:
        """Whether this measurement is the best so far; of equal ones the first is. NaN is never better."""
        if self.step > 0 and not value > self.value:
            self.worse += 1
            return False
        self.step, self.value, self.worse = step, -math.inf if math.isnan(value) else value, 0
        return True


@dataclass
class Past:
    """The values of a savepoint: what a run knows of its past besides tensors.

    Attributes:
        last: the last finite loss and its parts, which stand in where no loss of an interval is finite.
        since_logged, since_measured: loss and parts of each step with a finite loss since then.
    """

    last: list[float]
    curve: list[dict[str, float]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: {"tokens": 0})
    since_logged: list[list[float]] = field(default_factory=list)
    since_measured: list[list[float]] = field(default_factory=list)
    health: Health = field(default_factory=Health)
    best: Best = field(default_factory=Best)


@dataclass(frozen=True)
class Step:
    """An optimizer step that is done.

    Attributes:
        counts: sums over the run, until and with this step.
        rate: the learning rate, where the step ends an interval of the log.
    """

    number: int
    counts: dict[str, int]
    rate: float | None


class Numbers:
    """Losses and norms of optimizer steps on their way from the device, which reading them at once would make wait.

    The numbers of an interval are copied while training goes on, and read when the next interval ends. Where somebody
    needs them earlier, all are read, and the device waits.
    """

    def __init__(self) -> None:
        self._new: list[tuple[Step, Tensor, Tensor]] = []
        self._copied: list[tuple[list[Step], HostCopy]] = []

    def add(self, step: Step, norm: Tensor, losses: Tensor) -> None:
        """The norm of the gradient before clipping is a scalar; the loss and its parts are (1 + parts,)."""
        self._new.append((step, norm, losses))

    def end_interval(self) -> list[tuple[Step, float, list[float]]]:
        """Begin to copy the numbers of the steps since the last call; step, norm and losses of those before."""
        before, self._copied = self._copied, []
        if self._new:
            numbers = torch.stack([torch.cat([norm[None], losses]) for _, norm, losses in self._new])
            self._copied.append(([step for step, _, _ in self._new], HostCopy([numbers])))
            self._new = []
        return [
            (step, norm, losses)
            for steps, copy in before
            for step, (norm, *losses) in zip(steps, copy.tensors()[0].tolist(), strict=True)
        ]

    def all(self) -> list[tuple[Step, float, list[float]]]:
        """The same of all steps that were not read yet; waits for the device."""
        return [*self.end_interval(), *self.end_interval()]


class Monitor:
    """Keeps the curve, checks that losses and gradients are finite, measures, logs and saves."""

    def __init__(
        self, plan: TrainingArguments, run: Run, measure_at: Mapping[int, Measure], savepoints: Savepoints | None
    ) -> None:
        self._plan, self._run, self._measure_at, self._savepoints = plan, run, measure_at, savepoints
        self._progress = Progress(plan.steps, run, plan.label)
        self.step = 0
        self._names = (plan.loss_name, *plan.parts)
        self._past = Past([math.nan] * len(self._names))
        self._best_weights: dict[str, Tensor] = {}
        self._numbers = Numbers()
        self._writer, self._writing = ThreadPoolExecutor(1, "savepoint"), Future[None]()
        self._writing.set_result(None)
        self._saved = time.monotonic()
        self._save_seconds = float(variables.value_of(variables.SAVE_SECONDS) or SAVE_SECONDS)

    @property
    def is_over(self) -> bool:
        """Whether training ends before its last step."""
        return self._plan.keep_best is not None and self._past.best.worse >= self._plan.patience

    def fitted(self, module: pl.LightningModule) -> Fitted:
        """The result of the run; the module gets the best weights."""
        past, health = self._past, self._past.health
        counts = {**past.counts, "skipped_steps": health.skipped, "spikes": health.spikes}
        if self._plan.keep_best is None:
            return Fitted(past.curve, counts, self.step)
        _put(module, self._best_weights)
        return Fitted(past.curve, counts, past.best.step)

    def restore(self, module: pl.LightningModule, state: State) -> None:
        """Restore the weights and the state of this monitor; the optimizer does not exist yet."""
        _put(module, part(state, WEIGHTS))
        self.step, self._best_weights = state.step, part(state, BEST)
        own = {"health": Health(**state.values["health"]), "best": Best(**state.values["best"])}
        self._past = Past(**{**state.values, **own})

    @contextmanager
    def closing(self) -> Iterator[None]:
        """When this block ends, however it does, nothing is being written, and what is printed has its own line."""
        with self._progress.line.closing(), self._writer:
            yield

    def begin(self) -> None:
        """Begins, before the first step, and before the first of a resumed run."""
        self._progress.begin(self.step, self._past.counts)

    def after_step(
        self,
        module: pl.LightningModule,
        optimizer: torch.optim.Optimizer,
        rate: float,
        losses: Tensor,
        norm: Tensor,
        counts: Mapping[str, int],
    ) -> None:
        """Takes after an optimizer step the next learning rate, the loss and its parts, (1 + parts,), the norm before
        clipping, and counts."""
        past = self._past
        past.counts = {**past.counts, **{name: past.counts.get(name, 0) + number for name, number in counts.items()}}
        self.step += 1
        is_logged = self.step % LOG_EVERY == 0 or self.step == self._plan.steps
        self._numbers.add(Step(self.step, past.counts, rate if is_logged else None), norm, losses)
        if self.step in self._measure_at:
            self._check(self._numbers.all())
            with self._progress.paused():
                self._measure(module)
            if self.is_over and not is_logged:
                self._log(self.step, rate)
        last = self.step == self._plan.steps or self.is_over
        stop = signals.received()
        is_time = last or bool(stop) or time.monotonic() - self._saved >= self._save_seconds
        save = self._savepoints is not None and is_time
        report = last or self._progress.line.is_due()
        unknown = report and math.isnan(past.last[0])
        if save or last or stop or unknown or not _runs_ahead(module.device):
            self._check(self._numbers.all())
        elif is_logged:
            self._check(self._numbers.end_interval())
        if report:
            self._progress.tell(self.step, past.counts, past.last[0])
        if save:
            with self._progress.paused():
                self._save(module, optimizer)
                if last or stop:
                    self._writing.result()
        if stop and not last:
            unsaved = "" if save else "; nothing could be saved"
            raise signals.Interrupted(f"{stop} after step {self.step:,} of {self._plan.steps:,}{unsaved}")

    def _check(self, steps: Sequence[tuple[Step, float, list[float]]]) -> None:
        """Check the numbers of steps, in order, and log the intervals that they complete."""
        past = self._past
        for step, norm, losses in steps:
            try:
                warning = past.health.observe(step.number, losses[0], norm)
            except Diverged as error:
                error.trained = dict(step.counts)
                self._explain()
                raise
            if warning:
                print(f"  warning: {warning}")
            if math.isfinite(losses[0]):
                past.last = losses
                past.since_logged.append(losses)
                past.since_measured.append(losses)
            if step.rate is not None:
                self._log(step.number, step.rate)

    def _log(self, step: int, rate: float) -> None:
        self._run.log_metrics({**self._means(self._past.since_logged), "train/learning_rate": rate}, step)
        self._past.since_logged = []

    def _measure(self, module: pl.LightningModule) -> None:
        past = self._past
        with signals.at_once():  # it may take longer than to train once more what was not saved
            measures = self._measure_at[self.step](self.step)
        self._run.log_metrics(measures, self.step)
        here = {"step": self.step, "tokens": past.counts["tokens"]}
        past.curve.append({**here, **measures, **self._means(past.since_measured)})
        past.since_measured = []
        best = self._plan.keep_best
        if best is not None and past.best.observe(self.step, measures[best]):
            self._best_weights = {name: tensor.detach().clone() for name, tensor in weights(module)}

    def _means(self, steps: list[list[float]]) -> dict[str, float]:
        """Mean loss and parts of the steps with a finite loss; if there are none, those of the last such step."""
        if not steps and math.isnan(self._past.last[0]):
            raise self._diverged("no loss was finite yet")
        values = [sum(column) / len(steps) for column in zip(*steps, strict=True)] or self._past.last
        return dict(zip(self._names, values, strict=True))

    def _save(self, module: pl.LightningModule, optimizer: torch.optim.Optimizer) -> None:
        assert self._savepoints is not None
        began = time.monotonic()
        tensors = {f"{WEIGHTS}{name}": tensor for name, tensor in weights(module)}
        largest = _largest(list(tensors.values()))
        names = list(tensors)
        tensors |= {f"{BEST}{name}": tensor for name, tensor in self._best_weights.items()}
        if self.step < self._plan.steps and not self.is_over:
            for number, means in optimizer.state_dict()["state"].items():
                tensors |= {f"{MEANS}{number}/{name}": mean for name, mean in means.items()}
        ahead = _runs_ahead(module.device)
        if ahead:
            *copies, largest = HostCopy([*tensors.values(), largest]).tensors()
            tensors = dict(zip(tensors, copies, strict=True))
        broken = [name for name, most in zip(names, largest.tolist(), strict=True) if not math.isfinite(most)]
        if broken:
            raise self._diverged(f"{broken[0]} is not finite")
        self._run.flush()  # a resumed process does not log these steps again
        state = State(self.step, tensors, asdict(self._past))
        if ahead:
            self._writing.result()  # one at a time; the error of the one before ends the run
            self._writing = self._writer.submit(self._savepoints.save, state)
        else:
            self._savepoints.save(state)
        self._saved = time.monotonic()
        # Saving takes at most 1 / SAVE_SHARE of the time, however large the model and slow the disk.
        self._save_seconds = max(self._save_seconds, SAVE_SHARE * (self._saved - began))

    def _diverged(self, problem: str) -> Diverged:
        return Diverged(f"step {self.step}", problem, trained=self._past.counts)

    def _explain(self) -> None:
        """Write the steps that diverged; seed and number reproduce their micro-batches."""
        if self._savepoints is None:
            return
        path = self._savepoints.folder / "diverged.json"
        steps = {"seed": self._plan.seed, "accumulate": self._plan.accumulate, "steps": self._past.health.bad}
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
