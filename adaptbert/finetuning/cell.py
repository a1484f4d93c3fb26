"""One cell of the comparison: a task fine-tuned from the rung of an arm, once for each seed; the test set is read last.

This module computes; adaptbert.finetuning.cell_outputs writes the results.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from adaptbert.base.files import file_digest
from adaptbert.finetuning import class_weights
from adaptbert.finetuning.cell_checks import check_cell
from adaptbert.finetuning.cell_config import CellConfig
from adaptbert.finetuning.extra_runs import ExtraRuns, learn_from_fewer, search_values
from adaptbert.finetuning.heldout_rows import HeldOutRows, Measured
from adaptbert.finetuning.metrics.cell_metrics import Cost, LearningPoint, SearchMetrics, SeedMetrics
from adaptbert.finetuning.seed_run import ScoredSeed, SeedRun, run_seed
from adaptbert.finetuning.tasks.shapes import Shape, shape_of
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.precision import named_precision
from adaptbert.rows import labelled_set
from adaptbert.rows.task_description import TaskDescription
from adaptbert.runtime.tracking.run import Run
from adaptbert.training import distributed
from adaptbert.training.resume import Work

Rows = list[dict[str, Any]]
Unanswerable = dict[str, dict[str, int]]


@dataclass(frozen=True)
class CellRun:
    """The inputs of a cell.

    Attributes:
        data: folder of the labelled set.
    """

    task: str
    arm: str
    start: Checkpoint
    params: CellConfig
    data: Path

    @property
    def name(self) -> str:
        return f"{self.task}-{self.arm}"


@dataclass(frozen=True)
class TrainedCell:
    """The results of a cell.

    Attributes:
        run: with the values that a search chose, and the precision by its name.
        labels, examples: rows of the training split that were used, and their number of examples.
        best: the seed that is best on dev, the first of equals.
        seeds, predictions: of each seed, in their order.
        unanswerable: split -> reason -> number of rows whose right answer cannot be predicted.
        search, learning_curve: None where params do not set them.
    """

    run: CellRun
    described: TaskDescription
    shape: Shape
    labels: int
    examples: int
    best: ScoredSeed
    seeds: list[SeedMetrics]
    predictions: list[pa.Table]
    unanswerable: Unanswerable
    search: SearchMetrics | None
    learning_curve: list[LearningPoint] | None

    @property
    def cost(self) -> Cost:
        """Of all runs; seeds cost the same."""
        seeds = [self.best.trained.cost] * len(self.seeds)
        return Cost.total([*seeds, *([self.search] if self.search else []), *(self.learning_curve or [])])


def train_cell(cell: CellRun, work: Work, run: Run) -> TrainedCell:
    """Search, all seeds and the learning curve, resuming where an earlier process stopped.

    Raises:
        BadData: an architecture that cannot read the examples.
        BadParams: values that the task, its labels or the checkpoint contradict.
    """
    described = TaskDescription.read(cell.data)
    rows = labelled_set.subset(labelled_set.split(cell.data, "train"), cell.params.labels)
    check_cell(cell.task, cell.params, cell.start, described, len(rows))
    cell = _begin(cell, described, work)
    run.go_on(work.run)
    run.set_tags({"init": cell.start.digest, "rung": cell.start.name, "precision": cell.params.precision})
    run.log_input(f"tasks/{cell.task}", labelled_set.digest(rows), "training")
    request = _seed_run(cell, described, rows, _held_out(cell, described))
    run.log_metrics({"train/cut_share": request.examples.cut / len(rows)}, step=0)
    print(f"{cell.name}: {len(rows):,} labels, {len(cell.params.seeds)} seeds, from {cell.start.source}")
    unanswerable = _unanswerable(request.shape, run, train=Measured(rows, request.examples))

    extra, search = ExtraRuns({"task": cell.task, "arm": cell.arm}, work, run), None
    if cell.params.search is not None:
        point, search = search_values(cell.params.search, request, extra)
        cell = replace(cell, params=cell.params.at(point))
        request = replace(request, params=cell.params)
        run.set_tags({"chosen": json.dumps(asdict(point))})
    best, seeds, predictions = _train_seeds(cell, request, work, run)
    learning_curve = None
    if cell.params.label_counts is not None:
        learning_curve = [
            learn_from_fewer(
                _seed_run(cell, described, labelled_set.subset(rows, labels), request.held_out), labels, extra
            )
            for labels in cell.params.label_counts
        ]
    unanswerable |= _unanswerable(request.shape, run, dev=request.held_out.dev, test=request.held_out.test)
    return TrainedCell(
        run=cell,
        described=described,
        shape=request.shape,
        labels=len(rows),
        examples=len(request.examples),
        best=best,
        seeds=seeds,
        predictions=predictions,
        unanswerable=unanswerable,
        search=search,
        learning_curve=learning_curve,
    )


def _begin(cell: CellRun, described: TaskDescription, work: Work) -> CellRun:
    """Find the unfinished run with the same key, or begin one; returns the cell with the precision of that run."""
    digests = {path.name: file_digest(path) for path in sorted(cell.data.iterdir())}

    def key(precision: str) -> dict[str, Any]:
        return _resume_key(cell, described, digests, precision)

    precision = named_precision(
        f"finetune.{cell.task}.precision", cell.params.precision, lambda name: work.is_begun(key(name))
    )
    work.begin(key(precision))
    return replace(cell, params=cell.params.model_copy(update={"precision": precision}))


def _resume_key(
    cell: CellRun, described: TaskDescription, digests: Mapping[str, str], precision: str
) -> dict[str, Any]:
    """Everything that decides the result of a seed except code and machine."""
    params = cell.params
    return {
        "params": {**params.model_dump(exclude={"seeds"}), "precision": precision},
        "task": described.as_json(),
        "devices": distributed.count(params.global_batch_size // params.micro_batch_size),
        "data": digests,
        "init": [cell.start.digest, cell.start.tokenizer.fingerprint],
    }


def _held_out(cell: CellRun, described: TaskDescription) -> HeldOutRows:
    shape = shape_of(described, cell.params.options())
    return HeldOutRows(cell.data, lambda rows: shape.examples(rows, cell.start.tokenizer, cell.params.max_length))


def _seed_run(cell: CellRun, described: TaskDescription, rows: Rows, held_out: HeldOutRows) -> SeedRun:
    """The inputs of seeds on these rows, with the class weights of these rows."""
    params = cell.params
    shape = shape_of(described, params.options())
    examples = shape.examples(rows, cell.start.tokenizer, params.max_length)
    targets = shape.targets(rows, examples)
    if params.class_weights is not None:
        weights = class_weights.weights(params.class_weights, shape.classes, targets)
        shown = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(shape.classes, weights, strict=True))
        print(f"  class weights: {shown}")
        shape = shape_of(described, params.options(), weights)
    return SeedRun(cell.start, params, shape, examples.labelled(targets), held_out)


def _unanswerable(shape: Shape, run: Run, **splits: Measured) -> Unanswerable:
    """The number of rows of each split whose right answer cannot be predicted, by reason: they limit every score."""
    counts = {name: shape.unanswerable(*split) for name, split in splits.items()}
    for name, reasons in counts.items():
        run.log_metrics({f"{name}/{reason}": count for reason, count in reasons.items()})
        if any(reasons.values()):
            shown = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
            print(f"  warning: {name}: {shown} of {len(splits[name].rows):,} rows")
    return counts


def _train_seeds(
    cell: CellRun, request: SeedRun, work: Work, run: Run
) -> tuple[ScoredSeed, list[SeedMetrics], list[pa.Table]]:
    """The seed that is best on dev; metrics and predictions of all. Only one model is kept."""
    best: ScoredSeed | None = None
    metrics, predictions = [], []
    for seed in cell.params.seeds:
        tags = {"task": cell.task, "arm": cell.arm, "seed": str(seed)}
        with run.child(f"seed {seed} {cell.arm} {cell.task}", tags) as child:
            savepoints = work.savepoints(f"seed-{seed}")
            child.go_on(savepoints.folder)
            scored = run_seed(request, seed, savepoints, child)
        metrics.append(scored.metrics)
        predictions.append(scored.predictions)
        decides = request.shape.metric
        if best is None or scored.metrics.dev[decides] > best.metrics.dev[decides]:
            best = scored
    assert best is not None
    return best, metrics, predictions
