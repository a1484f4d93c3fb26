"""A task fine-tuned from the checkpoint of an arm, once for each seed; the test set is read last."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, filterfalse, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.config.schema.section import Contradiction
from adaptbert.core.files import atomic_write, file_digest, write_json
from adaptbert.core.record import Cost
from adaptbert.data import labelled_set
from adaptbert.errors import BadData, BadParams
from adaptbert.model import checkpoint
from adaptbert.model.checkpoint_files import CARD, Provenance, TaskCard
from adaptbert.runtime.mlflow import Run
from adaptbert.tasks import class_weights
from adaptbert.tasks.extra_runs import learn_from_fewer, search_values
from adaptbert.tasks.failed_runs import constant_score, failed
from adaptbert.tasks.metrics.cell_metrics import CellMetrics, SeedMetrics
from adaptbert.tasks.seed_run import Measured, ScoredSeed, TaskRun, division, run_seed


def fine_tune(task: TaskRun, out: Path, predictions: Path, metrics: Path) -> None:
    """Search, all seeds and the learning curve, resuming where an earlier process stopped; the metrics come last.

    Args:
        out: folder of the checkpoint.
        predictions, metrics: files to write.

    Raises:
        BadData: an architecture that cannot read the examples.
        BadParams: values that the task, its labels or the checkpoint contradict.
    """
    _check(task)
    _begin(task)
    labels, available, seeds, run = task.labels, len(task.pool), task.params.seeds, task.run
    run.go_on(task.work.run)
    run.set_tags({"init": task.start.digest, "checkpoint": task.start.name, "precision": task.params.precision})
    run.log_input(f"tasks/{task.task}", labelled_set.digest(task.pool), "training")
    first = task.of(seeds[0]).train
    run.log_metrics({"train/cut_share": first.cut_share}, step=0)
    used = f"{labels:,} labels" if labels == available else f"{labels:,} of {available:,} labels, each seed its own"
    print(f"{task.name}: {used}, {len(seeds)} seeds, from {task.start.source}")
    unanswerable = _unanswerable(task, train=first)

    search, metric = None, task.head().metric
    if task.params.search is not None:
        values, search = search_values(task.params.search, task)
        run.set_tags({"chosen": json.dumps(values)})
        task.params = task.params.model_copy(update=values)
    trained = _Trained(task)
    best = trained.best
    assert best is not None
    learning_curve = [learn_from_fewer(task, number) for number in task.params.label_counts or []]
    unanswerable |= _unanswerable(task, dev=task.dev, test=task.test)
    result = CellMetrics(
        task=task.task,
        arm=task.arm,
        start=task.start.name,
        type=task.described.type,
        metric=metric,
        labels=labels,
        examples=len(first.examples),
        epochs=task.params.epochs,
        steps=best.trained.steps,
        tokens=best.trained.cost.tokens,
        tflop=best.trained.cost.tflop,
        parameters=best.trained.model.num_parameters(),
        unanswerable=unanswerable if unanswerable["train"] else None,
        cost=Cost.total([*(each.cost for each in trained.runs), *([search] if search else []), *learning_curve]),
        seeds=[each.metrics for each in trained.runs],
        search=search,
        learning_curve=learning_curve or None,
    )
    card = checkpoint.save(out, best.trained.model, task.start.tokenizer, _provenance(task, best))
    with atomic_write(predictions) as path:
        pq.write_table(pa.concat_tables([each.predictions for each in trained.last]), path)
    write_json(metrics, result.as_json())
    task.work.finish(metrics)
    of_cost = {f"cost/{name}": value for name, value in result.cost.as_json().items()}
    run.log_metrics({**result.means(), "failed": len(result.failed), **of_cost})
    run.set_tags({"checkpoint": str(card.weights)})
    for path in (metrics, predictions, out / CARD):
        run.log_artifact(path)
    scores = ", ".join(f"{of_seed.test[metric]:.3f}" for of_seed in result.learned)
    failures = f"; {len(result.failed)} of {len(result.seeds)} runs failed" if result.failed else ""
    print(f"  test/{metric}: {scores}{failures}")


class _SeedResult(NamedTuple):
    """One run of a seed without its model, and its record in MLflow."""

    record: Run
    metrics: SeedMetrics
    cost: Cost
    predictions: pa.Table


class _Trained:
    """The runs of all seeds of a task. One that failed is trained once more, with a seed that is its own in every arm;
    not where all failed, for then the values do not fit, and other seeds would fail as well.

    Attributes:
        runs: all of them; those that were trained once more come last.
        last: the last of each seed, in the order of the seeds.
        best: the one with the best dev score, whose model is kept; one that failed only where all did.
    """

    def __init__(self, task: TaskRun) -> None:
        self._task, seeds = task, task.params.seeds
        self.best: ScoredSeed | None = None
        self.runs = self.last = first = self._judged([self._train(seed) for seed in seeds])
        again = [place for place, one in enumerate(first) if one.metrics.failed]
        if len(again) < len(seeds):
            others = list(islice(filterfalse(seeds.__contains__, count(1)), len(seeds)))
            restarted = {place: self._train(seeds[place], others[place]) for place in again}
            judged = self._judged([restarted.get(place, one) for place, one in enumerate(first)])
            self.last = [judged[place] if place in again else one for place, one in enumerate(first)]
            self.runs = [*first, *(judged[place] for place in again)]
        for one in self.runs:
            if one.metrics.failed:
                one.record.set_tags({"failed": "true"})

    def _train(self, seed: int, restarted: int | None = None) -> _SeedResult:
        task, name, tags = self._task, f"seed {seed}", {"seed": str(seed)}
        if restarted is not None:
            name, tags = f"{name} restarted {restarted}", {**tags, "restarted": str(restarted)}
            print(f"  seed {seed} failed: all dev answers alike, or far below the others; again with seed {restarted}")
        with task.run.child(f"{name} {task.name}", tags) as child:
            savepoints = task.work.savepoints(name.replace(" ", "-"))
            child.go_on(savepoints.folder)
            request = task.of(seed) if restarted is None else replace(task.of(seed), seed=restarted)
            one = run_seed(request, savepoints, child)
        # A constant answer may be the best on dev; one that is far below others is not.
        metric = one.trained.head.metric
        self.best = max(self.best or one, one, key=lambda run: (not run.trained.is_constant, run.metrics.dev[metric]))
        return _SeedResult(child, one.metrics, one.trained.cost, one.predictions)

    def _judged(self, runs: Sequence[_SeedResult]) -> list[_SeedResult]:
        """The same, of each seed one, marked where they failed."""
        task, head = self._task, self._task.head()
        dev, constant = zip(*((one.metrics.dev[head.metric], one.metrics.failed) for one in runs), strict=True)
        score = constant_score(head, task.pool, task.dev.rows)
        marks = failed(dev, constant, score, len(task.dev.rows)).tolist()
        return [
            one._replace(metrics=one.metrics.model_copy(update={"failed": mark}))
            for one, mark in zip(runs, marks, strict=True)
        ]


def _check(task: TaskRun) -> None:
    """Refuse values that contradict the task, its labels or the checkpoint, before anything is trained."""
    params, place, labels, limit = task.params, f"params.yaml: finetune.{task.task}", task.labels, task.start.longest
    try:
        task.described.spec.check(params)
        class_weights.check(params.class_weights, task.head().classes)
    except Contradiction as error:
        raise error.at(place) from None
    if params.label_counts is not None and params.label_counts[-1] >= labels:
        problem = f"label_counts {params.label_counts}, but there are {labels} labels, which are trained on anyway"
        raise BadParams(Code.CONTRADICTION, f"{place}.label_counts", problem, "give fewer")
    if params.max_length > limit:
        problem = f"max_length {params.max_length} is larger than the {limit} positions of {task.start.name}"
        raise BadData(Code.CONTRADICTION, place, problem, f"lower max_length to {limit}")


def _begin(task: TaskRun) -> None:
    """Find the unfinished run with the same key, or begin one; the task goes on with the precision of that run."""
    params, digests = task.params, {path.name: file_digest(path) for path in sorted(task.data.iterdir())}

    def key(precision: str) -> dict[str, Any]:
        """Everything that decides the result of a seed except code and machine."""
        return {
            "params": {**params.model_dump(exclude={"seeds"}), "precision": precision},
            "task": task.described.as_json(),
            "devices": division(params)[0],
            "data": digests,
            "init": [task.start.digest, task.start.tokenizer.fingerprint],
        }

    precision = task.work.begin(f"finetune.{task.task}.precision", params.precision, key)
    task.params = params.model_copy(update={"precision": precision})


def _unanswerable(task: TaskRun, **splits: Measured) -> dict[str, dict[str, int]]:
    """The number of rows of each split whose right answer cannot be predicted, by reason: they limit every score."""
    counts = {name: task.head().unanswerable(*split) for name, split in splits.items()}
    for name, reasons in counts.items():
        task.run.log_metrics({f"{name}/{reason}": count for reason, count in reasons.items()})
        if any(reasons.values()):
            shown = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
            print(f"  warning: {name}: {shown} of {len(splits[name].rows):,} rows")
    return counts


def _provenance(task: TaskRun, best: ScoredSeed) -> Provenance:
    """The card without the digests of the other files."""
    metric, kept = best.trained.head.metric, best.metrics
    how_read = {
        "name": task.task,
        **{key: value for key, value in task.described.as_json().items() if key != "rows"},
        "options": task.options.model_dump(exclude_none=True),
        "max_length": task.params.max_length,
        "tuned": best.trained.tuned,
        "seed": kept.seed,
        "scores": {f"dev/{metric}": kept.dev[metric], f"test/{metric}": kept.test[metric]},
    }
    return Provenance(
        stage="finetune",
        checkpoint=f"finetune/{task.name}",
        params=task.params.model_dump(exclude_none=True),
        task=TaskCard.model_validate(how_read),
        init=task.start.digest,
        texts=task.start.texts,
        measured={},
    )
