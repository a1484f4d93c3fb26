"""A task fine-tuned from the checkpoint of an arm, once for each seed; the test set is read last."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.config.schema.section import Contradiction
from adaptbert.core.files import atomic_write, file_digest, write_json
from adaptbert.data import labelled_set
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData, BadParams
from adaptbert.model import checkpoint
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import CARD, Provenance, TaskCard
from adaptbert.model.device import named_precision
from adaptbert.model.families.registry import family_of
from adaptbert.runtime.mlflow import Run
from adaptbert.tasks import class_weights
from adaptbert.tasks.extra_runs import ExtraRuns, learn_from_fewer, search_values
from adaptbert.tasks.head import TaskHead
from adaptbert.tasks.heads import head_of
from adaptbert.tasks.metrics.cell_metrics import CellMetrics, Cost, SeedMetrics
from adaptbert.tasks.seed_run import Measured, ScoredSeed, SeedInputs, TrainedSeed, run_seed
from adaptbert.training import ranks
from adaptbert.training.resume import Work


@dataclass(frozen=True)
class TaskRun:
    """What is fine-tuned.

    Attributes:
        name: of task, arm, base and replicate, e.g. `section-domain-small-1`.
        data: folder of the labelled set.
    """

    name: str
    task: str
    arm: str
    start: Checkpoint
    params: Finetune
    data: Path


@dataclass(frozen=True)
class Outputs:
    """The folder of the checkpoint, and two files."""

    checkpoint: Path
    predictions: Path
    metrics: Path


def fine_tune(asked: TaskRun, outputs: Outputs, work: Work, run: Run) -> None:
    """Search, all seeds and the learning curve, resuming where an earlier process stopped; the metrics come last.

    Raises:
        BadData: an architecture that cannot read the examples.
        BadParams: values that the task, its labels or the checkpoint contradict.
    """
    described, pool = TaskDescription.read(asked.data), labelled_set.split(asked.data, "train")
    labels = labelled_set.used(pool, asked.params.labels)
    _check(asked, described, labels)
    task = _begin(asked, described, work)
    params = task.params
    run.go_on(work.run)
    run.set_tags({"init": task.start.digest, "rung": task.start.name, "precision": params.precision})
    run.log_input(f"tasks/{task.task}", labelled_set.digest(pool), "training")
    inputs = SeedInputs(task.start, task.data, described, pool, params)
    first = inputs.measured(params.seeds[0])
    run.log_metrics({"train/cut_share": first.cut_share}, step=0)
    used = f"{labels:,} labels" if labels == len(pool) else f"{labels:,} of {len(pool):,} labels, each seed its own"
    print(f"{task.name}: {used}, {len(params.seeds)} seeds, from {task.start.source}")
    unanswerable = _unanswerable(inputs.head(), run, train=first)

    extra, search, learning_curve = ExtraRuns(task.name, inputs, work, run), None, None
    if params.search is not None:
        values, search = search_values(params.search, extra)
        run.set_tags({"chosen": json.dumps(values)})
        inputs.params = params = params.model_copy(update=values)
    scored, best = list[tuple[SeedMetrics, Cost, pa.Table]](), None  # only one model is kept
    for seed in params.seeds:
        with run.child(f"seed {seed} {task.name}", {"seed": str(seed)}) as child:
            savepoints = work.savepoints(f"seed-{seed}")
            child.go_on(savepoints.folder)
            one = run_seed(inputs.of(seed), savepoints, child)
        scored.append((one.metrics, one.trained.cost, one.predictions))
        best = one if best is None else _better(best, one)
    assert best is not None
    if params.label_counts is not None:
        learning_curve = [learn_from_fewer(params.seeds, count, extra) for count in params.label_counts]
    unanswerable |= _unanswerable(inputs.head(), run, dev=inputs.dev, test=inputs.test)
    metrics = CellMetrics(
        task=task.task,
        arm=task.arm,
        start=task.start.name,
        type=described.type,
        metric=best.trained.head.metric,
        labels=labels,
        examples=len(first.examples),
        epochs=params.epochs,
        steps=best.trained.steps,
        tokens=best.trained.cost.tokens,
        tflop=best.trained.cost.tflop,
        parameters=best.trained.model.num_parameters(),
        unanswerable=unanswerable if unanswerable["train"] else None,
        cost=Cost.total([*(cost for _, cost, _ in scored), *([search] if search else []), *(learning_curve or [])]),
        seeds=[of_seed for of_seed, _, _ in scored],
        search=search,
        learning_curve=learning_curve,
    )
    provenance = _provenance(replace(task, params=params), described, best.trained)
    card = checkpoint.save(outputs.checkpoint, best.trained.model, task.start.tokenizer, provenance)
    with atomic_write(outputs.predictions) as path:
        pq.write_table(pa.concat_tables([predictions for _, _, predictions in scored]), path)
    write_json(outputs.metrics, metrics.as_json())
    work.finish(outputs.metrics)
    run.log_metrics({**metrics.means(), **{f"cost/{name}": value for name, value in metrics.cost.as_json().items()}})
    run.set_tags({"checkpoint": str(card.weights)})
    for path in (outputs.metrics, outputs.predictions, outputs.checkpoint / CARD):
        run.log_artifact(path)
    scores = [of_seed.test[metrics.metric] for of_seed in metrics.seeds]
    print(f"  test/{metrics.metric}: " + ", ".join(f"{score:.3f}" for score in scores))


def _better(one: ScoredSeed, other: ScoredSeed) -> ScoredSeed:
    """By dev, the first of equals."""
    metric = one.trained.head.metric
    return other if other.metrics.dev[metric] > one.metrics.dev[metric] else one


def _check(asked: TaskRun, described: TaskDescription, labels: int) -> None:
    """Refuse values that contradict the task, its labels or the checkpoint, before anything is trained.

    Args:
        labels: number of training rows.
    """
    params, place, config = asked.params, f"params.yaml: finetune.{asked.task}", asked.start.config()
    try:
        described.spec.check(params)
    except Contradiction as error:
        raise BadParams(error.code, place, str(error), error.remedy) from None
    classes = head_of(described, described.spec.options(params)).classes
    if params.class_weights is not None and (unfit := class_weights.problem(params.class_weights, classes)):
        raise BadParams(Code.CONTRADICTION, place, unfit, "give `balanced`, or each label its weight")
    if params.label_counts is not None and params.label_counts[-1] >= labels:
        problem = f"label_counts {params.label_counts}, but there are {labels} labels, which are trained on anyway"
        raise BadParams(Code.CONTRADICTION, f"{place}.label_counts", problem, "give fewer")
    limit = family_of(config).longest(config)
    if params.max_length > limit:
        problem = f"max_length {params.max_length} is larger than the {limit} positions of {asked.start.name}"
        raise BadData(Code.CONTRADICTION, place, problem, f"lower max_length to {limit}")


def _begin(asked: TaskRun, described: TaskDescription, work: Work) -> TaskRun:
    """Find the unfinished run with the same key, or begin one; returns what is trained with the precision of that
    run."""
    params, digests = asked.params, {path.name: file_digest(path) for path in sorted(asked.data.iterdir())}

    def key(precision: str) -> dict[str, Any]:
        """Everything that decides the result of a seed except code and machine."""
        return {
            "params": {**params.model_dump(exclude={"seeds"}), "precision": precision},
            "task": described.as_json(),
            "devices": ranks.count(params.global_batch_size // params.micro_batch_size),
            "data": digests,
            "init": [asked.start.digest, asked.start.tokenizer.fingerprint],
        }

    precision = named_precision(
        f"finetune.{asked.task}.precision", params.precision, lambda name: work.is_begun(key(name))
    )
    work.begin(key(precision))
    return replace(asked, params=params.model_copy(update={"precision": precision}))


def _unanswerable(head: TaskHead, run: Run, **splits: Measured) -> dict[str, dict[str, int]]:
    """The number of rows of each split whose right answer cannot be predicted, by reason: they limit every score."""
    counts = {name: head.unanswerable(*split) for name, split in splits.items()}
    for name, reasons in counts.items():
        run.log_metrics({f"{name}/{reason}": count for reason, count in reasons.items()})
        if any(reasons.values()):
            shown = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
            print(f"  warning: {name}: {shown} of {len(splits[name].rows):,} rows")
    return counts


def _provenance(task: TaskRun, described: TaskDescription, best: TrainedSeed) -> Provenance:
    """The card without the digests of the other files."""
    how_read = {
        "name": task.task,
        **{key: value for key, value in described.as_json().items() if key != "rows"},
        "options": described.spec.options(task.params).model_dump(exclude_none=True),
        "max_length": task.params.max_length,
        "tuned": best.tuned,
    }
    return Provenance(
        stage="finetune",
        rung=f"finetune/{task.name}",
        params=task.params.model_dump(exclude_none=True),
        task=TaskCard.model_validate(how_read),
        init=task.start.digest,
        texts=task.start.texts,
        measured={},
    )
