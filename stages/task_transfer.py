"""Task transfer (TAPT): a checkpoint + the texts of a task's training split -> task checkpoint; labels are not read.

Masked-language modelling on the task's own text, many passes with fresh masks (Gururangan et al. 2020, section 4). It
is measured on held-out text of the task and `beside` it: general text, or the same where there is none.
"""

from pathlib import Path
from typing import Unpack

from adaptbert.config.schema.mlm import TaskTransfer
from adaptbert.mlm.arguments import StepArguments
from adaptbert.stage import run_stage


def task_transfer(
    params: TaskTransfer, *, task: str, replicate: str, init: Path, beside: Path, **common: Unpack[StepArguments]
) -> None:
    from adaptbert.mlm.step import take_step
    from adaptbert.model.checkpoint import Checkpoint

    texts = list(dict.fromkeys([beside.name, task]))
    take_step("task_transfer", Checkpoint.load(init), params, texts, int(replicate), **common)


if __name__ == "__main__":
    run_stage(task_transfer)
