"""One seed of a cell: training from a checkpoint with dev scores by epoch; then one evaluation on test."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from adaptbert.core.record import CurvePoint
from adaptbert.data.targets import written
from adaptbert.runtime.tracking.run import Run
from adaptbert.tasks.metrics.cell_metrics import Cost, SeedMetrics
from adaptbert.tasks.module import FineTuning, LabelledBatches, UnfreezingBatches, logits
from adaptbert.tasks.options.freezing import freeze
from adaptbert.tasks.seed_inputs import SeedRun
from adaptbert.tasks.shape import Shape
from adaptbert.training.arguments import Batches, Fitted, Measure, TrainingArguments
from adaptbert.training.early_stopping import KeepBest
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints

TUNED = "tuned/"  # prefix of values chosen on dev on a curve


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


@dataclass(frozen=True)
class ScoredSeed:
    """A trained seed and its scores on test.

    Attributes:
        predictions: an Arrow table with a row for each row of the test split.
        cut_shares: split -> share of its rows that were cut.
    """

    trained: TrainedSeed
    metrics: SeedMetrics
    predictions: pa.Table
    cut_shares: dict[str, float]


def train_seed(request: SeedRun, seed: int, savepoints: Savepoints, run: Run) -> TrainedSeed:
    """Train, resuming where an earlier process stopped."""
    params = request.params
    model = request.start.model(
        request.shape.hugging_face_class(),
        seed,
        **request.shape.config(),
        hidden_dropout_prob=params.dropout,
        attention_probs_dropout_prob=params.dropout,
        classifier_dropout=params.dropout,
    )
    shape = request.shape.extend(model)
    if params.freeze is not None:
        freeze(model, params.freeze)
    module = FineTuning(model, shape, params.optim, request.steps, params.r_drop)
    batches = _batches(request, seed, model.config.num_hidden_layers)
    plan = _plan(request, seed, shape)
    fitted = fit(module, batches, plan, run, _measured_at(request, model, shape), savepoints)
    if plan.keep_best is not None:
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


def score_seed(request: SeedRun, trained: TrainedSeed) -> ScoredSeed:
    """Read the test split and score the seed on it."""
    shape, tuned = trained.shape, trained.tuned
    dev, dev_examples = request.held_out.dev
    rows, examples = request.held_out.test
    scores = logits(trained.model, shape, examples, request.params.block_size, request.params.precision)
    answers, confidence = shape.answers(rows, examples, scores, tuned)
    gold = shape.gold(rows)
    curve = [CurvePoint.model_validate(point) for point in trained.fitted.curve]
    early = request.params.early_stopping is not None
    metrics = SeedMetrics(
        seed=trained.seed,
        test=shape.score(gold, answers),
        dev=trained.dev,
        tuned=tuned,
        degenerate=shape.is_degenerate(answers),
        cut=request.examples.cut,
        kept_step=trained.fitted.step if early else None,
        steps=curve[-1].step if early else None,
        curve=curve,
    )
    predictions = pa.table(
        {
            "seed": np.full(len(rows), trained.seed),
            "id": [row["id"] for row in rows],
            "gold": [*map(written, gold)],
            "predicted": [*map(written, answers)],
            "confidence": confidence,
        }
    )
    cut_shares = {"dev": dev_examples.cut / len(dev), "test": examples.cut / len(rows)}
    return ScoredSeed(trained, metrics, predictions, cut_shares)


def run_seed(request: SeedRun, seed: int, savepoints: Savepoints, run: Run) -> ScoredSeed:
    """Train a seed, score it, and log its scores."""
    trained = train_seed(request, seed, savepoints, run)
    scored = score_seed(request, trained)
    tested = {f"test/{name}": score for name, score in scored.metrics.test.items()}
    cut = {f"{split}/cut_share": share for split, share in scored.cut_shares.items()}
    run.log_metrics({**tested, **cut}, trained.steps)
    return scored


def _batches(request: SeedRun, seed: int, layers: int) -> Batches:
    params = request.params
    stream = LabelledBatches(request.examples, seed, params.micro_batch_size, params.block_size)
    if params.gradual_unfreezing is None:
        return stream
    return UnfreezingBatches(stream, params.gradual_unfreezing, request.accumulate, request.epoch, layers)


def _plan(request: SeedRun, seed: int, shape: Shape) -> TrainingArguments:
    params, rule = request.params, request.params.early_stopping
    return TrainingArguments(
        steps=request.steps,
        accumulate=request.accumulate,
        clip_norm=params.optim.clip_norm,
        precision=params.precision,
        seed=seed,
        loss_name="train/loss",
        keep_best=None if rule is None else KeepBest(f"dev/{shape.metric}", rule.patience),
    )


def _measured_at(request: SeedRun, model: Any, shape: Shape) -> dict[int, Measure]:
    """At the end of each epoch, and at the last step: scores on dev, and the values tuned on dev."""
    rows, examples = request.held_out.dev

    def measure(_step: int) -> dict[str, float]:
        scores = logits(model, shape, examples, request.params.block_size, request.params.precision)
        tuned = shape.tune(rows, examples, scores)
        answers, _ = shape.answers(rows, examples, scores, tuned)
        dev = shape.score(shape.gold(rows), answers)
        return {f"dev/{name}": value for name, value in dev.items()} | {
            f"{TUNED}{name}": value for name, value in tuned.items()
        }

    epochs = range(1, int(request.params.epochs) + 1)
    ends = [max(1, min(request.steps, round(number * request.epoch))) for number in epochs]
    return dict.fromkeys([*ends, request.steps], measure)


def _below(prefix: str, point: Mapping[str, float]) -> dict[str, float]:
    return {name.removeprefix(prefix): value for name, value in point.items() if name.startswith(prefix)}
