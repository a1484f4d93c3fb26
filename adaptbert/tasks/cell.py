"""One cell of the comparison: a task fine-tuned from the rung of an arm, once for each seed; the test set is read last.

This module computes; adaptbert.tasks.cell_outputs writes the results.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from adaptbert.config.schema.finetuning import Finetune
from adaptbert.core.files import file_digest
from adaptbert.data import labelled_set
from adaptbert.data.task_description import TaskDescription
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.precision import named_precision
from adaptbert.runtime.tracking.run import Run
from adaptbert.tasks.cell_checks import check_cell
from adaptbert.tasks.extra_runs import ExtraRuns, learn_from_fewer, search_values
from adaptbert.tasks.metrics.cell_metrics import Cost, LearningPoint, SearchMetrics, SeedMetrics
from adaptbert.tasks.seed_inputs import HeldOutRows, Measured, SeedInputs
from adaptbert.tasks.seed_run import ScoredSeed, run_seed
from adaptbert.tasks.shape import Shape
from adaptbert.tasks.shapes import shape_of
from adaptbert.training import distributed
from adaptbert.training.resume import Work

Rows = list[dict[str, Any]]
Unanswerable = dict[str, dict[str, int]]


@dataclass(frozen=True)
class CellRun:
    """The inputs of a cell.

    Attributes:
        name: the key of the cell, e.g. `section-domain-small-1`.
        data: folder of the labelled set.
    """

    name: str
    task: str
    arm: str
    start: Checkpoint
    params: Finetune
    data: Path


class SeedResult(NamedTuple):
    """What is kept of a seed besides the best model."""

    metrics: SeedMetrics
    predictions: pa.Table
    cost: Cost


@dataclass(frozen=True)
class TrainedCell:
    """The results of a cell.

    Attributes:
        run: with the values that a search chose, and the precision by its name.
        labels: rows of the training split that each seed used.
        examples: of those of the first seed.
        best: the seed that is best on dev, the first of equals.
        seeds: in their order.
        unanswerable: split -> reason -> number of rows whose right answer cannot be predicted.
        search, learning_curve: None where params do not set them.
    """

    run: CellRun
    described: TaskDescription
    shape: Shape
    labels: int
    examples: int
    best: ScoredSeed
    seeds: list[SeedResult]
    unanswerable: Unanswerable
    search: SearchMetrics | None
    learning_curve: list[LearningPoint] | None

    @property
    def cost(self) -> Cost:
        """Of all runs."""
        searched = [self.search] if self.search else []
        return Cost.total([*(seed.cost for seed in self.seeds), *searched, *(self.learning_curve or [])])


def train_cell(cell: CellRun, work: Work, run: Run) -> TrainedCell:
    """Search, all seeds and the learning curve, resuming where an earlier process stopped.

    Raises:
        BadData: an architecture that cannot read the examples.
        BadParams: values that the task, its labels or the checkpoint contradict.
    """
    described = TaskDescription.read(cell.data)
    pool = labelled_set.split(cell.data, "train")
    labels = labelled_set.used(pool, cell.params.labels)
    check_cell(cell.task, cell.params, cell.start, described, labels)
    cell = _begin(cell, described, work)
    run.go_on(work.run)
    run.set_tags({"init": cell.start.digest, "rung": cell.start.name, "precision": cell.params.precision})
    run.log_input(f"tasks/{cell.task}", labelled_set.digest(pool), "training")
    inputs = SeedInputs(cell.start, described, pool, _held_out(cell, described))
    first = inputs.measured(cell.params.seeds[0], cell.params)
    run.log_metrics({"train/cut_share": first.examples.cut / labels}, step=0)
    used = f"{labels:,} labels" if labels == len(pool) else f"{labels:,} of {len(pool):,} labels, each seed its own"
    print(f"{cell.name}: {used}, {len(cell.params.seeds)} seeds, from {cell.start.source}")
    shape = shape_of(described, cell.params.options(described.task_type))
    unanswerable = _unanswerable(shape, run, train=first)

    extra, search = ExtraRuns(cell.name, work, run), None
    if cell.params.search is not None:
        point, search = search_values(cell.params.search, cell.params, partial(inputs.of, params=cell.params), extra)
        cell = replace(cell, params=cell.params.model_copy(update=asdict(point)))
        run.set_tags({"chosen": json.dumps(asdict(point))})
    best, seeds = _train_seeds(cell, inputs, work, run)
    learning_curve = None
    if cell.params.label_counts is not None:
        learning_curve = [
            learn_from_fewer(cell.params.seeds, count, partial(inputs.of, params=cell.params, labels=count), extra)
            for count in cell.params.label_counts
        ]
    unanswerable |= _unanswerable(shape, run, dev=inputs.held_out.dev, test=inputs.held_out.test)
    return TrainedCell(
        run=cell,
        described=described,
        shape=shape,
        labels=labels,
        examples=len(first.examples),
        best=best,
        seeds=seeds,
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
    shape = shape_of(described, cell.params.options(described.task_type))
    return HeldOutRows(cell.data, lambda rows: shape.examples(rows, cell.start.tokenizer, cell.params.max_length))


def _unanswerable(shape: Shape, run: Run, **splits: Measured) -> Unanswerable:
    """The number of rows of each split whose right answer cannot be predicted, by reason: they limit every score."""
    counts = {name: shape.unanswerable(*split) for name, split in splits.items()}
    for name, reasons in counts.items():
        run.log_metrics({f"{name}/{reason}": count for reason, count in reasons.items()})
        if any(reasons.values()):
            shown = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
            print(f"  warning: {name}: {shown} of {len(splits[name].rows):,} rows")
    return counts


def _train_seeds(cell: CellRun, inputs: SeedInputs, work: Work, run: Run) -> tuple[ScoredSeed, list[SeedResult]]:
    """The seed that is best on dev, and the results of all. Only one model is kept."""
    best: ScoredSeed | None = None
    results = []
    for seed in cell.params.seeds:
        request = inputs.of(seed, cell.params)
        with run.child(f"seed {seed} {cell.name}", {"seed": str(seed)}) as child:
            savepoints = work.savepoints(f"seed-{seed}")
            child.go_on(savepoints.folder)
            scored = run_seed(request, seed, savepoints, child)
        results.append(SeedResult(scored.metrics, scored.predictions, scored.trained.cost))
        decides = request.shape.metric
        if best is None or scored.metrics.dev[decides] > best.metrics.dev[decides]:
            best = scored
    assert best is not None
    return best, results
