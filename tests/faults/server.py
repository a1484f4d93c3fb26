"""Runs stages in forked processes: torch and Lightning are imported once, not once a trial.

A line in, a line out: {"cwd", "stage", "argv", "env", "log", "sabotage"} -> the pid; the exit status follows when the
stage has ended. Each stage leads a process group of its own.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import matplotlib  # noqa: F401 - what stages import late, imported once
import mlflow.store.tracking.sqlalchemy_store  # noqa: F401
import pytorch_lightning  # noqa: F401
import sklearn.metrics  # noqa: F401
import sqlalchemy.dialects.sqlite  # noqa: F401
import transformers.models.bert.modeling_bert  # noqa: F401

from adaptbert.training import loop as training  # noqa: F401
from tests.faults import sabotages

STAGES = ("pretrain", "domain_transfer", "task_transfer", "finetune")


def run(order: dict[str, Any]) -> None:
    """In the child; never returns."""
    os.setsid()
    os.chdir(order["cwd"])
    os.environ.update(order["env"])
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout = os.fdopen(1, "w", buffering=1)
    sys.stderr = os.fdopen(2, "w", buffering=1)
    if order["sabotage"]:
        getattr(sabotages, order["sabotage"])()
    importlib.import_module(f"stages.{order['stage']}").STAGE.run(order["argv"])


def main() -> None:
    for stage in STAGES:
        importlib.import_module(f"stages.{stage}")
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        Path(order["log"]).parent.mkdir(parents=True, exist_ok=True)
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
