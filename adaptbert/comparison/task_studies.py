"""The cells of a task and their predictions -> its `TaskStudy`: all runs, scored on resampled test rows as well."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from adaptbert.comparison.cells import Cells
from adaptbert.comparison.evaluation.baselines import Baselines
from adaptbert.comparison.evaluation.predictions import read_predictions
from adaptbert.comparison.evaluation.resampled_scores import Scorer, scorer
from adaptbert.data import labelled_set
from adaptbert.data.layout import Layout
from adaptbert.data.task_description import TaskDescription
from adaptbert.statistics.rows import Floats, resampled_weights
from adaptbert.statistics.study import ArmRuns, TaskStudy, of_arms
from adaptbert.tasks.metrics.scoring import COMPARED_BY, SCORING, limits, right_answers


@dataclass(frozen=True)
class BaselineRuns:
    """Of one baseline of a task.

    Attributes:
        scores: seed -> score on test.
        resampled: its score on resampled test rows.
    """

    scores: Mapping[int, float]
    resampled: Floats


class ResampledRows:
    """The test rows of a task, resampled once for everything that answered them.

    Args:
        data: folder of the labelled set.
        mapped: id of a row -> the group that the user's files give it.

    Attributes:
        groups: how many are drawn: groups, and rows that are in none.
        are_grouped: whether rows belong together by the user's files or by a text that they share.
    """

    def __init__(self, task: TaskDescription, data: Path, mapped: Mapping[str, str]) -> None:
        rows = labelled_set.split(data, "test")
        shared = Layout(task.task_type).shared
        groups = [
            mapped[row["id"]] if row["id"] in mapped else tuple(map(str, (row[column] for column in shared)))
            for row in rows
        ]
        self.groups = len(set(groups))
        self.are_grouped = bool(mapped) or shared != Layout(task.task_type).inputs
        self._task, self._rows = task, rows
        self.target = task.target
        self._scorer: Scorer = scorer(
            task.target, right_answers(rows, task.target), resampled_weights(groups, seed=crc32(data.name.encode()))
        )

    def of_cell(self, predictions: Path) -> Floats:
        """The scores of the cell's seeds, (seeds, resamples)."""
        by_seed = read_predictions(predictions, self._task.target)
        order = {row["id"]: place for place, row in enumerate(self._rows)}
        placed = [sorted(answers, key=lambda answer: order[answer.id]) for answers in by_seed.values()]
        return np.array([self._scorer([answer.predicted for answer in answers]) for answers in placed])

    def of_baselines(self, baselines: Baselines) -> dict[str, BaselineRuns]:
        """By name."""
        gold, metric = right_answers(self._rows, self._task.target), COMPARED_BY[self._task.target]
        results = {}
        for name, by_seed in baselines.answers.items():
            first = next(iter(by_seed.values()))
            distinct = [first] if all(answers is first for answers in by_seed.values()) else list(by_seed.values())
            scored = [SCORING[self._task.target].score(gold, answers, self._task)[metric] for answers in distinct]
            scores = dict(zip(by_seed, scored * (len(by_seed) // len(scored)), strict=True))
            results[name] = BaselineRuns(scores, np.mean([self._scorer(answers) for answers in distinct], 0))
        return results


def task_study(cells: Cells, metric: str, rows: ResampledRows, predictions: Path, confidence: float) -> TaskStudy:
    """Of the cells that have results.

    Args:
        predictions: folder of the cells' predictions.
    """
    arms = {arm: _runs_of(arm, cells, metric, rows, predictions) for arm in cells.arms}
    costs = [cell.cost.tflop / len(cell.seeds) for cell in cells.trained.values()]
    study = of_arms(arms, rows.groups, confidence, limits(metric))
    return TaskStudy(arms, study, rows.groups, sum(costs) / max(1, len(costs)))


def _runs_of(arm: str, cells: Cells, metric: str, rows: ResampledRows, predictions: Path) -> ArmRuns:
    draws = {draw: key for draw, key in cells.of(arm).items() if key in cells.trained}
    runs = {draw: {seed.seed: seed.test[metric] for seed in cells.trained[key].seeds} for draw, key in draws.items()}
    files = [predictions / f"{key}.parquet" for key in draws.values()]
    if not files or not all(map(Path.is_file, files)):
        return ArmRuns(runs, None)
    return ArmRuns(runs, [rows.of_cell(file) for file in files])
