"""The outputs of a cell: metrics, predictions and the best checkpoint as files, figures in the tracking run."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.core.files import atomic_write, write_json
from adaptbert.model import checkpoint
from adaptbert.model.card import CARD, Card, Provenance, TaskCard
from adaptbert.runtime.tracking.run import Run
from adaptbert.tasks.cell import TrainedCell
from adaptbert.tasks.metrics.cell_metrics import CellMetrics
from adaptbert.training.resume import Work


def keep_cell(
    trained: TrainedCell, out: Path, predictions_file: Path, metrics_file: Path, work: Work, run: Run
) -> None:
    """Write the folder of the checkpoint, the predictions and, last, the metrics file; log and report."""
    start, model = trained.run.start, trained.best.trained.model
    metrics = metrics_of(trained)
    card = checkpoint.save(out, model, start.tokenizer, provenance_of(trained))
    _write_predictions(predictions_file, [seed.predictions for seed in trained.seeds])
    write_json(metrics_file, metrics.as_json())
    work.finish(metrics_file)
    _log(trained, card, run)
    for path in (metrics_file, predictions_file, out / CARD):
        run.log_artifact(path)
    scores = [seed.test[metrics.metric] for seed in metrics.seeds]
    print(f"  test/{metrics.metric}: " + ", ".join(f"{score:.3f}" for score in scores))


def metrics_of(trained: TrainedCell) -> CellMetrics:
    """The metrics file; values of one run are those of the best seed."""
    cell, best = trained.run, trained.best.trained
    return CellMetrics(
        task=cell.task,
        arm=cell.arm,
        start=cell.start.name,
        shape=trained.described.task_type,
        target=trained.described.target,
        metric=trained.shape.metric,
        labels=trained.labels,
        examples=trained.examples,
        epochs=cell.params.epochs,
        steps=best.steps,
        tokens=best.cost.tokens,
        tflop=best.cost.tflop,
        parameters=best.model.num_parameters(),
        unanswerable=trained.unanswerable if trained.unanswerable["train"] else None,
        cost=trained.cost,
        seeds=[seed.metrics for seed in trained.seeds],
        search=trained.search,
        learning_curve=trained.learning_curve,
    )


def provenance_of(trained: TrainedCell) -> Provenance:
    """The card without the digests of the other files."""
    cell = trained.run
    task = {
        "name": cell.task,
        **{key: value for key, value in trained.described.as_json().items() if key != "rows"},
        "options": cell.params.options(trained.described.task_type).model_dump(exclude_none=True),
        "max_length": cell.params.max_length,
        "tuned": trained.best.metrics.tuned,
    }
    return Provenance(
        stage="finetune",
        rung=f"finetune/{cell.name}",
        params=cell.params.model_dump(exclude_none=True),
        task=TaskCard.model_validate(task),
        init=cell.start.digest,
        texts=cell.start.texts,
        measured={},
    )


def _write_predictions(target: Path, seeds: list[pa.Table]) -> None:
    with atomic_write(target) as path:
        pq.write_table(pa.concat_tables(seeds), path)


def _log(trained: TrainedCell, card: Card, run: Run) -> None:
    seeds = [seed.metrics for seed in trained.seeds]
    test = {f"test/{name}": sum(seed.test[name] for seed in seeds) / len(seeds) for name in seeds[0].test}
    dev = {f"dev/{name}": sum(seed.dev[name] for seed in seeds) / len(seeds) for name in seeds[0].dev}
    cost = {f"cost/{name}": value for name, value in trained.cost.as_json().items()}
    run.log_metrics({**test, **dev, **cost})
    run.set_tags({"checkpoint": str(card.weights)})
