"""One cell of the comparison: a task fine-tuned from the rung of an arm, once for each seed; the test set is read last.

`train_cell` computes, `keep_cell` writes metrics, predictions and the best checkpoint.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.base.task_types import TARGETS
from adaptbert.codes import Code
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.core.files import atomic_write, file_digest, write_json
from adaptbert.data import labelled_set
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData, BadParams
from adaptbert.model import checkpoint
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import CARD, Provenance, TaskCard
from adaptbert.model.families.registry import family_of
from adaptbert.model.precision import named_precision
from adaptbert.runtime.mlflow import Run
from adaptbert.tasks.extra_runs import ExtraRuns, learn_from_fewer, search_values
from adaptbert.tasks.metrics.cell_metrics import CellMetrics, Cost, SeedMetrics
from adaptbert.tasks.options import class_weights
from adaptbert.tasks.seed_run import Measured, ScoredSeed, SeedInputs, TrainedSeed, run_seed
from adaptbert.tasks.shape import Shape
from adaptbert.tasks.shapes import shape_of
from adaptbert.training import ranks
from adaptbert.training.resume import Work

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


@dataclass(frozen=True)
class TrainedCell:
    """The results of a cell.

    Attributes:
        run: with the values that a search chose, and the precision by its name.
        metrics: values of one run are those of the best seed.
        best: the seed that is best on dev, the first of equals.
        predictions: of each seed.
    """

    run: CellRun
    described: TaskDescription
    metrics: CellMetrics
    best: TrainedSeed
    predictions: list[pa.Table]


def check_cell(task: str, params: Finetune, start: Checkpoint, described: TaskDescription, labels: int) -> None:
    """Refuse values that contradict the task, its labels or the checkpoint, before anything is trained.

    Args:
        labels: number of training rows.

    Raises:
        BadParams: options of another task type, or that contradict the target, the labels or the encoder.
        BadData: more tokens than the encoder has positions.
    """
    place = f"params.yaml: finetune.{task}"
    config, classes = start.config(), shape_of(described, params.options(described.task_type)).classes
    layers = config.num_hidden_layers
    if params.freeze is not None and params.freeze.layers != "all" and params.freeze.layers > layers:
        problem = f"freeze.layers {params.freeze.layers}, but the encoder has {layers}"
        raise BadParams(Code.CONTRADICTION, place, problem, "give fewer layers, or `all`")
    if params.class_weights is not None and (
        unfit := class_weights.problem(params.class_weights, described.target, classes)
    ):
        raise BadParams(Code.CONTRADICTION, place, unfit, "give `balanced`, or each label its weight")
    if params.r_drop is not None and not TARGETS[described.target].has_confidence:
        problem = f"r_drop and target '{described.target}': it compares probabilities, a number has none"
        raise BadParams(Code.CONTRADICTION, place, problem, "remove r_drop")
    if params.label_counts is not None and params.label_counts[-1] >= labels:
        problem = f"label_counts {params.label_counts}, but there are {labels} labels, which are trained on anyway"
        raise BadParams(Code.CONTRADICTION, f"{place}.label_counts", problem, "give fewer")
    limit = family_of(config).longest(config)
    if params.max_length > limit:
        problem = f"max_length {params.max_length} is larger than the {limit} positions of {start.name}"
        raise BadData(Code.CONTRADICTION, place, problem, f"lower max_length to {limit}")


def train_cell(cell: CellRun, work: Work, run: Run) -> TrainedCell:
    """Search, all seeds and the learning curve, resuming where an earlier process stopped.

    Raises:
        BadData: an architecture that cannot read the examples.
        BadParams: values that the task, its labels or the checkpoint contradict.
    """
    described, pool = TaskDescription.read(cell.data), labelled_set.split(cell.data, "train")
    labels = labelled_set.used(pool, cell.params.labels)
    check_cell(cell.task, cell.params, cell.start, described, labels)
    cell = _begin(cell, described, work)
    params = cell.params
    run.go_on(work.run)
    run.set_tags({"init": cell.start.digest, "rung": cell.start.name, "precision": params.precision})
    run.log_input(f"tasks/{cell.task}", labelled_set.digest(pool), "training")
    inputs = SeedInputs(cell.start, cell.data, described, pool, params)
    first = inputs.measured(params.seeds[0])
    run.log_metrics({"train/cut_share": first.cut_share}, step=0)
    used = f"{labels:,} labels" if labels == len(pool) else f"{labels:,} of {len(pool):,} labels, each seed its own"
    print(f"{cell.name}: {used}, {len(params.seeds)} seeds, from {cell.start.source}")
    unanswerable = _unanswerable(inputs.shape(), run, train=first)

    extra, search, learning_curve = ExtraRuns(cell.name, inputs, work, run), None, None
    if params.search is not None:
        point, search = search_values(params.search, extra)
        cell = replace(cell, params=params.model_copy(update=asdict(point)))
        run.set_tags({"chosen": json.dumps(asdict(point))})
        inputs.params = cell.params
    seeds, costs, predictions = list[SeedMetrics](), list[Cost](), list[pa.Table]()
    best: ScoredSeed | None = None  # only one model is kept
    for seed in params.seeds:
        request = inputs.of(seed)
        with run.child(f"seed {seed} {cell.name}", {"seed": str(seed)}) as child:
            savepoints = work.savepoints(f"seed-{seed}")
            child.go_on(savepoints.folder)
            scored = run_seed(request, seed, savepoints, child)
        seeds.append(scored.metrics)
        costs.append(scored.trained.cost)
        predictions.append(scored.predictions)
        metric = request.shape.metric
        if best is None or scored.metrics.dev[metric] > best.metrics.dev[metric]:
            best = scored
    assert best is not None
    if params.label_counts is not None:
        learning_curve = [learn_from_fewer(params.seeds, count, extra) for count in params.label_counts]
    unanswerable |= _unanswerable(inputs.shape(), run, dev=inputs.dev, test=inputs.test)
    metrics = CellMetrics(
        task=cell.task,
        arm=cell.arm,
        start=cell.start.name,
        shape=described.task_type,
        target=described.target,
        metric=metric,
        labels=labels,
        examples=len(first.examples),
        epochs=cell.params.epochs,
        steps=best.trained.steps,
        tokens=best.trained.cost.tokens,
        tflop=best.trained.cost.tflop,
        parameters=best.trained.model.num_parameters(),
        unanswerable=unanswerable if unanswerable["train"] else None,
        cost=Cost.total([*costs, *([search] if search else []), *(learning_curve or [])]),
        seeds=seeds,
        search=search,
        learning_curve=learning_curve,
    )
    return TrainedCell(cell, described, metrics, best.trained, predictions)


def keep_cell(
    trained: TrainedCell, out: Path, predictions_file: Path, metrics_file: Path, work: Work, run: Run
) -> None:
    """Write the folder of the checkpoint, the predictions and, last, the metrics file; log and report."""
    metrics = trained.metrics
    card = checkpoint.save(out, trained.best.model, trained.run.start.tokenizer, provenance_of(trained))
    with atomic_write(predictions_file) as path:
        pq.write_table(pa.concat_tables(trained.predictions), path)
    write_json(metrics_file, metrics.as_json())
    work.finish(metrics_file)
    means = {
        f"{split}/{name}": sum(getattr(seed, split)[name] for seed in metrics.seeds) / len(metrics.seeds)
        for split in ("test", "dev")
        for name in getattr(metrics.seeds[0], split)
    }
    run.log_metrics({**means, **{f"cost/{name}": value for name, value in metrics.cost.as_json().items()}})
    run.set_tags({"checkpoint": str(card.weights)})
    for path in (metrics_file, predictions_file, out / CARD):
        run.log_artifact(path)
    scores = [seed.test[metrics.metric] for seed in metrics.seeds]
    print(f"  test/{metrics.metric}: " + ", ".join(f"{score:.3f}" for score in scores))


def provenance_of(trained: TrainedCell) -> Provenance:
    """The card without the digests of the other files."""
    cell = trained.run
    task = {
        "name": cell.task,
        **{key: value for key, value in trained.described.as_json().items() if key != "rows"},
        "options": cell.params.options(trained.described.task_type).model_dump(exclude_none=True),
        "max_length": cell.params.max_length,
        "tuned": trained.best.tuned,
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


def _begin(cell: CellRun, described: TaskDescription, work: Work) -> CellRun:
    """Find the unfinished run with the same key, or begin one; returns the cell with the precision of that run."""
    params, digests = cell.params, {path.name: file_digest(path) for path in sorted(cell.data.iterdir())}

    def key(precision: str) -> dict[str, Any]:
        """Everything that decides the result of a seed except code and machine."""
        return {
            "params": {**params.model_dump(exclude={"seeds"}), "precision": precision},
            "task": described.as_json(),
            "devices": ranks.count(params.global_batch_size // params.micro_batch_size),
            "data": digests,
            "init": [cell.start.digest, cell.start.tokenizer.fingerprint],
        }

    precision = named_precision(
        f"finetune.{cell.task}.precision", params.precision, lambda name: work.is_begun(key(name))
    )
    work.begin(key(precision))
    return replace(cell, params=params.model_copy(update={"precision": precision}))


def _unanswerable(shape: Shape, run: Run, **splits: Measured) -> Unanswerable:
    """The number of rows of each split whose right answer cannot be predicted, by reason: they limit every score."""
    counts = {name: shape.unanswerable(*split) for name, split in splits.items()}
    for name, reasons in counts.items():
        run.log_metrics({f"{name}/{reason}": count for reason, count in reasons.items()})
        if any(reasons.values()):
            shown = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
            print(f"  warning: {name}: {shown} of {len(splits[name].rows):,} rows")
    return counts
