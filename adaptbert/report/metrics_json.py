"""Comparison -> metrics/metrics.json: the few numbers that compare two recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adaptbert.comparison.records import Comparison

DIFFERENCES = "differences"
"""Stands beside the arms of a task, so no arm can have this name."""


def headlines(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Task -> base -> arm or baseline -> mean score; `differences` -> question -> difference of means. All times 100.

    For `dvc metrics show`, `dvc metrics diff`, `dvc exp show` and the recipe's run in MLflow. What has no result is
    left out. A task stands under its base, even where there is one base, so that no key changes when a second one is
    added.
    """
    by_task: dict[str, dict[str, Any]] = {}
    for task in comparison.tasks:
        scores = {arm.name: _points(arm.interval.mean) for arm in task.arms if arm.interval is not None}
        scores |= {name: _points(score.mean) for name, score in task.baselines.items()}
        gaps = {each.name: _points(each.difference.mean) for each in task.answers if each.difference is not None}
        by_task.setdefault(task.task, {})[task.base] = {**scores, **({DIFFERENCES: gaps} if gaps else {})}
    return by_task


def _points(score: float) -> float:
    return round(100 * score, 2) + 0.0  # + 0.0 turns -0.0 into 0.0
