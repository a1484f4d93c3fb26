"""The figures that are not of a single task: what the records of the comparison give a chart, a caption and a file.

Those of a task are in task_view.py.
"""

from adaptbert.comparison.records import Comparison
from adaptbert.report.charts import curves
from adaptbert.report.charts.figure import Figure
from adaptbert.report.sentences import captions


def of_curves(comparison: Comparison) -> list[Figure]:
    """Bits per character, a panel for each start and held-out text."""
    panels, paths = [], {rung.name: rung.path for rung in comparison.rungs}
    for start in comparison.starts:
        for heldout in comparison.heldout:
            name, lines = f"curve-{start}-{heldout}", _lines(comparison, start, heldout)
            panels.append(
                Figure(
                    name,
                    f"{heldout} · {start}" if len(comparison.starts) > 1 else heldout,
                    captions.curve(comparison),
                    curves.curves(lines, name),
                    list(dict.fromkeys((paths[line.label], line.role) for line in lines)),
                    start=start,
                )
            )
    return panels


def _lines(comparison: Comparison, start: str, heldout: str) -> list[curves.Curve]:
    """A line for each draw; a task's own rungs are drawn on its own text and on the corpora, not on other tasks'."""
    tasks = {task.task for task in comparison.tasks}
    others = tasks - {heldout} if heldout in tasks else set()
    lines = []
    for rung in comparison.rungs:
        if rung.start != start or rung.total is None or rung.below is None or rung.task in others:
            continue
        below = rung.total.tokens - rung.tokens
        points = [(below + tokens, bits[heldout]) for tokens, bits in rung.curve if heldout in bits]
        if points:
            lines.append(curves.Curve(rung.name, rung.role, points, dashed=rung.climb.with_task_text))
    return lines
