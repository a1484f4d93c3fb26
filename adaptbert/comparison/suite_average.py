"""Scores of several tasks -> one mean an arm, with its parts: the suite average of GLUE (Wang et al. 2019, section 3).

It is a mean of unlike metrics: it ranks arms that ran the same tasks and has no absolute meaning. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from adaptbert.comparison.statistics import Interval, Range, mean_interval


@dataclass(frozen=True)
class SuiteAverage:
    """One arm over all tasks.

    Attributes:
        scores: seed -> mean over the tasks of that seed's scores.
        interval: of these.
        parts: task -> mean of the same seeds.
    """

    arm: str
    scores: dict[int, float]
    interval: Interval
    parts: dict[str, float]


def suite_averages(
    scores: Mapping[str, Mapping[str, Mapping[int, float]]], confidence: float, within: Mapping[str, Range]
) -> list[SuiteAverage]:
    """The arms that every task has, over the seeds that all tasks have; none where there are fewer than two tasks.

    Every task has the same weight. A mean over fewer tasks would be another figure, so an arm without a result in one
    of them has none.

    Args:
        scores: task -> arm -> seed -> score.
        within: task -> the least and the largest score.
    """
    tasks = list(scores)
    if len(tasks) < 2:
        return []
    averages = []
    ends = (sum(within[task][0] for task in tasks) / len(tasks), sum(within[task][1] for task in tasks) / len(tasks))
    for arm, first in scores[tasks[0]].items():
        by_task = {task: scores[task].get(arm, {}) for task in tasks}
        seeds = [seed for seed in sorted(first) if all(seed in own for own in by_task.values())]
        if seeds:
            means = {seed: sum(own[seed] for own in by_task.values()) / len(tasks) for seed in seeds}
            parts = {task: sum(own[seed] for seed in seeds) / len(seeds) for task, own in by_task.items()}
            averages.append(SuiteAverage(arm, means, mean_interval(list(means.values()), confidence, ends), parts))
    return averages
