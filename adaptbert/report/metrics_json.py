"""Comparison -> the few numbers of metrics/metrics.json."""

from typing import Any

from adaptbert.comparison.records import Comparison

STEPS = "steps"
"""Stands beside the arms and baselines of a task, none of which can have this name."""


def headlines(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Task -> base -> arm or baseline -> mean score; `steps` -> step -> difference of means. All times 100.

    What compares two recipes, in `dvc metrics show`, `dvc metrics diff`, `dvc exp show` and the recipe's run in MLflow.
    A task stands under its base, even where there is one base, so that no key changes when a second one is added. Arms
    and steps without a result are left out.
    """
    by_task: dict[str, dict[str, Any]] = {}
    for task in comparison.tasks:
        scores = {arm.name: arm.interval.mean for arm in task.arms if arm.interval is not None}
        scores |= {name: interval.mean for name, interval in task.baselines.items()}
        steps = {step.name: step.difference.mean for step in task.steps if step.difference is not None}
        values: dict[str, Any] = {name: _points(score) for name, score in scores.items()}
        if steps:
            values[STEPS] = {name: _points(difference) for name, difference in steps.items()}
        by_task.setdefault(task.task, {})[task.base] = values
    return by_task


def _points(score: float) -> float:
    return round(100 * score, 2) + 0.0  # + 0.0 turns -0.0 into 0.0
