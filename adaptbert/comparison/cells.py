"""The metrics of cells -> `Arm`s: the draws of an arm together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from adaptbert.comparison.records import Arm, LearningPoint, Search
from adaptbert.comparison.rungs import Cost, Rung
from adaptbert.config.plan import Entry, Plan
from adaptbert.statistics.intervals import mean_interval
from adaptbert.statistics.study import TaskStudy
from adaptbert.tasks.metrics.cell_metrics import CellMetrics, FewerLabelsSeed, SearchMetrics, SeedMetrics
from adaptbert.tasks.metrics.scoring import limits


@dataclass(frozen=True)
class Cells:
    """The cells of a task from one start, by key; `trained`: those with metrics."""

    task: str
    start: str
    planned: dict[str, Entry]
    trained: dict[str, CellMetrics]

    @property
    def arms(self) -> list[str]:
        """By name, in the order of params.yaml."""
        return list(dict.fromkeys(cell.arm for cell in self.planned.values()))

    def of(self, arm: str) -> dict[int, str]:
        """Draw -> key."""
        return {cell.replicate: key for key, cell in self.planned.items() if cell.arm == arm}


def cells_of(plan: Plan, metrics: Path, task: str, start: str) -> Cells:
    """Args:
    metrics: folder of the metrics.
    """
    planned = {key: cell for key, cell in plan.finetune.items() if (cell.task, cell.base) == (task, start)}
    paths = {key: metrics / "finetune" / f"{key}.json" for key in planned}
    trained = {key: CellMetrics.read(path) for key, path in paths.items() if path.is_file()}
    return Cells(task, start, planned, trained)


def read_arm(arm: str, cells: Cells, rungs: Mapping[str, Rung], metric: str, of_task: TaskStudy) -> Arm:
    """The draws of an arm together: a seed has their mean."""
    planned = cells.of(arm)
    draws = {draw: cells.trained[key] for draw, key in planned.items() if key in cells.trained}
    by_draw = of_task.arms[arm].runs
    scores = _means(list(by_draw.values()))
    below = [rungs[cells.planned[key].checkpoint] for key in planned.values()]
    return Arm(
        name=arm,
        rung=below[0].group,
        role=below[0].role,
        scores=scores,
        dev=_means([{seed.seed: seed.dev[metric] for seed in cell.seeds} for cell in draws.values()]),
        planned=list(planned),
        by_draw=by_draw,
        interval=of_task.study.mean(arm) if scores else None,
        degenerate=[(draw, seed.seed) for draw, cell in draws.items() for seed in cell.seeds if seed.degenerate],
        cost=next((rung.total for rung in below if rung.total is not None), None),
        learning_curve=_learning_curve(draws, metric, of_task.study.confidence),
        has_own_values=any(cells.planned[key].has_own_values for key in planned.values()),
        run_tflop=mean(cell.cost.tflop / len(cell.seeds) for cell in draws.values()) if draws else None,
        searches={draw: _search(cell.search) for draw, cell in draws.items() if cell.search is not None},
    )


def _means(draws: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Seed -> mean over the draws that have it."""
    seeds = sorted({seed for scores in draws for seed in scores})
    return {seed: mean(scores[seed] for scores in draws if seed in scores) for seed in seeds}


def _search(search: SearchMetrics) -> Search:
    return Search(len(search.trials), search.trials[search.chosen - 1], Cost(search.tokens, search.tflop))


def _scores(seeds: Iterable[SeedMetrics | FewerLabelsSeed], metric: str) -> dict[int, float]:
    return {seed.seed: seed.test[metric] for seed in seeds}


def _learning_curve(draws: Mapping[int, CellMetrics], metric: str, confidence: float) -> list[LearningPoint]:
    by_labels: dict[int, dict[int, dict[int, float]]] = {}
    for draw, cell in draws.items():
        if cell.learning_curve is not None:
            for point in cell.learning_curve:
                by_labels.setdefault(point.labels, {})[draw] = _scores(point.seeds, metric)
            by_labels.setdefault(cell.labels, {})[draw] = _scores(cell.seeds, metric)
    means = {labels: _means(list(runs.values())) for labels, runs in by_labels.items()}
    return [
        LearningPoint(labels, scores, mean_interval(list(scores.values()), confidence, limits(metric)))
        for labels, scores in sorted(means.items())
    ]
