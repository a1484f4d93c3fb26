"""Scores of several tasks from one start -> one mean an arm, with its parts.

The suite average of GLUE (Wang et al. 2019, section 3).
It is a mean of unlike metrics: it ranks arms that ran the same tasks and has no absolute meaning. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np

from adaptbert.comparison.statistics.intervals import Interval, Range
from adaptbert.comparison.statistics.rows import RowScores, RowSpread, row_scores
from adaptbert.comparison.statistics.spread import Runs
from adaptbert.comparison.statistics.study import Study, TaskStudy


@dataclass(frozen=True)
class SuiteAverage:
    """One arm over all tasks from one start.

    Attributes:
        scores: seed -> mean over the tasks of that seed's scores.
        interval: over draws, seeds and the test rows of all tasks, as far as they were repeated.
        parts: task -> mean of the same seeds.
    """

    start: str
    arm: str
    scores: dict[int, float]
    interval: Interval
    parts: dict[str, float]


def suite_averages(start: str, tasks: Mapping[str, TaskStudy], ends: Range, confidence: float) -> list[SuiteAverage]:
    """The arms that every task has, over the draws and seeds that all tasks have; none below two tasks.

    Every task has the same weight. A mean over fewer tasks would be another figure, so an arm without a result in one
    of them has none.

    Args:
        tasks: by name.
        ends: the least and the largest mean over tasks.
    """
    if len(tasks) < 2:
        return []
    first = next(iter(tasks.values()))
    shared = {arm: [own.arms[arm] for own in tasks.values() if arm in own.arms] for arm in first.arms}
    runs = {arm: _means([each.runs for each in own]) for arm, own in shared.items() if len(own) == len(tasks)}
    runs = {arm: means for arm, means in runs.items() if any(means.values())}
    study = Study(runs, _rows([tasks[task] for task in tasks], runs), confidence, ends)
    return [_average(start, arm, runs[arm], study, tasks) for arm in runs]


def _means(tasks: Sequence[Runs]) -> dict[int, dict[int, float]]:
    """Draw -> seed -> mean over tasks, of the runs that all tasks have."""
    draws = {draw: [own[draw] for own in tasks] for draw in tasks[0] if all(draw in own for own in tasks)}
    means = {
        draw: {seed: mean(own[seed] for own in runs) for seed in runs[0] if all(seed in own for own in runs)}
        for draw, runs in draws.items()
    }
    return {draw: scores for draw, scores in means.items() if scores}


def _rows(tasks: Sequence[TaskStudy], arms: Iterable[str]) -> RowSpread | None:
    """Test rows of different tasks are drawn independently."""
    resampled = {arm: [own.arms[arm].resampled for own in tasks] for arm in arms}
    scores = {
        arm: [row_scores(cells) for cells in own if cells is not None]
        for arm, own in resampled.items()
        if all(cells is not None for cells in own)
    }
    means = {
        arm: RowScores(np.mean([each.mean for each in own], 0), sum(each.of_runs for each in own) / len(own) ** 2)
        for arm, own in scores.items()
    }
    return RowSpread(means, sum(own.groups for own in tasks)) if len(means) == len(resampled) else None


def _average(start: str, arm: str, runs: Runs, study: Study, tasks: Mapping[str, TaskStudy]) -> SuiteAverage:
    seeds = sorted(set.intersection(*(set(scores) for scores in runs.values())))
    parts = {
        task: mean(own.arms[arm].runs[draw][seed] for draw in runs for seed in seeds) for task, own in tasks.items()
    }
    scores = {seed: mean(scores[seed] for scores in runs.values()) for seed in seeds}
    return SuiteAverage(start, arm, scores, study.mean(arm), parts)
