"""Ways to resume wrongly. The suite must fail for each of them; else it proves nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adaptbert.runtime import locks as exclusive
from adaptbert.runtime import stage as entry
from adaptbert.training import loop as training


def no_seeds() -> None:
    """Dropout from whatever state the generator is in."""
    training._Steps.on_train_batch_start = lambda *_: None  # type: ignore[method-assign]


def no_schedule() -> None:
    """The learning rate begins anew."""
    restore = training._restore_optimizer

    def forget(trainer: Any, step: int, means: Any) -> None:
        restore(trainer, step, means)
        trainer.lr_scheduler_configs[0].scheduler.last_epoch = 0

    training._restore_optimizer = forget


def one_too_far() -> None:
    """The cursor is off by one."""
    init = training._Batches.__init__

    def skip(self: Any, batch: Any, numbers: range) -> None:
        far = int(numbers.start > 0)
        init(self, batch, range(numbers.start + far, numbers.stop + far))

    training._Batches.__init__ = skip  # type: ignore[method-assign]


def no_optimizer() -> None:
    """The optimizer's means begin anew."""
    restore = training._restore_optimizer
    training._restore_optimizer = lambda trainer, step, means: restore(trainer, step, {})


def stale_lock() -> None:
    """A file with a number in place of a lock that the kernel holds."""

    @contextmanager
    def stage_lock(stage: str, patience: float = 0.0) -> Iterator[Path]:
        folder = exclusive.ROOT / stage
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder / "pid"
        if mark.exists():
            raise exclusive.Busy(159, folder, f"process {mark.read_text()} works on this stage", "wait")
        mark.write_text(str(os.getpid()))
        yield folder
        mark.unlink()

    entry.stage_lock = stage_lock  # type: ignore[assignment]


ALL = ("no_seeds", "no_schedule", "one_too_far", "no_optimizer", "stale_lock")
