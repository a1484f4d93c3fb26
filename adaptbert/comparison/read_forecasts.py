"""forecasts/<start>.json, and what has been trained since -> `ForecastOutcome`s."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from adaptbert.base.expansion import Cell, Expansion
from adaptbert.comparison.forecast_outcomes import ForecastOutcome, GainOutcome, PriceOutcome
from adaptbert.comparison.forecasts import Forecast, Price, path_of
from adaptbert.comparison.records import Task
from adaptbert.comparison.rungs import Rung
from adaptbert.finetuning.metrics.cell_metrics import CellMetrics


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
    before = {price.key for price in forecast.prices if price.stage == "finetune" and price.trained}
    gains = []
    for task in tasks:
        if task.start != forecast.start:
            continue
        for step in task.steps:
            cells = [key for key, cell in ladder.finetune.items() if _is_of(cell, task, (step.arm, step.other))]
            named = [each for each in forecast.facts.ranges if each.question in (step.name, step.question)]
            if step.primary and step.difference is not None:
                made_before = before.isdisjoint(cells)
                gains += [GainOutcome(task.name, step.name, each, step.difference, made_before) for each in named]
    return ForecastOutcome(forecast, _price(forecast.prices, rungs, trained), gains)


def _is_of(cell: Cell, task: Task, arms: Sequence[str]) -> bool:
    return (cell.task, cell.start) == (task.task, task.start) and cell.arm in arms


def _price(prices: Iterable[Price], rungs: Mapping[str, Rung], trained: Mapping[str, CellMetrics]) -> PriceOutcome:
    due = [price for price in prices if not price.trained]
    measured = {}
    for price in due:
        rung, cell = rungs.get(f"{price.stage}/{price.key}"), trained.get(price.key)
        if price.stage == "finetune" and cell is not None:
            measured[price.stage, price.key] = cell.cost.tflop
        elif rung is not None and not rung.missing:
            measured[price.stage, price.key] = rung.tflop
    done = [price for price in due if (price.stage, price.key) in measured]
    return PriceOutcome(
        outputs=len(done),
        missing=len(due) - len(done),
        forecast=sum(price.tflop for price in done),
        measured=sum(measured.values()),
        minutes=sum(price.minutes for price in done),
    )
