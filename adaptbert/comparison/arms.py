"""The metrics and predictions of a task from one base -> its `Arm`s, and the study that their differences rest on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from adaptbert.comparison.inspection import never_predicted
from adaptbert.comparison.records import (
    Arm,
    Checkpoint,
    LearningPoint,
    Run,
    Search,
    by_replicate,
    counted,
    means,
    mostly_failed,
)
from adaptbert.comparison.scores import ResampledRows
from adaptbert.config.plan import FINETUNE, Plan
from adaptbert.core.record import Cost
from adaptbert.statistics.intervals import mean_interval
from adaptbert.statistics.study import ArmRuns, Study
from adaptbert.tasks.metrics.cell_metrics import CellMetrics, SearchMetrics
from adaptbert.tasks.metrics.cell_metrics import LearningPoint as FewerLabels
from adaptbert.tasks.metrics.scoring import limits


@dataclass(frozen=True)
class StageOutputs:
    """The folders that the stages wrote: data/validated/tasks, data/raw, metrics and predictions."""

    data: Path
    manifests: Path
    metrics: Path
    predictions: Path


class TaskResults:
    """All runs of a task from one base.

    Attributes:
        rows: the test rows of the task.
        planned: key -> the entry of the plan: an arm on one replicate of its checkpoint.
        trained: the metrics of those that have a result.
        arms: name -> its scores, in the order of params.yaml; none of those that mostly failed.
        study: of these arms.
    """

    def __init__(
        self, plan: Plan, outputs: StageOutputs, task: str, base: str, rows: ResampledRows, confidence: float
    ) -> None:
        self.task, self.base, self.rows = task, base, rows
        self.planned = {key: each for key, each in plan.finetune.items() if (each.task, each.base) == (task, base)}
        paths = {key: outputs.metrics / FINETUNE / f"{key}.json" for key in self.planned}
        self.trained = {key: CellMetrics.read(path) for key, path in paths.items() if path.is_file()}
        self.metric, self._folder = rows.metric, outputs.predictions
        self.arms = {
            arm: ArmRuns({}) if mostly_failed(self._runs(arm)) else self._of(arm)
            for arm in dict.fromkeys(each.arm for each in self.planned.values())
        }
        self.study = self._study(self.arms, confidence)

    def cell_tflop(self, seeds: int) -> float:
        """Operations of fine-tuning an arm with so many seeds; search and learning curve cost what they do now."""
        costs = [each.cost.tflop + (seeds - len(each.seeds)) * each.tflop for each in self.trained.values()]
        return mean(costs) if costs else 0.0

    def keys(self, arm: str) -> dict[int, str]:
        """Replicate -> the key of its entry in the plan."""
        return {each.replicate: key for key, each in self.planned.items() if each.arm == arm}

    def predictions(self, arm: str) -> dict[Path, list[int]]:
        """Files of all replicates with a result -> the seeds that are counted; empty where one of these files is
        missing."""
        keys, runs = self.keys(arm), by_replicate(counted(self._runs(arm)))
        seeds = {self._folder / f"{keys[replicate]}.parquet": [*own] for replicate, own in runs.items()}
        return seeds if all(map(Path.is_file, seeds)) else {}

    def arm(self, name: str, checkpoints: Mapping[str, Checkpoint]) -> Arm:
        """What the comparison tells of it.

        Args:
            checkpoints: by their folders.
        """
        keys, runs = self.keys(name), self._runs(name)
        on = [checkpoints[self.planned[key].checkpoint] for key in keys.values()]
        trained = {replicate: self.trained[key] for replicate, key in keys.items() if key in self.trained}
        study = self._study({name: self._of(name)}, self.study.confidence) if mostly_failed(runs) else self.study
        never, seldom = never_predicted(self.predictions(name), self.rows.task.target)
        last = {(replicate, seed.seed): seed.test for replicate, each in trained.items() for seed in each.seeds}
        accuracies = [
            last[run.replicate, run.seed]["accuracy"] for run in counted(runs) if self.rows.task.target == "class"
        ]
        return Arm(
            name=name,
            checkpoint=on[0].name,
            role=on[0].role,
            planned=keys,
            runs=runs,
            interval=study.mean(name) if runs else None,
            cost=next((each.first.total for each in on if each.first.total is not None), None),
            learning_curve=self._learning_curve(list(trained.values())),
            searches=[_search(replicate, each.search) for replicate, each in trained.items() if each.search],
            has_own_values=any(self.planned[key].has_own_values for key in keys.values()),
            run_tflop=mean(each.cost.tflop / len(each.seeds) for each in trained.values()) if trained else None,
            never_predicted=never,
            seldom_predicted=seldom,
            accuracy=mean(accuracies) if accuracies else None,
        )

    def _study(self, arms: Mapping[str, ArmRuns], confidence: float) -> Study:
        return Study(arms, self.rows.groups, confidence, limits(self.metric))

    def _of(self, arm: str) -> ArmRuns:
        resampled = [self.rows.of_runs(path, seeds) for path, seeds in self.predictions(arm).items()]
        return ArmRuns(by_replicate(counted(self._runs(arm))), resampled or None)

    def _runs(self, arm: str) -> list[Run]:
        return [
            Run(replicate, seed.seed, seed.test[self.metric], seed.dev[self.metric], seed.failed)
            for replicate, key in self.keys(arm).items()
            if key in self.trained
            for seed in self.trained[key].seeds
        ]

    def _learning_curve(self, replicates: Sequence[CellMetrics]) -> list[LearningPoint]:
        by_labels: dict[int, list[dict[int, float]]] = {}
        for each in replicates:
            trained: list[FewerLabels | CellMetrics] = [*each.learning_curve, each] if each.learning_curve else []
            for point in trained:
                seeds = point.learned if isinstance(point, CellMetrics) else point.seeds
                scores = {seed.seed: seed.test[self.metric] for seed in seeds}
                by_labels.setdefault(point.labels, []).append(scores)
        points = []
        for labels, measured in sorted(by_labels.items()):
            scores = dict(sorted(means(measured).items()))
            interval = mean_interval(list(scores.values()), self.study.confidence, limits(self.metric))
            points.append(LearningPoint(labels, scores, interval))
        return points


Results = Mapping[tuple[str, str], TaskResults]
"""Task and base -> its runs."""


def _search(replicate: int, search: SearchMetrics) -> Search:
    chosen, cost = search.trials[search.chosen - 1], Cost.total([search])
    values = chosen.learning_rate, chosen.global_batch_size, chosen.epochs
    return Search(replicate, len(search.trials), *values, cost)
