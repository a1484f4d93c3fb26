"""Task transfer (TAPT): a checkpoint + the texts of a task's training split -> task checkpoint; labels are not read.

Masked-language modelling on the task's own text, many passes with fresh masks (Gururangan et al. 2020, section 4).
"""

from pathlib import Path

from adaptbert.base.ladder import GENERAL
from adaptbert.base.plan import seed_of_draw
from adaptbert.mlm.heldout_evaluation import MeasureConfig
from adaptbert.mlm.rung_config import RungConfig
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from adaptbert.training.resume import Work


class TaskTransferParams(RungConfig):
    """The third rung."""


def task_transfer(
    params: TaskTransferParams,
    *,
    task: str,
    start: str,
    draw: str,
    seed: int,
    measure: MeasureConfig,
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
        seed=seed_of_draw(seed, int(draw)),
        measure=measure,
        text=text,
        heldout=[heldout / GENERAL, heldout / task],
        out=out,
        metrics=metrics,
        work=work,
        run=run,
    )


STAGE = Stage(task_transfer, blocks=("start", "task"))

if __name__ == "__main__":
    STAGE.run()
