"""Task transfer (TAPT): a checkpoint + the texts of a task's training split -> task checkpoint; labels are not read.

Masked-language modelling on the task's own text, many passes with fresh masks (Gururangan et al. 2020, section 4).
"""

from pathlib import Path

from adaptbert.config.plan import seed_of_replicate
from adaptbert.config.schema.bases import GENERAL
from adaptbert.config.schema.mlm import TaskTransfer
from adaptbert.config.schema.text import Measure
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.stage import Stage
from adaptbert.training.resume import Work


def task_transfer(
    params: TaskTransfer,
    *,
    task: str,
    base: str,
    replicate: str,
    seed: int,
    measure: Measure,
    init: Path,
    text: Path,
    heldout: Path,
    out: Path,
    metrics: Path,
    work: Work,
    run: Run,
) -> None:
    """Train the rung of a task from a general or domain rung."""
    from adaptbert.mlm.rung import make_rung
    from adaptbert.model.checkpoint import Checkpoint

    make_rung(
        "task_transfer",
        Checkpoint.load(init),
        params,
        seed=seed_of_replicate(seed, int(replicate)),
        measure=measure,
        text=text,
        heldout=[heldout / GENERAL, heldout / task],
        out=out,
        metrics=metrics,
        work=work,
        run=run,
    )


STAGE = Stage(task_transfer)

if __name__ == "__main__":
    STAGE.run()
