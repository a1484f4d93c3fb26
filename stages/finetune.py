"""Fine-tuning: a task from the checkpoint of an arm -> metrics, predictions of all seeds, and the best checkpoint."""

from pathlib import Path

from adaptbert.config.schema.finetuning import Finetune
from adaptbert.runtime.mlflow import Run
from adaptbert.stage import run_stage
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
    from adaptbert.model.checkpoint import Checkpoint
    from adaptbert.tasks.finetune import fine_tune
    from adaptbert.tasks.seed_run import TaskRun

    cell = TaskRun(out.name, task, arm, int(replicate), Checkpoint.load(init), params, data, work, run)
    fine_tune(cell, out, predictions, metrics)


if __name__ == "__main__":
    run_stage(finetune)
