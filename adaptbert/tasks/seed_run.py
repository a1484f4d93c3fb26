"""One seed of a cell: its rows, training from a checkpoint with dev scores by epoch, and one evaluation on test."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from adaptbert.base.task_types import written
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.core.record import CurvePoint
from adaptbert.data import labelled_set
from adaptbert.data.task_description import TaskDescription
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.flops import training_flop
from adaptbert.runtime.mlflow import Run
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.metrics.cell_metrics import Cost, SeedMetrics
from adaptbert.tasks.module import FineTuning, LabelledBatches, UnfreezingBatches, logits
from adaptbert.tasks.options import class_weights
from adaptbert.tasks.options.freezing import freeze, layers_below
from adaptbert.tasks.sentences import Weights
from adaptbert.tasks.shape import Shape
from adaptbert.tasks.shapes import shape_of
from adaptbert.training.arguments import Batches, Fitted, KeepBest, Measure, TrainingArguments
from adaptbert.training.document_stream import steps_of
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints

TUNED = "tuned/"  # prefix of values chosen on dev on a curve


class Measured(NamedTuple):
    """Rows that models are evaluated on, and their examples."""

    rows: list[dict[str, Any]]
    examples: Examples

    @property
    def cut_share(self) -> float:
        """Of its rows."""
        return self.examples.cut / len(self.rows)


@dataclass(frozen=True)
class SeedRun:
    """The inputs of the training of a seed.

    Attributes:
        shape: of the task; with class weights, those of the examples.
        examples: with their targets.
        held_out: has the rows of dev and test.
    """

    start: Checkpoint
    params: Finetune
    shape: Shape
    examples: Examples
    held_out: "SeedInputs"

    @property
    def steps(self) -> int:
        """Optimizer steps."""
        return steps_of(self.params.epochs * len(self.examples), self.params.global_batch_size)

    @property
    def epoch(self) -> float:
        """Optimizer steps of an epoch."""
        return len(self.examples) / self.params.global_batch_size

    @property
    def accumulate(self) -> int:
        """Micro-batches of an optimizer step."""
        return self.params.global_batch_size // self.params.micro_batch_size

    def cost(self, config: Any, counts: Mapping[str, int]) -> Cost:
        """Of a run that was trained on so many tokens.

        Args:
            config: of its model.
        """
        tflop = round(flop_of(self.params, config, counts) / 1e12, 3)
        return Cost(tokens=counts["tokens"], tflop=tflop)


@dataclass
class SeedInputs:
    """The inputs of the seeds of a cell.

    The last ones are kept: where all labels are used, they are those of every seed. The dev and test splits are read
    on first use, once for all runs of the cell.

    Attributes:
        data: folder of the labelled set.
        pool: all rows of its training split.
    """

    start: Checkpoint
    data: Path
    described: TaskDescription
    pool: list[dict[str, Any]]
    params: Finetune
    _last: tuple[tuple[int, int | None], Shape, Examples] | None = field(default=None, init=False)

    @cached_property
    def dev(self) -> Measured:
        """Rows that models are compared on during training."""
        return self._held_out("dev")

    @cached_property
    def test(self) -> Measured:
        """Read after training."""
        return self._held_out("test")

    def of(self, seed: int, labels: int | None = None) -> SeedRun:
        """On the subset of this seed, with the class weights of that subset.

        Args:
            labels: rows of the subset; None: as `params` says.
        """
        count = labelled_set.used(self.pool, self.params.labels if labels is None else labels)
        key = (count, None if count == len(self.pool) else seed)
        if self._last is None or self._last[0] != key:
            self._last = (key, *self._labelled(labelled_set.subset(self.pool, count, seed)))
        _, shape, examples = self._last
        return SeedRun(self.start, self.params, shape, examples, self)

    def measured(self, seed: int) -> Measured:
        """The labelled rows of a seed, and their examples."""
        return Measured(labelled_set.subset(self.pool, self.params.labels, seed), self.of(seed).examples)

    def shape(self, weights: Weights = None) -> Shape:
        """Of the task; with the weights of its labels."""
        return shape_of(self.described, self.params.options(self.described.task_type), weights)

    def _labelled(self, rows: list[dict[str, Any]]) -> tuple[Shape, Examples]:
        shape, requested = self.shape(), self.params.class_weights
        examples = shape.examples(rows, self.start.tokenizer, self.params.max_length)
        targets = shape.targets(rows, examples)
        if requested is not None:
            weights = class_weights.weights(requested, shape.classes, targets)
            shown = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(shape.classes, weights, strict=True))
            print(f"  class weights: {shown}")
            shape = self.shape(weights)
        return shape, examples.labelled(targets)

    def _held_out(self, name: str) -> Measured:
        rows = labelled_set.split(self.data, name)
        return Measured(rows, self.shape().examples(rows, self.start.tokenizer, self.params.max_length))


@dataclass(frozen=True)
class TrainedSeed:
    """The results of training a seed; the test split was not read yet.

    Attributes:
        shape: of the model.
        steps: optimizer steps that were planned.
        dev: metric -> score of the weights that are kept.
        tuned: values chosen on dev.
        cost: of its training.
    """

    seed: int
    model: Any
    shape: Shape
    steps: int
    fitted: Fitted
    dev: dict[str, float]
    tuned: dict[str, float]
    cost: Cost


class ScoredSeed(NamedTuple):
    """A trained seed and its scores on test.

    Attributes:
        predictions: an Arrow table with a row for each row of the test split.
    """

    trained: TrainedSeed
    metrics: SeedMetrics
    predictions: pa.Table


def flop_of(params: Finetune, config: Any, counts: Mapping[str, int]) -> float:
    """Floating-point operations of a run; layers that are unfrozen during the run are counted as always
    trained."""
    below = 0 if params.freeze is None else layers_below(params.freeze, config.num_hidden_layers)
    passes = 1 if params.r_drop is None else 2
    return passes * training_flop(config, counts["tokens"], params.block_size, counts["places"], 0, below)


def train_seed(request: SeedRun, seed: int, savepoints: Savepoints, run: Run) -> TrainedSeed:
    """Train, resuming where an earlier process stopped."""
    params, rule = request.params, request.params.early_stopping
    model = request.start.model(
        request.shape.head,
        seed,
        **request.shape.config(),
        hidden_dropout_prob=params.dropout,
        attention_probs_dropout_prob=params.dropout,
        classifier_dropout=params.dropout,
    )
    shape = request.shape.extend(model)
    if params.freeze is not None:
        freeze(model, params.freeze)
    module = FineTuning(model, shape, params, request.steps, params.r_drop)
    plan = TrainingArguments(
        steps=request.steps,
        accumulate=request.accumulate,
        clip_norm=params.clip_norm,
        precision=params.precision,
        seed=seed,
        loss_name="train/loss",
        keep_best=None if rule is None else KeepBest(f"dev/{shape.metric}", rule.patience),
    )
    batches = _batches(request, seed, model.config.num_hidden_layers)
    fitted = fit(module, batches, plan, run, _measured_at(request, model, shape), savepoints)
    if rule is not None:
        print(
            f"  seed {seed}: kept is step {fitted.step:,}, the best on dev, of {fitted.curve[-1]['step']:,} that were"
            f" trained and {plan.steps:,} that were planned"
        )
    point_of_weights = next(point for point in fitted.curve if point["step"] == fitted.step)
    return TrainedSeed(
        seed=seed,
        model=model,
        shape=shape.fold_scale(model),
        steps=plan.steps,
        fitted=fitted,
        dev=_below("dev/", point_of_weights),
        tuned=_below(TUNED, point_of_weights),
        cost=request.cost(model.config, fitted.counts),
    )


def run_seed(request: SeedRun, seed: int, savepoints: Savepoints, run: Run) -> ScoredSeed:
    """Train a seed, read the test split, score the seed on it, and log its scores."""
    trained = train_seed(request, seed, savepoints, run)
    shape, held_out = trained.shape, request.held_out
    rows, examples = held_out.test
    scores = logits(trained.model, shape, examples, request.params.block_size, request.params.precision)
    answers, confidence, _ = shape.decode(rows, examples, scores, trained.tuned)
    gold = shape.gold(rows)
    curve = [CurvePoint.model_validate(point) for point in trained.fitted.curve]
    early = request.params.early_stopping is not None
    metrics = SeedMetrics(
        seed=seed,
        test=shape.score(gold, answers),
        dev=trained.dev,
        tuned=trained.tuned,
        degenerate=shape.is_degenerate(answers),
        cut=request.examples.cut,
        kept_step=trained.fitted.step if early else None,
        steps=curve[-1].step if early else None,
        curve=curve,
    )
    predictions = pa.table(
        {
            "seed": np.full(len(rows), seed),
            "id": [row["id"] for row in rows],
            "gold": [*map(written, gold)],
            "predicted": [*map(written, answers)],
            "confidence": confidence,
        }
    )
    tested = {f"test/{name}": score for name, score in metrics.test.items()}
    cut = {"dev/cut_share": held_out.dev.cut_share, "test/cut_share": held_out.test.cut_share}
    run.log_metrics({**tested, **cut}, trained.steps)
    return ScoredSeed(trained, metrics, predictions)


def _batches(request: SeedRun, seed: int, layers: int) -> Batches:
    params = request.params
    stream = LabelledBatches(request.examples, seed, params.micro_batch_size, params.block_size)
    if params.gradual_unfreezing is None:
        return stream
    return UnfreezingBatches(stream, params.gradual_unfreezing, request.accumulate, request.epoch, layers)


def _measured_at(request: SeedRun, model: Any, shape: Shape) -> dict[int, Measure]:
    """At the end of each epoch, and at the last step: scores on dev, and the values tuned on dev."""
    rows, examples = request.held_out.dev

    def measure(_step: int) -> dict[str, float]:
        scores = logits(model, shape, examples, request.params.block_size, request.params.precision)
        tuned = shape.tune(rows, examples, scores)
        dev = shape.score(shape.gold(rows), shape.decode(rows, examples, scores, tuned).answers)
        return {f"dev/{name}": value for name, value in dev.items()} | {
            f"{TUNED}{name}": value for name, value in tuned.items()
        }

    epochs = range(1, int(request.params.epochs) + 1)
    ends = [max(1, min(request.steps, round(number * request.epoch))) for number in epochs]
    return dict.fromkeys([*ends, request.steps], measure)


def _below(prefix: str, point: Mapping[str, float]) -> dict[str, float]:
    return {name.removeprefix(prefix): value for name, value in point.items() if name.startswith(prefix)}
