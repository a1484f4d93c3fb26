"""metrics/comparison.json -> one SVG with the arms of every task: the picture of the README.

python -m tests.readme_picture metrics/comparison.json docs/img/ladder.svg ["what text it is"]
"""

import sys
from pathlib import Path

from markupsafe import Markup

from adaptbert.comparison.records import Arm, Comparison
from adaptbert.core.files import atomic_write
from adaptbert.report.charts import rows as charts
from adaptbert.report.charts.figure import MARGIN, WIDTH, Figure, standalone
from adaptbert.report.charts.svg import ROW, svg
from adaptbert.report.language import same
from adaptbert.report.terms import BASELINES, METRICS

TOP, AXIS = 22, 24
"""Pixels above the bars of a task, and below them."""


def picture(comparison: Comparison, text: str = "") -> str:
    """The tasks side by side.

    Args:
        text: said above the bars, e.g. where the text comes from.
    """
    tasks = comparison.tasks
    column = (WIDTH - MARGIN * (len(tasks) - 1)) // len(tasks)
    panels = []
    for index, task in enumerate(tasks):
        marks = [(BASELINES[name], score.mean) for name, score in task.baselines.items()]
        drawn = charts.bars([_bar(arm) for arm in task.arms], marks, "ladder")
        panel = Markup('<svg x="{}" width="{}"><text class="row-label" y="13">{}</text><svg y="{}">{}</svg></svg>')
        heading = f"{task.name}: {METRICS[task.metric].en} × 100"
        panels.append(panel.format(index * (column + MARGIN), column, heading, TOP, drawn))
    rows = max(len(task.arms) + len(task.baselines) for task in tasks)
    of_draws = " of one draw" if comparison.replicates > 1 else ""
    note = f"Bar: mean of the seeds on the test split. Whisker: interval of that mean. Dot: one seed{of_draws}. {text}"
    drawn = svg(panels, TOP + ROW * rows + AXIS, "ladder")
    return standalone(Figure("ladder", "Scores by arm", same(note.strip()), drawn), "en")


def _bar(arm: Arm) -> charts.Bar:
    mean, low, high = (arm.interval.mean, arm.interval.low, arm.interval.high) if arm.interval else (None, None, None)
    dots = [list(scores.values()) for scores in arm.by_replicate.values()]
    return charts.Bar(arm.name, arm.role, mean, low, high, dots)


if __name__ == "__main__":
    source, target, *words = sys.argv[1:]
    with atomic_write(Path(target)) as path:
        path.write_text(picture(Comparison.read(Path(source)), *words), encoding="utf-8")
