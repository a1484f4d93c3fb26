"""`fit`, the training loop of every stage: Lightning over the micro-batches of a run, with bit-identical resume.

A run is one stream of micro-batches 0 .. n-1; for Lightning the remaining ones are a single epoch. Each micro-batch,
and every random draw in it, is a function of its number, so the state of a run is that number, the weights and the
optimizer's means. Several devices (adaptbert.training.ranks) divide the micro-batches of an optimizer step among
them, and the gradient is that of the whole step: documents, masks and dropout do not depend on the number of devices.
"""

import logging
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from torch import Tensor

from adaptbert.runtime import signals
from adaptbert.runtime.libraries import keep_freed_memory, same_bits
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.variables import DEVICES, value_of
from adaptbert.runtime.worker_pool import batch_workers
from adaptbert.training import graphs
from adaptbert.training.arguments import Fitted, Measure, TrainingArguments
from adaptbert.training.graphs import ReplayedStep
from adaptbert.training.micro_batches import Batches, CountedBatches, MicroBatch, made
from adaptbert.training.monitor import MEANS, Monitor, part
from adaptbert.training.optimizer_step import OptimizerStep
from adaptbert.training.ranks import Ranks, joined, shared, started
from adaptbert.training.savepoints import Savepoints

CUDA_WORKERS = 2
"""Processes that make batches for a CUDA device: a micro-batch takes one of them 5 to 7 ms."""
PREFETCHED = 8
"""Micro-batches of each that wait for the device, about."""


def fit(
    module: pl.LightningModule,
    batch: Batches,
    plan: TrainingArguments,
    run: Run,
    measure_at: Mapping[int, Measure] | None = None,
    savepoints: Savepoints | None = None,
) -> Fitted:
    """Train a module, from the newest savepoint if there is one.

    Args:
        module: its `training_step` returns the loss of a micro-batch, a `mean` over the optimizer step.
        batch: the k-th micro-batch of the run.
        run: gets loss, learning rate and speed by optimizer step.
        measure_at: after which optimizer steps to measure what; called with the step.
        savepoints: every minute (ADAPTBERT_SAVE_SECONDS), on a signal and at the end the state is saved there.

    Batches are made in this process, or in ADAPTBERT_BATCH_WORKERS others (on CUDA two); the bits are the same. With
    ADAPTBERT_DEVICES devices they are the same but for the order in which gradients are added up.

    Raises:
        BadParams: the devices cannot share the micro-batches.
        Diverged: too many losses or gradients are not finite; or weights to be saved are not finite.
        Interrupted: a signal came; the state was saved.
        RankLost: the process of another device ended.
    """
    in_eval_mode = [name for name, child in module.named_modules() if not child.training]
    if in_eval_mode:
        raise AssertionError(f"{in_eval_mode[0]} is in eval mode: its dropout would be off")
    world, _ = shared(plan.accumulate, plan.accumulate)
    if world < (present := torch.cuda.device_count()) and not value_of(DEVICES):
        print(f"  uses {world} of {present} devices: its steps have {plan.accumulate} parts")
    monitor = Monitor(plan, run, measure_at or {}, savepoints)
    state = savepoints.latest() if savepoints else None
    if state is not None:
        monitor.restore(module, state)
        if state.step == plan.steps or monitor.is_over:
            return monitor.fitted(module)
        print(f"  resumed after step {state.step:,} of {plan.steps:,}")
    may_end = frozenset(measure_at or ()) if plan.keep_best is not None else frozenset()
    job = _Job(module, batch, plan, monitor.step, part(state, MEANS) if state else {}, torch.get_num_threads(), may_end)
    with monitor.closing(), started(world, follow) as ranks, signals.deferred():
        _train(ranks.share(job), ranks, monitor)
    return monitor.fitted(module)


def follow(rank: int, world: int, store: str) -> None:
    """The main function of a process that trains on a further device; arguments as of `ranks.joined`."""
    signals.follow_parent()
    warnings.simplefilter("ignore")  # rank 0 shows them
    with joined(rank, world, store) as ranks:
        _train(ranks.share(None), ranks)


@dataclass(frozen=True)
class _Job:
    """The input of every rank.

    Attributes:
        first: optimizer steps that are done.
        means: the optimizer's, after them.
        threads: of each rank; bits depend on them.
        may_end: optimizer steps after which rank 0 may end training.
    """

    module: pl.LightningModule
    batch: Batches
    plan: TrainingArguments
    first: int
    means: Mapping[str, Tensor]
    threads: int
    may_end: frozenset[int]


def _train(job: _Job, ranks: Ranks, monitor: Monitor | None = None) -> None:
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    torch.set_num_threads(job.threads)
    keep_freed_memory()
    _same_bits_on_cuda()
    plan, size = job.plan, job.plan.accumulate // ranks.world
    numbers = ranks.numbers(job.first * plan.accumulate, plan.steps * plan.accumulate)
    trainer = pl.Trainer(
        accelerator="auto",
        devices=[ranks.device] if ranks.world > 1 and torch.cuda.is_available() else 1,
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        plugins=[LightningEnvironment()],  # else a job of SLURM would be read as a wish for its devices
    )
    workers, ahead = batch_workers(default=CUDA_WORKERS if torch.cuda.is_available() else 0), max(1, PREFETCHED // size)
    loader: torch.utils.data.DataLoader[list[MicroBatch]] = torch.utils.data.DataLoader(
        numbers,  # type: ignore[arg-type]
        batch_size=size,
        collate_fn=partial(made, job.batch),  # in the process that reads them
        num_workers=workers,
        pin_memory=torch.cuda.is_available(),
        worker_init_fn=signals.follow_parent if workers else None,
        prefetch_factor=ahead if workers else None,
    )
    training = _Training(job, ranks, numbers, monitor)
    together = ahead if workers and ranks.world > 1 else 1
    with training.ending:
        trainer.fit(training, train_dataloaders=CountedBatches(loader, ranks, len(loader), together))


def _same_bits_on_cuda() -> None:
    """Sets for every run on a CUDA device to give the same bits, so that a resumed run equals one without interruption.

    Some operations add up in the order in which threads happen to finish; torch has slower ones that do not, and raises
    where there is none; with `warn_only` FlashAttention would keep its faster backward pass. The faster ones are taken
    with ADAPTBERT_DETERMINISTIC=false; what the others cost, benchmarks.gpu_check measures.
    """
    if not torch.cuda.is_available():
        return
    torch.backends.cuda.enable_cudnn_sdp(False)  # rounds a rate of dropout, and plans anew for every shape
    if same_bits():
        torch.use_deterministic_algorithms(True)
        # It costs time, and no value of ours is uninitialized.
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


class _Training(pl.LightningModule):
    """What Lightning trains in every rank: each of its batches is an optimizer step; `monitor`, in rank 0, watches."""

    def __init__(self, job: _Job, ranks: Ranks, numbers: range, monitor: Monitor | None) -> None:
        super().__init__()
        self.automatic_optimization = False  # Lightning's own loop cannot be captured, and knows no step of several
        self.module = job.module
        self._job, self._ranks, self._numbers, self._monitor = job, ranks, numbers, monitor
        self.ending = ExitStack()

    def configure_optimizers(self) -> Any:
        configured: Any = self.module.configure_optimizers()
        self._optimizer, self._schedule = configured["optimizer"], configured["lr_scheduler"]["scheduler"]
        return self._optimizer

    def on_train_start(self) -> None:
        # Lightning has installed its signal handlers, which would end the process with status 0.
        if self._monitor is None:
            signals.follow_parent()
        else:
            signals.insist()
            self._monitor.begin()
        if self._job.first:
            _restore_optimizer(self._optimizer, self._schedule, self._job.first, means=self._job.means)
        kind = ReplayedStep if graphs.are_used() and self._ranks.world == 1 else OptimizerStep
        self._step = kind(self.module, self._job.plan, self._ranks, self._optimizer)
        self.ending.callback(self._step.close)

    def training_step(self, batches: list[MicroBatch], index: int) -> None:
        size = len(batches)
        losses, norm = self._step(batches, self._numbers[size * index : size * (index + 1)])
        self._schedule.step()
        step = self._job.first + index + 1
        if self._monitor is not None:
            rate = self._schedule.base_lrs[0] * self._schedule.lr_lambdas[0](step)
            self._monitor.after_step(self.module, self._optimizer, rate, losses, norm, batches[0].step_counts or {})
        if step in self._job.may_end:
            self.trainer.should_stop = self._ranks.share(self._monitor is not None and self._monitor.is_over)


def _restore_optimizer(optimizer: Any, schedule: Any, step: int, *, means: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in means.items():
        number, _, mean = name.partition("/")
        state.setdefault(int(number), {})[mean] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    # The schedule is a function of the step.
    schedule.load_state_dict({**schedule.state_dict(), "last_epoch": step, "_step_count": step + 1})
    for group, base, rate in zip(optimizer.param_groups, schedule.base_lrs, schedule.lr_lambdas, strict=True):
        group["lr"] = base * rate(step)
