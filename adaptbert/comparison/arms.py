"""The metrics and predictions of a task from one base -> its `Arm`s, and the study that their differences rest on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from adaptbert.comparison.inspection import never_predicted
from adaptbert.comparison.records import Arm, Checkpoint, LearningPoint, Run, Search, means
from adaptbert.comparison.scores import ResampledRows
from adaptbert.config.plan import FINETUNE, Plan
from adaptbert.core.record import Cost
from adaptbert.statistics.intervals import mean_interval
from adaptbert.statistics.study import ArmRuns, Study
from adaptbert.tasks.metrics.cell_metrics import CellMetrics, SearchMetrics
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

    Args:
        checkpoints: by their folders.

    Attributes:
        rows: the test rows of the task.
        planned: key -> the entry of the plan: an arm on one replicate of its checkpoint.
        trained: the metrics of those that have a result.
        arms: in the order of params.yaml.
        runs: of each by its name; none of those that mostly failed.
        study: of these runs.
    """

    def __init__(
        self,
        plan: Plan,
        outputs: StageOutputs,
        task: str,
        base: str,
        rows: ResampledRows,
        confidence: float,
        checkpoints: Mapping[str, Checkpoint],
    ) -> None:
        self.task, self.base = task, base
        self.rows, self._predictions, self._confidence = rows, outputs.predictions, confidence
        self.planned = {key: each for key, each in plan.finetune.items() if (each.task, each.base) == (task, base)}
        paths = {key: outputs.metrics / FINETUNE / f"{key}.json" for key in self.planned}
        self.trained = {key: CellMetrics.read(path) for key, path in paths.items() if path.is_file()}
        self.metric, self.within = rows.metric, limits(rows.metric)
        arms = [self._arm(name, checkpoints) for name in dict.fromkeys(each.arm for each in self.planned.values())]
        every = {arm.name: self._runs(arm) for arm in arms}
        self.runs = {arm.name: ArmRuns({}) if arm.mostly_failed else every[arm.name] for arm in arms}
        self.study = Study(self.runs, rows.groups, confidence, self.within)
        alone = {arm.name: self.study.of({arm.name: every[arm.name]}) for arm in arms if arm.mostly_failed}
        intervals = {arm.name: alone.get(arm.name, self.study).mean(arm.name) for arm in arms if arm.runs}
        self.arms = [replace(arm, interval=intervals.get(arm.name)) for arm in arms]

    def cell_tflop(self, seeds: int) -> float:
        """Operations of fine-tuning an arm with so many seeds; search and learning curve cost what they do now."""
        costs = [each.cost.tflop + (seeds - len(each.seeds)) * each.tflop for each in self.trained.values()]
        return mean(costs) if costs else 0.0

    def predictions(self, arm: Arm) -> dict[Path, list[int]]:
        """Files of all replicates with a result -> the seeds that are counted; empty where one of these files is
        missing."""
        seeds = {self._predictions / f"{arm.planned[each]}.parquet": [*own] for each, own in arm.by_replicate.items()}
        return seeds if all(map(Path.is_file, seeds)) else {}

    def _runs(self, arm: Arm) -> ArmRuns:
        resampled = [self.rows.of_runs(path, seeds) for path, seeds in self.predictions(arm).items()]
        return ArmRuns(arm.by_replicate, resampled or None)

    def _arm(self, name: str, checkpoints: Mapping[str, Checkpoint]) -> Arm:
        """An arm but for its interval."""
        planned = {each.replicate: key for key, each in self.planned.items() if each.arm == name}
        trained = {replicate: self.trained[key] for replicate, key in planned.items() if key in self.trained}
        on = [checkpoints[self.planned[key].checkpoint] for key in planned.values()]
        seeds = [(replicate, seed) for replicate, each in trained.items() for seed in each.seeds]
        arm = Arm(
            name=name,
            checkpoint=on[0].name,
            role=on[0].role,
            planned=planned,
            runs=[Run(n, seed.seed, seed.test[self.metric], seed.dev[self.metric], seed.failed) for n, seed in seeds],
            interval=None,
            cost=next((each.first.total for each in on if each.first.total is not None), None),
            searches=[_search(replicate, each.search) for replicate, each in trained.items() if each.search],
            has_own_values=any(self.planned[key].has_own_values for key in planned.values()),
            run_tflop=mean(each.cost.tflop / len(each.seeds) for each in trained.values()) if trained else None,
        )
        target, tests = self.rows.task.target, {(replicate, seed.seed): seed.test for replicate, seed in seeds}
        never, seldom = never_predicted(self.predictions(arm), target)
        accuracies = [tests[run.replicate, run.seed]["accuracy"] for run in arm.counted if target == "class"]
        return replace(
            arm,
            learning_curve=self._learning_curve([*trained.values()], arm.scores),
            never_predicted=never,
            seldom_predicted=seldom,
            accuracy=mean(accuracies) if accuracies else None,
        )

    def _learning_curve(self, replicates: Sequence[CellMetrics], of_all: dict[int, float]) -> list[LearningPoint]:
        """Points of fewer labels, and the last one, of which `of_all` are the scores."""
        measured: dict[int, list[dict[int, float]]] = {}
        for each in replicates:
            for point in each.learning_curve or ():
                scores = {seed.seed: seed.test[self.metric] for seed in point.seeds}
                measured.setdefault(point.labels, []).append(scores)
        if measured:
            measured[replicates[0].labels] = [of_all]
        points = [(labels, dict(sorted(means(measured[labels]).items()))) for labels in sorted(measured)]
        return [
            LearningPoint(labels, scores, mean_interval([*scores.values()], self._confidence, self.within))
            for labels, scores in points
        ]


Results = Mapping[str, TaskResults]
"""The name of a `Task` -> its runs."""


def _search(replicate: int, search: SearchMetrics) -> Search:
    chosen, cost = search.trials[search.chosen - 1], Cost.total([search])
    values = chosen.learning_rate, chosen.global_batch_size, chosen.epochs
    return Search(replicate, len(search.trials), *values, cost)
