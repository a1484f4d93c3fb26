"""The metrics that compare two recipes: the score of every arm, and the difference of each step.

The whole comparison is in metrics/comparison.json (adaptbert.report.metrics_json); these go to
metrics/metrics.json, which `dvc metrics show`, `dvc metrics diff` and `dvc exp show` lay out in a column each, and to
the recipe's run in MLflow.
"""

from typing import Any

from adaptbert.report.text_table import STEPS, tasks_of


def headlines(summary: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Task -> start -> arm or baseline -> mean score; `steps` -> step -> difference of means. All times 100.

    Arms and steps without a result are left out.
    """
    by_task: dict[str, dict[str, Any]] = {}
    for (task, start), cells in tasks_of(summary).items():
        scores = {arm: _points(next(iter(cell.values()))) for arm, cell in cells.items() if arm != STEPS and cell}
        steps = {name: _points(step["difference"]) for name, step in cells[STEPS].items() if "difference" in step}
        by_task.setdefault(task, {})[start] = {**scores, **({STEPS: steps} if steps else {})}
    return by_task


def _points(score: float) -> float:
    return round(100 * score, 2) + 0.0  # + 0.0 turns -0.0 into 0.0
