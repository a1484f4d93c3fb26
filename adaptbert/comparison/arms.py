"""The metrics and predictions of a task from one base -> its `Arm`s, and the study that their differences rest on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from adaptbert.comparison.inspection import never_predicted
from adaptbert.comparison.records import Arm, Checkpoint, LearningPoint, Run, Search, by_replicate, means
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
        arms: name -> its scores, in the order of params.yaml.
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
            arm: ArmRuns(by_replicate(self._runs(arm)), [rows.of_runs(path) for path in self.predictions(arm)] or None)
            for arm in dict.fromkeys(each.arm for each in self.planned.values())
        }
        self.study = Study(self.arms, rows.groups, confidence, limits(self.metric))

    def cell_tflop(self, seeds: int) -> float:
        """Operations of fine-tuning an arm with so many seeds; search and learning curve cost what they do now."""
        costs = [each.cost.tflop + (seeds - len(each.seeds)) * each.tflop for each in self.trained.values()]
        return mean(costs) if costs else 0.0

    def keys(self, arm: str) -> dict[int, str]:
        """Replicate -> the key of its entry in the plan."""
        return {each.replicate: key for key, each in self.planned.items() if each.arm == arm}

    def predictions(self, arm: str) -> list[Path]:
        """Files of all replicates with a result; empty where one of these files is missing."""
        paths = [self._folder / f"{key}.parquet" for key in self.keys(arm).values() if key in self.trained]
        return paths if all(map(Path.is_file, paths)) else []

    def arm(self, name: str, checkpoints: Mapping[str, Checkpoint]) -> Arm:
        """What the comparison tells of it.

        Args:
            checkpoints: by their folders.
        """
        keys, runs = self.keys(name), self._runs(name)
        on = [checkpoints[self.planned[key].checkpoint] for key in keys.values()]
        trained = {replicate: self.trained[key] for replicate, key in keys.items() if key in self.trained}
        seeds = [seed for each in trained.values() for seed in each.seeds]
        never, seldom = never_predicted(self.predictions(name), self.rows.task.target)
        accuracies = [seed.test["accuracy"] for seed in seeds if self.rows.task.target == "class"]
        return Arm(
            name=name,
            checkpoint=on[0].name,
            role=on[0].role,
            planned=keys,
            runs=runs,
            interval=self.study.mean(name) if runs else None,
            cost=next((each.first.total for each in on if each.first.total is not None), None),
            learning_curve=self._learning_curve(list(trained.values())),
            searches=[_search(replicate, each.search) for replicate, each in trained.items() if each.search],
            has_own_values=any(self.planned[key].has_own_values for key in keys.values()),
            run_tflop=mean(each.cost.tflop / len(each.seeds) for each in trained.values()) if trained else None,
            never_predicted=never,
            seldom_predicted=seldom,
            accuracy=mean(accuracies) if accuracies else None,
        )

    def _runs(self, arm: str) -> list[Run]:
        return [
            Run(replicate, seed.seed, seed.test[self.metric], seed.dev[self.metric], seed.degenerate)
            for replicate, key in self.keys(arm).items()
            if key in self.trained
            for seed in self.trained[key].seeds
        ]

    def _learning_curve(self, replicates: Sequence[CellMetrics]) -> list[LearningPoint]:
        by_labels: dict[int, list[dict[int, float]]] = {}
        for each in replicates:
            trained: list[FewerLabels | CellMetrics] = [*each.learning_curve, each] if each.learning_curve else []
            for point in trained:
                scores = {seed.seed: seed.test[self.metric] for seed in point.seeds}
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
