"""metrics/comparison.json -> one SVG with the arms of every task: the picture of the README.

python -m tests.readme_picture metrics/comparison.json docs/img/ladder.svg ["what text it is"]
"""

import sys
from pathlib import Path
from typing import Any

from markupsafe import Markup

from adaptbert.config.plan import SCRATCH
from adaptbert.core.files import atomic_write, read_json
from adaptbert.report.charts import rows as charts
from adaptbert.report.charts.figure import MARGIN, WIDTH, Figure, standalone
from adaptbert.report.charts.svg import ROW, svg
from adaptbert.report.language import Text, same
from adaptbert.report.terms import BASELINES, METRICS
from adaptbert.report.text_table import STEPS, names_of, tasks_of

TOP, AXIS = 22, 24
"""Pixels above the bars of a task, and below them."""


def picture(summary: dict[str, Any], text: str = "") -> str:
    """The tasks side by side.

    Args:
        summary: what metrics/comparison.json holds.
        text: said above the bars, e.g. where the text comes from.
    """
    tasks, names = tasks_of(summary), names_of(summary)
    column = (WIDTH - MARGIN * (len(tasks) - 1)) // len(tasks)
    panels = []
    for index, (key, cells) in enumerate(tasks.items()):
        metric = next(key for key in METRICS if any(key in values for values in cells.values()))
        bars = charts.bars(_bars(cells, metric), _marks(cells, metric), "ladder")
        panel = Markup('<svg x="{}" width="{}"><text class="row-label" y="13">{}</text><svg y="{}">{}</svg></svg>')
        heading = f"{names[key]}: {METRICS[metric].en} × 100"
        panels.append(panel.format(index * (column + MARGIN), column, heading, TOP, bars))
    rows = max(len(cells) - (STEPS in cells) for cells in tasks.values())
    of_draws = " of one draw" if any(_draws(cells) > 1 for cells in tasks.values()) else ""
    note = f"Bar: mean of the seeds on the test split. Whisker: interval of that mean. Dot: one seed{of_draws}. {text}"
    drawn = svg(panels, TOP + ROW * rows + AXIS, "ladder")
    return standalone(Figure("ladder", "Scores by arm", same(note.strip()), drawn), "en")


def _bars(cells: dict[str, Any], metric: str) -> list[charts.Bar]:
    rows = []
    for arm, values in cells.items():
        if arm == STEPS or arm in BASELINES:
            continue
        role = values.get("role", [SCRATCH])[0]
        runs = [(draw, score) for draw, _, score in values.get("runs", [])]
        dots = [[score for own, score in runs if own == draw] for draw in dict.fromkeys(draw for draw, _ in runs)]
        rows.append(charts.Bar(arm, role, values.get(metric), values.get("low"), values.get("high"), dots))
    return rows


def _draws(cells: dict[str, Any]) -> int:
    return max((len({draw for draw, *_ in values.get("runs", [])}) for values in cells.values()), default=1)


def _marks(cells: dict[str, Any], metric: str) -> list[tuple[Text, float]]:
    return [(words, cells[name][metric]) for name, words in BASELINES.items() if name in cells]


if __name__ == "__main__":
    source, target, *words = sys.argv[1:]
    with atomic_write(Path(target)) as path:
        path.write_text(picture(read_json(Path(source)), *words), encoding="utf-8")
