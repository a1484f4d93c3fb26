"""forecasts/<start>.json, and what has been trained since -> `ForecastOutcome`s."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from adaptbert.base.expansion import DOMAIN_TRANSFER, PRETRAIN, TASK_TRANSFER, Cell, Expansion
from adaptbert.comparison.forecast_outcomes import ForecastOutcome, GainOutcome, PriceOutcome
from adaptbert.comparison.forecasts import Forecast, Price, path_of
from adaptbert.comparison.records import Task
from adaptbert.comparison.rungs import Rung
from adaptbert.finetuning.metrics.cell_metrics import CellMetrics

CELLS = "finetune"
NEAR, ROUNDED = 0.1, 0.001
"""Share of the forecast TFLOP by which an output may differ before it is named, and to how many TFLOP each of its runs
was rounded."""


def read_forecasts(ladder: Expansion, folder: Path) -> list[Forecast]:
    """Of the starts that have one."""
    paths = [path_of(start, folder) for start in ladder.pretrain]
    return [Forecast.read(path) for path in paths if path.is_file()]


def outcome_of(
    forecast: Forecast,
    ladder: Expansion,
    tasks: Iterable[Task],
    rungs: Mapping[str, Rung],
    trained: Mapping[str, CellMetrics],
) -> ForecastOutcome:
    """Set a forecast beside what has been trained since.

    Args:
        tasks: judged, of all starts.
        rungs: folder below models/ -> the rung.
        trained: key of a cell -> its metrics.
    """
    before = {price.key for price in forecast.prices if price.stage == CELLS and price.trained}
    gains, unrecorded = [], dict[str, None]()
    for task in tasks:
        if task.start != forecast.start:
            continue
        for step in task.steps:
            cells = [key for key, cell in ladder.finetune.items() if _is_of(cell, task, (step.arm, step.other))]
            named = [each for each in forecast.facts.ranges if each.question in (step.name, step.question)]
            if step.primary and step.difference is not None:
                made_before = before.isdisjoint(cells)
                unrecorded |= {} if named else {step.name: None}
                gains += [GainOutcome(task.name, step.name, each, step.difference, made_before) for each in named]
    return ForecastOutcome(forecast, _price(forecast, ladder, rungs, trained), gains, list(unrecorded))


def _is_of(cell: Cell, task: Task, arms: Sequence[str]) -> bool:
    return (cell.task, cell.start) == (task.task, task.start) and cell.arm in arms


def _price(
    forecast: Forecast, ladder: Expansion, rungs: Mapping[str, Rung], trained: Mapping[str, CellMetrics]
) -> PriceOutcome:
    planned, general = _planned(ladder, forecast.start), f"{PRETRAIN}/{forecast.start}"
    due = {f"{price.stage}/{price.key}": price for price in forecast.prices if not price.trained}
    measured = {path: cell.cost.tflop for key, cell in trained.items() if (path := f"{CELLS}/{key}") in due}
    measured |= {path: rung.tflop for path, rung in rungs.items() if path in due and not rung.missing}
    done = [due[path] for path in measured]
    ended = [path for path in measured if (rung := rungs.get(path)) and rung.name in rung.ended_early]
    others = [path for path in measured if path not in ended]
    return PriceOutcome(
        outputs=len(done),
        missing=len(due.keys() & {*planned, general} - measured.keys()),
        dropped=len(due.keys() - planned - {general} - measured.keys()),
        added=len(planned - {f"{price.stage}/{price.key}" for price in forecast.prices}),
        ended_early=ended,
        differing=[path for path in others if _differs(due[path], measured[path])],
        forecast=sum(price.tflop for price in done),
        measured=sum(measured.values()),
        minutes=sum(price.minutes for price in done),
    )


def _differs(forecast: Price, measured: float) -> bool:
    return abs(measured - forecast.tflop) > NEAR * forecast.tflop + ROUNDED * max(1, forecast.runs)


def _planned(ladder: Expansion, start: str) -> set[str]:
    """Rungs above general pre-training and cells of a start, by their folders below models/."""
    rungs = {
        *(f"{DOMAIN_TRANSFER}/{key}" for key, rung in ladder.domain_transfer.items() if rung.start == start),
        *(f"{TASK_TRANSFER}/{key}" for key, rung in ladder.task_transfer.items() if rung.start == start),
    }
    cells = {f"{CELLS}/{key}" for key, cell in ladder.finetune.items() if cell.start == start}
    return rungs | cells
