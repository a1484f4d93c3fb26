"""metrics/comparison.json -> one SVG with the arms of every task: the picture of the README.

python -m tests.readme_picture metrics/comparison.json docs/img/ladder.svg ["what text it is"]

The file brings its own style and background, so that it can be read on a light page and on a dark one.
"""

import sys
from pathlib import Path
from typing import Any

from markupsafe import Markup

from adaptbert.base.plan import SCRATCH
from adaptbert.core.files import atomic_write, read_json
from adaptbert.report.charts import rows as charts
from adaptbert.report.charts.svg import ROW, style_sheet
from adaptbert.report.language import Text
from adaptbert.report.terms import BASELINES, METRICS
from adaptbert.report.text_table import STEPS, names_of, tasks_of

WIDTH, MARGIN, TOP, FOOT = 880, 28, 62, 78
"""Pixels: the width of the picture, its margin, the space above the bars and the space below them."""

STYLE = """
svg { overflow: visible }
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif }
[lang="zh-Hans"] { display: none }
.paper { fill: var(--paper); stroke: var(--rule) }
svg .heading { font-size: 16px; font-weight: 600 }
svg .note { font-size: 12px; fill: var(--quiet) }
"""
"""What the picture needs beside the style sheet of the report."""


def picture(summary: dict[str, Any], text: str = "") -> str:
    """The tasks side by side.

    Args:
        summary: what metrics/comparison.json holds.
        text: said below the bars, e.g. where the text comes from.
    """
    tasks, names = tasks_of(summary), names_of(summary)
    column = (WIDTH - MARGIN * (len(tasks) + 1)) // len(tasks)
    panels, height = [], 0
    for index, (key, cells) in enumerate(tasks.items()):
        x = MARGIN + index * (column + MARGIN)
        metric = next(key for key in METRICS if any(key in values for values in cells.values()))
        bars = charts.bars(_bars(cells, metric), _marks(cells, metric), f"task-{index}")
        heading = f"{names[key]}: {METRICS[metric].en} × 100"
        panels.append(
            Markup('<text class="heading" id="task-{}" x="{}" y="40">{}</text>').format(index, x, heading)
            + Markup('<svg x="{}" y="{}" width="{}">{}</svg>').format(x, TOP, column, bars)
        )
        height = max(height, TOP + _height(cells) + FOOT)
    of_draws = " of one draw" if any(_draws(cells) > 1 for cells in tasks.values()) else ""
    notes = [
        f"Bar: mean of the seeds on the test split. Whisker: interval of that mean. Dot: one seed{of_draws}.",
        text,
    ]
    lines = [
        Markup('<text class="note" x="{}" y="{}">{}</text>').format(MARGIN, height - 34 + 17 * place, note)
        for place, note in enumerate(notes)
    ]
    style = style_sheet() + Markup(STYLE)
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{width}" height="{height}"'
        ' viewBox="0 0 {width} {height}">\n<style><![CDATA[\n{style}]]></style>\n'
        '<rect class="paper" x="0.5" y="0.5" width="{inner}" height="{lower}" rx="10"/>\n{body}\n</svg>\n'
    ).format(
        label=f"Scores by arm: {', '.join(names.values())}",
        width=WIDTH,
        height=height,
        inner=WIDTH - 1,
        lower=height - 1,
        style=style,
        body=Markup("\n").join([*panels, *lines]),
    )


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


def _height(cells: dict[str, Any]) -> int:
    """Height of the rows that `charts.bars` draws: arms and baselines."""
    return ROW * sum(name != STEPS for name in cells)


if __name__ == "__main__":
    source, target, *words = sys.argv[1:]
    with atomic_write(Path(target)) as path:
        path.write_text(picture(read_json(Path(source)), *words), encoding="utf-8")
