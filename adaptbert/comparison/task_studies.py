"""The cells of a task and their predictions -> its `TaskStudy`: all runs, scored on resampled test rows as well."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from adaptbert.comparison.cells import Cells
from adaptbert.comparison.evaluation.baselines import Baselines
from adaptbert.comparison.evaluation.flips import RowFacts
from adaptbert.comparison.evaluation.predictions import judge, read_predictions
from adaptbert.comparison.evaluation.resampled_scores import Scorer, scorer
from adaptbert.comparison.evaluation.word_vectors import words_of
from adaptbert.comparison.statistics.rows import Floats, resampled_weights
from adaptbert.comparison.statistics.study import ArmRuns, TaskStudy, of_arms
from adaptbert.finetuning.metrics.targets import COMPARED_BY, SCORING, limits, right_answers
from adaptbert.rows import labelled_set
from adaptbert.rows import parquet as tables
from adaptbert.rows.layout import Layout
from adaptbert.rows.targets import TARGETS
from adaptbert.rows.task_description import TaskDescription


@dataclass(frozen=True)
class BaselineRuns:
    """Of one baseline of a task.

    Attributes:
        scores: seed -> score on test.
        resampled: its score on resampled test rows.
    """

    scores: Mapping[int, float]
    resampled: Floats


@dataclass(frozen=True)
class CellRows:
    """What a cell answered.

    Attributes:
        resampled: the scores of its seeds on resampled test rows, (seeds, resamples).
        right: for each row the share of seeds that answer it rightly; None where no answer is simply right.
    """

    resampled: Floats
    right: Floats | None


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
        self._task, self._rows, self._data = task, rows, data
        self.target = task.target
        self._scorer: Scorer = scorer(
            task.target, right_answers(rows, task.target), resampled_weights(groups, seed=crc32(data.name.encode()))
        )

    def of_cell(self, predictions: Path) -> CellRows:
        """What a cell answered."""
        by_seed = read_predictions(predictions, self._task.target)
        is_right = judge(self._task.target, next(iter(by_seed.values())))
        order = {row["id"]: place for place, row in enumerate(self._rows)}
        scores, right = [], []
        for answers in by_seed.values():
            placed = sorted(answers, key=lambda answer: order[answer.id])
            scores.append(self._scorer([answer.predicted for answer in placed]))
            if is_right is not None:
                right.append([is_right(answer) for answer in placed])
        return CellRows(np.array(scores), np.asarray(np.mean(right, 0)) if right else None)

    @property
    def facts(self) -> list[RowFacts]:
        """Of each row its id, its label where it has one, the length of its inputs, and whether words are new in it."""
        inputs, target = Layout(self._task.task_type).inputs, TARGETS[self._task.target]
        labelled = target.classes == "row" and target.cell == "text"
        known = {word for _, text in tables.texts(self._data / "train.parquet") for word in words_of(text)}
        texts = [[_as_text(row[column]) for column in inputs] for row in self._rows]
        return [
            RowFacts(
                row["id"],
                str(row[target.column]) if labelled else None,
                sum(map(len, own)),
                any(word not in known for text in own for word in words_of(text)),
            )
            for row, own in zip(self._rows, texts, strict=True)
        ]

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


def _as_text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else " ".join(value)


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
    answered = [rows.of_cell(file) for file in files]
    right = [cell.right for cell in answered if cell.right is not None]
    return ArmRuns(runs, [cell.resampled for cell in answered], np.asarray(np.mean(right, 0)) if right else None)
