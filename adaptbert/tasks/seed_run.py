"""One seed of a task: its rows, training from a checkpoint with dev scores by epoch, and one evaluation on test."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from adaptbert.config.schema.finetuning import Finetune
from adaptbert.config.schema.task_types import TaskOptions, written
from adaptbert.core.record import Cost, CurvePoint, flat, grouped
from adaptbert.data import labelled_set
from adaptbert.data.task_description import TaskDescription
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.flops import training_flop
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.variables import DEVICES, value_of
from adaptbert.tasks import class_weights
from adaptbert.tasks.batches import LabelledBatches
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.head import Decoded, TaskHead, Weights
from adaptbert.tasks.heads import head_of
from adaptbert.tasks.metrics.cell_metrics import SeedMetrics
from adaptbert.tasks.metrics.scoring import Scores, are_alike
from adaptbert.tasks.module import FineTuning
from adaptbert.tasks.outputs import outputs
from adaptbert.training import graphs, ranks
from adaptbert.training.arguments import Fitted, TrainingArguments
from adaptbert.training.document_stream import steps_of
from adaptbert.training.loop import fit
from adaptbert.training.resume import Work
from adaptbert.training.savepoints import Savepoints


class Measured(NamedTuple):
    """Rows of a split, and their examples."""

    rows: list[dict[str, Any]]
    examples: Examples

    @property
    def cut_share(self) -> float:
        return self.examples.cut / len(self.rows)


@dataclass
class TaskRun:
    """A task that is fine-tuned in one arm: what its runs have in common.

    Its splits are read on first use, once for all runs, and the last examples are kept: where all labels are used, they
    are those of every seed.

    Attributes:
        name: of task, arm, base and replicate, e.g. `section-domain-small-1`.
        replicate: from 1, seeds a search; 0: the only one.
        params: of the runs that begin now; a search puts the values there that it chose.
        data: folder of the labelled set.
        work: keeps the state of each run.
        run: the record, below which each of them is recorded.
    """

    name: str
    task: str
    arm: str
    replicate: int
    start: Checkpoint
    params: Finetune
    data: Path
    work: Work
    run: Run
    _last: tuple[tuple[int, int | None], TaskHead, Measured] | None = field(default=None, init=False)

    @cached_property
    def described(self) -> TaskDescription:
        return TaskDescription.read(self.data)

    @cached_property
    def pool(self) -> list[dict[str, Any]]:
        """All rows of the training split."""
        return labelled_set.split(self.data, "train")

    @cached_property
    def dev(self) -> Measured:
        """Rows that models are compared on during training."""
        return self._measured(labelled_set.split(self.data, "dev"))

    @cached_property
    def test(self) -> Measured:
        """Read after training."""
        return self._measured(labelled_set.split(self.data, "test"))

    @property
    def labels(self) -> int:
        """The number of training rows that a seed uses."""
        return labelled_set.used(self.pool, self.params.labels)

    @property
    def options(self) -> TaskOptions:
        return self.described.spec.options(self.params)

    def of(self, seed: int, labels: int | None = None) -> "SeedRun":
        """A run on the subset of this seed, with the class weights of that subset.

        Args:
            labels: rows of the subset; None: as `params` says.
        """
        count = self.labels if labels is None else labelled_set.used(self.pool, labels)
        key = (count, None if count == len(self.pool) else seed)
        if self._last is None or self._last[0] != key:
            self._last = (key, *self._labelled(labelled_set.subset(self.pool, count, seed)))
        return SeedRun(seed, seed, self.params, *self._last[1:], self)

    def head(self, weights: Weights = None) -> TaskHead:
        """Head of the task, with the weights of its labels."""
        return head_of(self.described, self.options, weights)

    def _measured(self, rows: list[dict[str, Any]]) -> Measured:
        return Measured(rows, self.head().examples(rows, self.start.tokenizer, self.params.max_length))

    def _labelled(self, rows: list[dict[str, Any]]) -> tuple[TaskHead, Measured]:
        head, requested, (_, examples) = self.head(), self.params.class_weights, self._measured(rows)
        targets = head.targets(rows, examples)
        if requested is not None:
            weights = class_weights.weights(requested, head.classes, targets)
            shown = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(head.classes, weights, strict=True))
            print(f"  class weights: {shown}")
            head = self.head(weights)
        return head, Measured(rows, examples.labelled(targets))


@dataclass(frozen=True)
class SeedRun:
    """The inputs of the training of a seed.

    Attributes:
        place: the seed of the rows, by which arms are compared.
        seed: of all else: the head, the order of rows, dropout. It differs where the run of `place` failed.
        head: of the task; with class weights, those of the training rows.
        train: the rows of this seed, with their targets.
        task: has the checkpoint, and the rows of dev and test.
    """

    place: int
    seed: int
    params: Finetune
    head: TaskHead
    train: Measured
    task: TaskRun

    def cost(self, config: Any, counts: Mapping[str, int]) -> Cost:
        """Cost of a run of such a model that was trained on so many tokens."""
        return Cost(tokens=counts["tokens"], tflop=round(flop_of(self.params, config, counts) / 1e12, 3))

    def evaluated(
        self, model: Any, head: TaskHead, on: Measured, tuned: Scores | None = None
    ) -> tuple[Decoded, Scores, Scores]:
        """The answers of a model with its head to some rows, their scores, and the values that were tuned.

        Args:
            tuned: values chosen on dev; None: they are chosen on these rows.
        """
        scores = outputs(model, head.logits, on.examples, self.params.block_size, self.params.precision)
        tuned = head.tune(*on, scores) if tuned is None else tuned
        decoded = head.decode(*on, scores, tuned)
        return decoded, head.score(head.gold(on.rows), decoded.answers), tuned


def division(params: Finetune) -> tuple[int, int]:
    """The devices of a run, and micro-batches of a step, which is cut for more devices only where the user names them:
    each would have little to do."""
    parts = params.global_batch_size // params.micro_batch_size
    return ranks.shared(parts, params.global_batch_size if value_of(DEVICES) else parts)


def flop_of(params: Finetune, config: Any, counts: Mapping[str, int]) -> float:
    """Floating-point operations of a run."""
    return training_flop(config, counts["tokens"], params.block_size, counts["places"], 0)


@dataclass(frozen=True)
class TrainedSeed:
    """The results of training a seed; the test split was not read yet.

    Attributes:
        steps: optimizer steps that were planned.
        dev, tuned: scores of the weights that are kept, and values chosen with them.
        is_constant: whether they answer all dev rows alike, which have different right answers.
    """

    model: Any
    head: TaskHead
    steps: int
    fitted: Fitted
    dev: Scores
    tuned: Scores
    cost: Cost
    is_constant: bool


class ScoredSeed(NamedTuple):
    """A trained seed, its scores on test and its predictions, one for each row of the test split."""

    trained: TrainedSeed
    metrics: SeedMetrics
    predictions: pa.Table


def train_seed(request: SeedRun, savepoints: Savepoints, run: Run) -> TrainedSeed:
    """Train, resuming where an earlier process stopped."""
    params, rule, examples = request.params, request.params.early_stopping, request.train.examples
    model = request.task.start.model(request.head.head, request.seed, dropout=params.dropout, **request.head.config())
    head, dev = request.head.extend(model), request.task.dev
    varied = not are_alike(head.gold(dev.rows), head.target)
    _, parts = division(params)
    plan = TrainingArguments(
        steps=steps_of(params.epochs * len(examples), params.global_batch_size),
        accumulate=parts,
        clip_norm=params.clip_norm,
        precision=params.precision,
        seed=request.seed,
        loss_name="train/loss",
        keep_best=None if rule is None else f"dev/{head.metric}",
        patience=0 if rule is None else rule.patience,
        label=f"seed {request.seed}",
    )

    def measure(step: int) -> Scores:
        decoded, scores, tuned = request.evaluated(model, head, dev)
        constant = are_alike(decoded.answers, head.target) and varied
        return flat({"dev": scores, "tuned": tuned, "answers": {"constant": float(constant)}})

    epoch = len(examples) / params.global_batch_size
    ends = [max(1, min(plan.steps, round(number * epoch))) for number in range(1, int(params.epochs) + 1)]
    static = head.skips_padding and graphs.are_possible(model.base_model, params.precision)
    batches = LabelledBatches(examples, request.seed, params.global_batch_size, params.block_size, parts, static)
    module = FineTuning(model, head, params, plan.steps)
    fitted = fit(module, batches, plan, run, dict.fromkeys([*ends, plan.steps], measure), savepoints)
    if rule is not None:
        print(
            f"  seed {request.seed}: kept is step {fitted.step:,}, the best on dev, of {fitted.curve[-1]['step']:,}"
            f" that were trained and {plan.steps:,} that were planned"
        )
    kept = next(point for point in fitted.curve if point["step"] == fitted.step)
    cost, constant = request.cost(model.config, fitted.counts), bool(kept["answers/constant"])
    scores = grouped(kept, ("dev", "tuned"))
    return TrainedSeed(model, head.fold_scale(model), plan.steps, fitted, **scores, cost=cost, is_constant=constant)


def run_seed(request: SeedRun, savepoints: Savepoints, run: Run) -> ScoredSeed:
    """Train a seed, read the test split, score the seed on it, and log its scores."""
    trained = train_seed(request, savepoints, run)
    head, dev, test = trained.head, request.task.dev, request.task.test
    (answers, confidence, _), scores, _ = request.evaluated(trained.model, head, test, trained.tuned)
    curve = [CurvePoint.model_validate(point) for point in trained.fitted.curve]
    early = request.params.early_stopping is not None
    metrics = SeedMetrics(
        seed=request.place,
        restarted=None if request.seed == request.place else request.seed,
        test=scores,
        dev=trained.dev,
        tuned=trained.tuned,
        failed=trained.is_constant,
        cut=request.train.examples.cut,
        kept_step=trained.fitted.step if early else None,
        steps=curve[-1].step if early else None,
        curve=curve,
    )
    predictions = pa.table(
        {
            "seed": np.full(len(test.rows), request.place),
            "id": [row["id"] for row in test.rows],
            "gold": [*map(written, head.gold(test.rows))],
            "predicted": [*map(written, answers)],
            "confidence": confidence,
        }
    )
    shares = {"dev/cut_share": dev.cut_share, "test/cut_share": test.cut_share}
    run.log_metrics(flat({"test": scores}) | shares, trained.steps)
    return ScoredSeed(trained, metrics, predictions)
