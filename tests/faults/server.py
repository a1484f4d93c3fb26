"""Runs stages in forked processes: torch and Lightning are imported once, not once a trial.

A line in, a line out: {"cwd", "stage", "argv", "env", "log", "sabotage"} -> the pid; the exit status follows when the
stage has ended. Each stage leads a process group of its own.
"""

import importlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib  # noqa: F401 - what stages import late, imported once
import mlflow.store.tracking.sqlalchemy_store  # noqa: F401
import pytorch_lightning  # noqa: F401
import sklearn.metrics  # noqa: F401
import sqlalchemy.dialects.sqlite  # noqa: F401
import transformers.models.bert.modeling_bert  # noqa: F401

from adaptbert.codes import Code
from adaptbert.runtime import locks
from adaptbert.runtime import stage as entry
from adaptbert.training import loop as training

STAGES = ("pretrain", "domain_transfer", "task_transfer", "finetune")


def no_seeds() -> None:
    """Dropout from whatever state the generator is in; tests/training/test_resume.py has the other ways."""
    training._Steps.on_train_batch_start = lambda *_: None  # type: ignore[method-assign]


def stale_lock() -> None:
    """A file with a number in place of a lock that the kernel holds."""

    @contextmanager
    def stage_lock(stage: str, patience: float = 0.0) -> Iterator[Path]:
        folder = locks.ROOT / stage
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder / "pid"
        if mark.exists():
            raise locks.Busy(Code.LOCKED, folder, f"process {mark.read_text()} works on this stage", "wait")
        mark.write_text(str(os.getpid()))
        yield folder
        mark.unlink()

    entry.stage_lock = stage_lock  # type: ignore[assignment]


SABOTAGES = {"no_seeds": no_seeds, "stale_lock": stale_lock}
"""Ways to resume wrongly. The suite must fail for each of them; else it proves nothing."""


def run(order: dict[str, Any]) -> None:
    """In the child; never returns."""
    os.setsid()
    os.chdir(order["cwd"])
    os.environ.update(order["env"])
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
    if order["sabotage"]:
        SABOTAGES[order["sabotage"]]()
    importlib.import_module(f"stages.{order['stage']}").STAGE.run(order["argv"])


def main() -> None:
    for stage in STAGES:
        importlib.import_module(f"stages.{stage}")
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                run(order)
            except SystemExit as ended:
                os._exit(int(ended.code or 0))
            finally:
                os._exit(99)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
