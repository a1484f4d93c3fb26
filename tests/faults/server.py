"""Runs stages in forked processes: torch and Lightning are imported once, not once a trial.

A line in, a line out: {"cwd", "stage", "argv", "env", "log"} -> the pid; the exit status follows when the
stage has ended. Each stage leads a process group of its own.
"""

import importlib
import json
import os
import sys
from typing import Any

import matplotlib  # noqa: F401 - what stages import late, imported once
import mlflow.store.tracking.sqlalchemy_store  # noqa: F401
import pytorch_lightning  # noqa: F401
import sklearn.metrics  # noqa: F401
import sqlalchemy.dialects.sqlite  # noqa: F401
import transformers.models.bert.modeling_bert  # noqa: F401

STAGES = ("pretrain", "domain_transfer", "task_transfer", "finetune")


def run(order: dict[str, Any]) -> None:
    """In the child; never returns."""
    os.setsid()
    os.chdir(order["cwd"])
    os.environ.update(order["env"])
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
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
