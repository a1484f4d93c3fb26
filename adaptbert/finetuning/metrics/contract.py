"""The contract of a cell: for each metric how it was computed, with what, and on which rows."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from adaptbert.finetuning.metrics.targets import SCORING
from adaptbert.rows.task_description import TaskDescription


def contract(task: TaskDescription, ids: Mapping[str, Sequence[str]]) -> dict[str, list[dict[str, Any]]]:
    """For each metric of a task its name, split, average, scheme, library and version, and the rows it was computed on.

    The entries of a split stand in a list, which `dvc metrics` leaves out of its columns.

    Args:
        ids: split -> ids of all rows that were scored. Their digest does not depend on their order.
    """
    return {
        split: [
            {
                "metric": f"{split}/{name}",
                "average": metric.average,
                "scheme": metric.scheme,
                "library": metric.library,
                "version": version(metric.library),
                "rows": len(rows),
                "rows_digest": sha256("\n".join(sorted(rows)).encode()).hexdigest()[:16],
            }
            for name, metric in SCORING[task.target].metrics.items()
            if metric.is_of(task)
        ]
        for split, rows in ids.items()
    }
