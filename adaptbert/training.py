"""One `fit` for every step: Lightning's loop over a run's micro-batches, resumed from a savepoint bit for bit.

A run is one stream of micro-batches 0 .. n-1 and Lightning sees a single epoch of those that are left. Each one, and
every random draw in it, is a function of its number, so a run has no state but that number, the weights and the
optimizer's means. On several devices (adaptbert.ranks) the micro-batches of an optimizer step are shared out among
them, and the gradient is their mean as before: the same documents, masks and dropout whatever their number.
"""

import logging
import math
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from adaptbert import interruption
from adaptbert.allocator import keep_freed_memory
from adaptbert.early_stopping import Best
from adaptbert.errors import Diverged
from adaptbert.health import Health
from adaptbert.machine_peak import matmul_peak
from adaptbert.outputs import write_json
from adaptbert.progress import Progress
from adaptbert.ranks import Ranks, count, joined, started
from adaptbert.savepoints import Savepoints, State
from adaptbert.stream import seed_of
from adaptbert.tracking import Run

LOG_EVERY = 10
SAVE_SECONDS = 60.0
SAVE_SHARE = 20.0  # so many times as long as saving takes is trained before the next one
MEANS = "optimizer/"  # what the names of its tensors in a savepoint begin with
BEST = "best/"  # and of the weights that were best so far


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
        step: after which optimizer step the weights were as they are now: the last, or the best.
    """

    curve: list[dict[str, float]]
    counts: dict[str, int]
    step: int


Measure = Callable[[int], Mapping[str, float]]


def fit(
    module: pl.LightningModule,
    batch: Batches,
    plan: Plan,
    run: Run,
    measure_at: Mapping[int, Measure] | None = None,
    savepoints: Savepoints | None = None,
    flop: Callable[[Mapping[str, int]], float] | None = None,
    best: Best | None = None,
) -> Fitted:
    """Train a module, from the newest savepoint if there is one.

    Args:
        module: its `training_step` returns the loss of a micro-batch.
        batch: the k-th micro-batch of the run.
        run: gets loss, learning rate and speed by optimizer step.
        measure_at: after which optimizer steps to measure what; called with the step.
        savepoints: every minute (ADAPTBERT_SAVE_SECONDS), on a signal and at the end the state is saved there.
        flop: floating-point operations of what has such counts, to tell the share of the machine's peak.
        best: which measured step is kept, and when to stop; without it the last one is.

    Batches are made in this process, or in ADAPTBERT_WORKERS others; the bits are the same. With ADAPTBERT_DEVICES
    devices they are the same but for the order in which gradients are added up.

    Raises:
        BadParams: the devices cannot share the micro-batches.
        Diverged: too many losses or gradients are not finite; or weights would be saved that are not.
        Interrupted: a signal came; the state was saved.
        RankLost: the process of another device ended.
    """
    if plan.steps == 0:
        return Fitted([], {}, 0)
    asleep = [name for name, child in module.named_modules() if not child.training]
    if asleep:
        raise AssertionError(f"{asleep[0]} is in eval mode: its dropout would be off")
    world = count(plan.accumulate)
    dtype = torch.bfloat16 if plan.precision == "bf16-mixed" else torch.float32
    progress = Progress(plan.steps, run, flop, lambda: world * matmul_peak(dtype))
    follower = _Follower(plan, run, measure_at or {}, savepoints, progress, best)
    state = savepoints.latest() if savepoints else None
    if state is not None:
        follower.restore(module, state)
        if state.step == plan.steps or follower.is_over:
            return follower.fitted(module)
        print(f"  resumed after step {state.step:,} of {plan.steps:,}")
    may_end = frozenset(measure_at or ()) if best is not None else frozenset()
    job = _Job(module, batch, plan, follower.step, _optimizer_part(state), torch.get_num_threads(), may_end)
    with started(world, follow) as ranks, interruption.deferred(), progress.closing():
        _train(ranks.share(job), ranks, follower)
    return follower.fitted(module)


def follow(rank: int, world: int, store: str) -> None:
    """The whole life of a process that trains on a further device; arguments as `ranks.joined` takes them."""
    interruption.ignore()
    interruption.die_with_parent(signal.SIGKILL)
    warnings.simplefilter("ignore")  # rank 0 tells them
    with joined(rank, world, store) as ranks:
        _train(ranks.share(None), ranks)


@dataclass(frozen=True)
class _Job:
    """What every rank needs to know.

    Attributes:
        first: optimizer steps that are done.
        means: the optimizer's, after them.
        threads: of each rank; bits depend on them.
        may_end: optimizer steps after which rank 0 may say that training is over.
    """

    module: pl.LightningModule
    batch: Batches
    plan: Plan
    first: int
    means: Mapping[str, Tensor]
    threads: int
    may_end: frozenset[int]


def _train(job: _Job, ranks: Ranks, follower: "_Follower | None" = None) -> None:
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    torch.set_num_threads(job.threads)
    keep_freed_memory()
    plan = job.plan
    numbers = ranks.numbers(job.first * plan.accumulate, plan.steps * plan.accumulate)
    trainer = pl.Trainer(
        accelerator="auto",
        devices=[ranks.rank] if ranks.world > 1 and torch.cuda.is_available() else 1,
        max_epochs=1,
        precision=plan.precision,  # type: ignore[arg-type]
        accumulate_grad_batches=plan.accumulate // ranks.world,
        callbacks=[_Steps(job, ranks, numbers, follower)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    workers = int(os.environ.get("ADAPTBERT_WORKERS", "0"))
    loader = torch.utils.data.DataLoader(
        _Batches(job.batch, numbers),
        batch_size=None,
        num_workers=workers,
        pin_memory=torch.cuda.is_available(),
        worker_init_fn=_begin_worker if workers else None,
    )
    trainer.fit(job.module, train_dataloaders=loader)


class _Batches(torch.utils.data.Dataset[MicroBatch]):
    """The micro-batches of these numbers."""

    def __init__(self, batch: Batches, numbers: range) -> None:
        self._batch, self._numbers = batch, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> MicroBatch:
        return self._batch(self._numbers[index])


def _begin_worker(number: int) -> None:
    """A worker ends with its process, and lets that one answer the signals of a terminal."""
    interruption.ignore()
    interruption.die_with_parent(signal.SIGKILL)


class _Steps(pl.Callback):
    """What every rank does: seeds every micro-batch, guards every step; `follower`, in rank 0, does the rest."""

    def __init__(self, job: _Job, ranks: Ranks, numbers: range, follower: "_Follower | None") -> None:
        self._job, self._ranks, self._numbers, self._follower = job, ranks, numbers, follower
        self._losses: list[Tensor] = []
        self._counts: dict[str, int] = {}
        self._norm = torch.zeros(())

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        # Lightning has put its own handlers in place; theirs would end the process with 0.
        if self._follower is None:
            interruption.ignore()
        else:
            interruption.insist()
            self._follower.begin()
        if self._job.first:
            _restore_optimizer(trainer, self._job.first, self._job.means)

    def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, index: int) -> None:
        torch.manual_seed(seed_of(self._job.plan.seed, "step", self._numbers[index]))

    def on_before_optimizer_step(self, trainer: pl.Trainer, module: pl.LightningModule, optimizer: Any) -> None:
        # Every micro-batch reaches the same parameters, so all ranks have the same gradients to give.
        gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
        self._ranks.mean(gradients)
        # Lightning itself refuses to clip for a fused optimizer under autocast; bfloat16 has no scaler to undo first.
        self._norm, limit = nn.utils.get_total_norm(gradients), self._job.plan.clip_norm
        # A small gradient would be multiplied by 1, which is not free; a GPU would have to be asked.
        if self._norm.device.type != "cpu" or self._norm > limit:
            nn.utils.clip_grads_with_norm_(module.parameters(), limit, self._norm)
        # The fused kernel leaves weights and means alone where this is 1, without asking the device for the number.
        optimizer.found_inf = (~torch.isfinite(self._norm)).to(torch.float32)

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, index: int
    ) -> None:
        for name, number in batch.counts.items():
            self._counts[name] = self._counts.get(name, 0) + number
        # Lightning has divided the loss by the accumulation, but not its parts.
        parts = [outputs[name].float() / trainer.accumulate_grad_batches for name in self._job.plan.parts]
        self._losses.append(torch.stack([outputs["loss"].detach().float(), *parts]))
        if (index + 1) % trainer.accumulate_grad_batches:
            return
        losses, counts = torch.stack(self._losses).sum(0), self._ranks.total(self._counts)
        self._ranks.mean([losses])
        self._losses, self._counts = [], {}
        if self._follower is not None:
            self._follower.after_step(trainer, module, losses, self._norm, counts)
        step = self._job.first + (index + 1) // trainer.accumulate_grad_batches
        if step in self._job.may_end:
            trainer.should_stop = self._ranks.share(self._follower is not None and self._follower.is_over)


class _Follower:
    """Rank 0's eyes on a run: keeps the curve, looks after its health, logs, measures and saves."""

    def __init__(
        self,
        plan: Plan,
        run: Run,
        measure_at: Mapping[int, Measure],
        savepoints: Savepoints | None,
        progress: Progress,
        best: Best | None,
    ) -> None:
        self._plan, self._run, self._measure_at, self._savepoints = plan, run, measure_at, savepoints
        self._progress, self._best = progress, best
        self._best_weights: dict[str, Tensor] = {}
        self.step = 0
        self._curve: list[dict[str, float]] = []
        self._counts: dict[str, int] = {"tokens": 0}
        self._health = Health()
        self._names = (plan.loss_name, *plan.parts)
        self._last = [math.nan for _ in self._names]  # the last finite loss, and its parts
        self._since_logged: list[list[float]] = []
        self._since_measured: list[list[float]] = []
        # Of steps that were not looked at yet: asking a GPU for a number at each step would make it wait.
        self._pending: list[tuple[int, Tensor, Tensor]] = []
        self._saved = time.monotonic()
        self._save_seconds = float(os.environ.get("ADAPTBERT_SAVE_SECONDS", SAVE_SECONDS))

    @property
    def is_over(self) -> bool:
        """Whether training ends before its last step."""
        return self._best is not None and self._best.is_over

    def fitted(self, module: pl.LightningModule) -> Fitted:
        """What there is at the end; the module gets the best weights."""
        if self._best is not None:
            with torch.no_grad():
                for name, tensor in _weights(module):
                    tensor.copy_(self._best_weights[name])
        return Fitted(
            self._curve,
            {**self._counts, "skipped_steps": self._health.skipped, "spikes": self._health.spikes},
            self.step if self._best is None else self._best.step,
        )

    # Resuming and saving

    def restore(self, module: pl.LightningModule, state: State) -> None:
        """The weights, and all that is known of the steps that are done; the optimizer is not there yet."""
        with torch.no_grad():
            for name, tensor in _weights(module):
                tensor.copy_(state.tensors[f"weights/{name}"])
        self.step = state.step
        self._curve, self._counts = state.values["curve"], state.values["counts"]
        self._since_logged, self._since_measured = state.values["since_logged"], state.values["since_measured"]
        self._last = state.values["last"]
        self._health.restore(state.values["health"])
        if self._best is not None:
            self._best.restore(state.values["best"])
            self._best_weights = {
                name.removeprefix(BEST): tensor for name, tensor in state.tensors.items() if name.startswith(BEST)
            }

    def begin(self) -> None:
        """The first step begins."""
        self._progress.begin(self.step, self._counts)

    def _save(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        assert self._savepoints is not None
        tensors = {f"weights/{name}": tensor for name, tensor in _weights(module)}
        broken = [name for name, tensor in tensors.items() if not bool(torch.isfinite(tensor).all())]
        if broken:
            raise Diverged(158, f"step {self.step}", f"{broken[0]} is not finite", "lower optim.learning_rate")
        tensors |= {f"{BEST}{name}": tensor for name, tensor in self._best_weights.items()}
        if self.step < self._plan.steps and not self.is_over:
            for number, means in trainer.optimizers[0].state_dict()["state"].items():
                tensors |= {f"{MEANS}{number}/{name}": mean for name, mean in means.items()}
        values = {
            "curve": self._curve,
            "counts": self._counts,
            "since_logged": self._since_logged,
            "since_measured": self._since_measured,
            "last": self._last,
            "health": self._health.values(),
            **({} if self._best is None else {"best": self._best.state()}),
        }
        self._run.flush()  # what a resumed process will not log again
        began = time.monotonic()
        self._savepoints.save(State(self.step, tensors, values))
        self._saved = time.monotonic()
        # Saving must stay cheap beside training, however large the model and however slow the disk.
        self._save_seconds = max(self._save_seconds, SAVE_SHARE * (self._saved - began))

    # Training

    def after_step(
        self, trainer: pl.Trainer, module: pl.LightningModule, losses: Tensor, norm: Tensor, counts: Mapping[str, int]
    ) -> None:
        """An optimizer step is done: loss and its parts, (1 + parts,), the norm before clipping, counts."""
        for name, number in counts.items():
            self._counts[name] = self._counts.get(name, 0) + number
        self.step += 1
        self._pending.append((self.step, losses, norm))
        measured = self.step in self._measure_at
        if measured:
            self._settle()
            with self._progress.paused():
                self._measure(module)
        last = self.step == self._plan.steps or self.is_over
        stop = interruption.asked()
        logged = self.step % LOG_EVERY == 0 or last
        save = self._savepoints is not None and (
            last or bool(stop) or time.monotonic() - self._saved >= self._save_seconds
        )
        tell = last or self._progress.is_due()
        if module.device.type == "cpu" or logged or save or tell:
            self._settle()
        if logged:
            rate = trainer.optimizers[0].param_groups[0]["lr"]
            means = self._means(self._since_logged)
            self._run.log_metrics({**means, "train/learning_rate": rate}, self.step)
            self._since_logged = []
        if tell:
            self._progress.tell(self.step, self._counts, self._last[0])
        if save:
            with self._progress.paused():
                self._save(trainer, module)
        if stop and not last:
            kept = "" if save else "; nothing could be saved"
            raise interruption.Interrupted(f"{stop} after step {self.step:,} of {self._plan.steps:,}{kept}")

    def _settle(self) -> None:
        """Look at the steps that were not looked at yet, in their order."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        numbers = torch.stack([torch.cat([norm[None], losses]) for _, losses, norm in pending]).tolist()
        for (step, *_), (norm, loss, *parts) in zip(pending, numbers, strict=True):
            try:
                told = self._health.observe(step, loss, norm)
            except Diverged:
                self._explain()
                raise
            if told:
                self._progress.note(f"warning: {told}")
            if math.isfinite(loss):
                self._last = [loss, *parts]
                self._since_logged.append(self._last)
                self._since_measured.append(self._last)

    def _measure(self, module: pl.LightningModule) -> None:
        measures = self._measure_at[self.step](self.step)
        self._run.log_metrics(measures, self.step)
        means = self._means(self._since_measured)
        self._curve.append({"step": self.step, "tokens": self._counts["tokens"], **measures, **means})
        self._since_measured = []
        if self._best is not None and self._best.observe(self.step, measures):
            self._best_weights = {name: tensor.detach().clone() for name, tensor in _weights(module)}

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


def _optimizer_part(state: State | None) -> dict[str, Tensor]:
    """The optimizer's means in a savepoint."""
    tensors = state.tensors if state else {}
    return {name.removeprefix(MEANS): tensor for name, tensor in tensors.items() if name.startswith(MEANS)}


def _restore_optimizer(trainer: pl.Trainer, step: int, tensors: Mapping[str, Tensor]) -> None:
    optimizer, scheduler = trainer.optimizers[0], trainer.lr_scheduler_configs[0].scheduler
    assert isinstance(scheduler, torch.optim.lr_scheduler.LambdaLR)
    means: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, _, mean = name.partition("/")
        means.setdefault(int(number), {})[mean] = tensor
    optimizer.load_state_dict({"state": means, "param_groups": optimizer.state_dict()["param_groups"]})
    # The schedule is a function of the step.
    scheduler.load_state_dict({**scheduler.state_dict(), "last_epoch": step, "_step_count": step + 1})
    for group, base, rate in zip(optimizer.param_groups, scheduler.base_lrs, scheduler.lr_lambdas, strict=True):
        group["lr"] = base * rate(step)


def parameters(model: nn.Module) -> int:
    """Numbers that a model holds; shared ones are counted once."""
    return sum(parameter.numel() for parameter in model.parameters())
