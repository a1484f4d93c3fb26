"""`fit`, the training loop of every stage: Lightning over the micro-batches of a run, with bit-identical resume.

A run is one stream of micro-batches 0 .. n-1; for Lightning the remaining ones are a single epoch. Each micro-batch,
and every random draw in it, is a function of its number, so the state of a run is that number, the weights and the
optimizer's means. Several devices (adaptbert.training.ranks) divide the micro-batches of an optimizer step among
them, and the gradient is that of the whole step: documents, masks and dropout do not depend on the number of devices.
"""

import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from torch import Tensor, nn

from adaptbert.core.seeds import seed_of
from adaptbert.runtime import signals
from adaptbert.runtime.libraries import keep_freed_memory, same_bits
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.worker_pool import batch_workers
from adaptbert.training.arguments import Fitted, Measure, TrainingArguments
from adaptbert.training.micro_batches import Batches, CountedBatches, MicroBatch, made
from adaptbert.training.monitor import MEANS, Monitor, part
from adaptbert.training.ranks import Ranks, count, idle_devices, joined, started
from adaptbert.training.savepoints import Savepoints

CUDA_WORKERS = 2
"""Processes that make batches for a CUDA device: a micro-batch takes one of them 5 to 7 ms."""
PREFETCHED = 8
"""Batches of each that wait for the device, about."""


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
        module: its `training_step` returns the loss of a micro-batch, a sum divided by its `mean_count`.
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
    world = count(plan.accumulate)
    if reason := idle_devices(plan.accumulate):
        print(f"  {reason}")
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
        precision=plan.precision,  # type: ignore[arg-type]
        accumulate_grad_batches=size,
        callbacks=[_Steps(job, ranks, numbers, monitor)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        plugins=[LightningEnvironment()],  # else a job of SLURM would be read as a wish for its devices
    )
    workers = batch_workers(default=CUDA_WORKERS if torch.cuda.is_available() else 0)
    loader: torch.utils.data.DataLoader[list[MicroBatch]] = torch.utils.data.DataLoader(
        numbers,  # type: ignore[arg-type]
        batch_size=size,
        collate_fn=partial(made, job.batch),  # in the process that reads them
        num_workers=workers,
        pin_memory=torch.cuda.is_available(),
        worker_init_fn=signals.follow_parent if workers else None,
        prefetch_factor=max(1, PREFETCHED // size) if workers else None,
    )
    trainer.fit(job.module, train_dataloaders=CountedBatches(loader, ranks, len(numbers)))


def _same_bits_on_cuda() -> None:
    """Sets for every run on a CUDA device to give the same bits, so that a resumed run equals one without interruption.

    Some operations add up in the order in which threads happen to finish; torch has slower ones that do not, and raises
    where there is none; with `warn_only` FlashAttention would keep its faster backward pass. The faster ones are taken
    with ADAPTBERT_DETERMINISTIC=false; what the others cost is in docs/how-to/gpu.md.
    """
    if not torch.cuda.is_available():
        return
    torch.backends.cuda.enable_cudnn_sdp(False)  # rounds a rate of dropout, and plans anew for every shape
    if same_bits():
        torch.use_deterministic_algorithms(True)
        # It costs time, and no value of ours is uninitialized.
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


class _Steps(pl.Callback):
    """Runs in every rank: seeds each micro-batch, averages and clips gradients; `monitor`, in rank 0, does the rest."""

    def __init__(self, job: _Job, ranks: Ranks, numbers: range, monitor: Monitor | None) -> None:
        self._job, self._ranks, self._numbers, self._monitor = job, ranks, numbers, monitor
        self._losses: list[Tensor] = []
        self._norm = torch.zeros(())

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        # Lightning has installed its signal handlers, which would end the process with status 0.
        if self._monitor is None:
            signals.follow_parent()
        else:
            signals.insist()
            self._monitor.begin()
        if self._job.first:
            _restore_optimizer(trainer, self._job.first, self._job.means)

    def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, index: int) -> None:
        torch.manual_seed(seed_of(self._job.plan.seed, "step", self._numbers[index]))

    def on_before_optimizer_step(self, trainer: pl.Trainer, module: pl.LightningModule, optimizer: Any) -> None:
        # Every micro-batch reaches the same parameters, so all ranks have gradients of the same parameters.
        gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
        self._ranks.mean(gradients)
        # Lightning itself refuses to clip for a fused optimizer under autocast; bfloat16 has no scaler to undo first.
        self._norm, limit = nn.utils.get_total_norm(gradients), self._job.plan.clip_norm
        # Skip the multiplication by 1 where the norm is small, but not on a GPU: reading the norm would wait for it.
        if self._norm.device.type != "cpu" or self._norm > limit:
            nn.utils.clip_grads_with_norm_(module.parameters(), limit, self._norm)
        # The fused kernel skips the update where this is 1, and nothing waits for the device.
        optimizer.found_inf = (~torch.isfinite(self._norm)).to(torch.float32)

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: MicroBatch, index: int
    ) -> None:
        # Lightning has divided the loss by the accumulation, but not its parts.
        parts = [outputs[name].float() / trainer.accumulate_grad_batches for name in self._job.plan.parts]
        self._losses.append(torch.stack([outputs["loss"].detach().float(), *parts]))
        if (index + 1) % trainer.accumulate_grad_batches:
            return
        losses = torch.stack(self._losses).sum(0)
        self._ranks.mean([losses])
        self._losses = []
        if self._monitor is not None:
            self._monitor.after_step(trainer, module, losses, self._norm, batch.step_counts or batch.counts)
        step = self._job.first + (index + 1) // trainer.accumulate_grad_batches
        if step in self._job.may_end:
            trainer.should_stop = self._ranks.share(self._monitor is not None and self._monitor.is_over)


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
