"""Fine-tuning: the rung of an arm + labels -> metrics, predictions and the best checkpoint of a cell.

A cell is task x arm x start x draw.
"""

from pathlib import Path

from adaptbert.config.schema.finetuning import Finetune
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.stage import Stage
from adaptbert.training.resume import Work


def finetune(
    params: Finetune,
    *,
    task: str,
    arm: str,
    base: str,
    replicate: str,
    init: Path,
    data: Path,
    out: Path,
    predictions: Path,
    metrics: Path,
    work: Work,
    run: Run,
) -> None:
    """Fine-tune one cell, all its seeds."""
    from adaptbert.model.checkpoint import Checkpoint
    from adaptbert.tasks.cell import CellRun, keep_cell, train_cell

    trained = train_cell(CellRun(out.name, task, arm, Checkpoint.load(init), params, data), work, run)
    keep_cell(trained, out, predictions, metrics, work, run)


STAGE = Stage(finetune)

if __name__ == "__main__":
    STAGE.run()
