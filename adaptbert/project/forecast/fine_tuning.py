"""The speed of fine-tuning on each task, and what a cell takes."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adaptbert.comparison.forecasts import Rate
from adaptbert.finetuning.cell_config import CellConfig
from adaptbert.finetuning.heldout_rows import HeldOutRows
from adaptbert.finetuning.seed_inputs import SeedInputs
from adaptbert.finetuning.seed_run import SeedRun, flop_of, train_seed
from adaptbert.finetuning.tasks.shapes import shape_of
from adaptbert.model.precision import chosen as precision_of
from adaptbert.project.forecast.trials import WARM_UP, Speedometer, Weights
from adaptbert.project.one_start import VALIDATED, OneStart
from adaptbert.rows import labelled_set
from adaptbert.rows.task_description import TaskDescription
from adaptbert.training import distributed
from adaptbert.training.savepoints import Savepoints

STEPS = 20
"""That are timed."""


@dataclass(frozen=True)
class CellPrice:
    """What one cell takes.

    Attributes:
        runs: trainings of it: seeds, trials of a search, points of a learning curve.
        tflop: of all of them.
    """

    runs: int
    tflop: float
    rate: Rate


def price_of(inputs: OneStart, weights: Weights, key: str) -> CellPrice:
    """Fine-tune some steps of a cell, and extend them to all its runs; only training and dev rows are read."""
    cell = inputs.cells()[key]
    values = inputs.values("finetune", **cell.names())
    values = values.model_copy(update={"precision": precision_of(values.precision)})
    request = _request(weights, cell.task, values)
    print(f"trial of fine-tuning on {cell.task}: {WARM_UP} steps that do not count, then {STEPS}", flush=True)
    _time(request, weights, WARM_UP)
    tflop_per_step, seconds = _time(request, weights, STEPS)
    rate = Rate(
        training=f"finetune/{cell.task}",
        steps=STEPS,
        seconds_per_step=seconds,
        tflop_per_second=tflop_per_step / seconds / distributed.count(request.accumulate),
    )
    runs, full_runs = _runs(values, labelled_set.used(_pool(cell.task), values.labels))
    return CellPrice(runs, full_runs * request.steps * tflop_per_step, rate)


def _pool(task: str) -> list[dict[str, Any]]:
    return labelled_set.split(VALIDATED / "tasks" / task, "train")


def _request(weights: Weights, task: str, values: CellConfig) -> SeedRun:
    """The inputs of the first seed."""
    folder = VALIDATED / "tasks" / task
    described = TaskDescription.read(folder)
    shape = shape_of(described, values.options())
    tokenizer = weights.checkpoint.tokenizer
    held_out = HeldOutRows(folder, lambda rows: shape.examples(rows, tokenizer, values.max_length))
    return SeedInputs(weights.checkpoint, described, _pool(task), held_out).of(values.seeds[0], values)


def _time(request: SeedRun, weights: Weights, steps: int) -> tuple[float, float]:
    """TFLOP and seconds of an optimizer step."""
    epochs = steps * request.params.global_batch_size / len(request.examples)
    # The measured steps are of the whole encoder and of nothing that ends a run early.
    changes = {"epochs": epochs, "early_stopping": None, "gradual_unfreezing": None}
    short = SeedRun(
        request.start,
        request.params.model_copy(update=changes),
        request.shape,
        request.examples,
        request.held_out,
    )
    speed = Speedometer()
    with TemporaryDirectory(dir=weights.work) as folder:
        trained = train_seed(short, request.params.seeds[0], Savepoints(Path(folder)), speed)
    counts = trained.fitted.counts
    flop = flop_of(request.params, trained.model.config, counts)
    return flop / 1e12 / short.steps, counts["tokens"] / speed.tokens_per_second / short.steps


def _runs(values: CellConfig, labels: int) -> tuple[int, float]:
    """Trainings of a cell, and to how many on all its labels they amount; a trial with other epochs counts as one."""
    seeds, curve = len(values.seeds), values.label_counts or []
    search = values.search
    trials = 0 if search is None else search.seeds * search.trials
    shares = sum(min(1.0, count / labels) for count in curve)
    return seeds * (1 + len(curve)) + trials, seeds * (1 + shares) + trials
