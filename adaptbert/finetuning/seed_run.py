"""One seed of a cell: trained from a checkpoint, measured on dev by epochs, and scored on test at the end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptbert.rows.targets import written
from adaptbert.runtime.tracking.run import Run
from adaptbert.training.document_stream import BudgetConfig

if TYPE_CHECKING:
    from adaptbert.finetuning.cell_config import CellConfig
    from adaptbert.finetuning.heldout_rows import HeldOutRows
    from adaptbert.finetuning.tasks.examples import Examples
    from adaptbert.finetuning.tasks.shapes import Shape
    from adaptbert.model.checkpoint import Checkpoint
    from adaptbert.training.savepoints import Savepoints

TUNED = "tuned/"  # what the names of values chosen on dev begin with on a curve


@dataclass(frozen=True)
class Trained:
    """What a seed leaves.

    Attributes:
        predictions: an Arrow table with a row for each row of the test split; None where it stayed closed.
        counts: sums over all micro-batches.
        ids: split -> the rows that scores are of.
    """

    model: Any
    metrics: dict[str, Any]
    predictions: Any
    steps: int
    counts: dict[str, int]
    ids: dict[str, list[str]]


def one_seed(
    start: "Checkpoint",
    params: "CellConfig",
    shape: "Shape",
    examples: "Examples",
    held_out: "HeldOutRows",
    seed: int,
    savepoints: "Savepoints",
    run: Run,
    *,
    test: bool = True,
) -> Trained:
    """Train, and open the test split last; without `test` not at all."""
    import numpy as np
    import pyarrow as pa

    from adaptbert.finetuning import temperature
    from adaptbert.finetuning.freezing import freeze
    from adaptbert.finetuning.module import FineTuning, LabelledBatches, Thawing, logits
    from adaptbert.training.early_stopping import Best
    from adaptbert.training.loop import fit
    from adaptbert.training.plan import Plan

    model = start.model(
        shape.hugging_face_class(),
        seed,
        **shape.config(),
        hidden_dropout_prob=params.dropout,
        attention_probs_dropout_prob=params.dropout,
        classifier_dropout=params.dropout,
    )
    steps = BudgetConfig(passes=float(params.epochs)).optimizer_steps(len(examples), params.global_batch_size)
    shape = shape.extend(model)
    if params.freeze is not None:
        freeze(model, params.freeze)
    module = FineTuning(model, shape, params.optim, steps, params.r_drop or params.adversarial)
    accumulate, epoch = params.global_batch_size // params.micro_batch_size, len(examples) / params.global_batch_size
    stream = LabelledBatches(examples, seed, params.micro_batch_size, params.block_size)
    thaw, layers = params.gradual_unfreezing, model.config.num_hidden_layers
    batches = stream if thaw is None else Thawing(stream, thaw, accumulate, epoch, layers)

    def scores(shape: "Shape", examples: "Examples") -> Any:
        return logits(model, shape, examples, params.block_size, params.precision)

    dev, dev_examples = held_out.dev

    def measure(step: int) -> Mapping[str, float]:
        found = scores(shape, dev_examples)
        tuned = shape.tune(dev, dev_examples, found)
        answers, _ = shape.answers(dev, dev_examples, found, tuned)
        tuned |= temperature.fitted(shape, dev, dev_examples, found)
        measured = shape.score(shape.gold(dev), answers)
        return {f"dev/{name}": value for name, value in measured.items()} | {
            f"{TUNED}{name}": value for name, value in tuned.items()
        }

    ends = [max(1, min(steps, round(number * epoch))) for number in range(1, int(params.epochs) + 1)]
    measured_at = dict.fromkeys([*ends, steps], measure)
    plan = Plan(steps, accumulate, params.optim.clip_norm, params.precision, seed, "train/loss")
    rule = params.early_stopping
    best = None if rule is None else Best(f"dev/{shape.metric}", rule.patience)

    def flop(counts: Mapping[str, int]) -> float:
        return flop_of(params, shape, model.config, counts)

    fitted = fit(module, batches, plan, run, measured_at, savepoints, flop, best)

    shape = shape.fold_scale(model)
    last = next(point for point in fitted.curve if point["step"] == fitted.step)
    if best is not None:
        print(
            f"  seed {seed}: kept is step {fitted.step:,}, the best on dev, of {fitted.curve[-1]['step']:,} that were"
            f" trained and {steps:,} that were planned"
        )
    tuned = {name.removeprefix(TUNED): value for name, value in last.items() if name.startswith(TUNED)}

    if not test:
        dev_scores = {name: value for name, value in last.items() if name.startswith("dev/")}
        return Trained(model, {"seed": seed, **dev_scores}, None, steps, fitted.counts, {})

    rows, test_examples = held_out.test
    found = scores(shape, test_examples)
    answers, confidence = shape.answers(rows, test_examples, found, tuned)
    gold = shape.gold(rows)
    tested = {f"test/{name}": value for name, value in shape.score(gold, answers).items()}
    cut = {"dev/cut_share": dev_examples.cut / len(dev), "test/cut_share": test_examples.cut / len(rows)}
    run.log_metrics({**tested, **cut}, steps)
    metrics = {
        "seed": seed,
        **tested,
        **{name: value for name, value in last.items() if name.startswith("dev/")},
        "tuned": tuned,
        **temperature.judged(shape, rows, test_examples, found, tuned),
        "degenerate": shape.is_degenerate(answers),
        "cut": examples.cut,
        **({} if best is None else {"kept_step": fitted.step, "steps": fitted.curve[-1]["step"]}),
    }
    return Trained(
        model,
        {**metrics, "curve": fitted.curve},
        pa.table(
            {
                "seed": np.full(len(rows), seed),
                "id": [row["id"] for row in rows],
                "gold": [*map(written, gold)],
                "predicted": [*map(written, answers)],
                "confidence": confidence,
            }
        ),
        steps,
        fitted.counts,
        {"dev": [row["id"] for row in dev], "test": [row["id"] for row in rows]},
    )


def flop_of(params: "CellConfig", shape: "Shape", config: Any, counts: Mapping[str, int]) -> float:
    """Floating-point operations of a run; layers that thaw in its course are counted as if they had always learnt."""
    from adaptbert.model.flops import training_flop

    below = 0 if params.freeze is None else params.freeze.below(config.num_hidden_layers)
    second = params.r_drop or params.adversarial
    needed = counts["tokens"] if shape.pooling.mean else counts["places"]
    passes = 1 if second is None else second.passes
    return passes * training_flop(config, counts["tokens"], params.block_size, needed, 0, below)
