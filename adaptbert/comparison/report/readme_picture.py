"""metrics/comparison.json -> one SVG with the arms of every task: the picture of the README.

python -m adaptbert.comparison.report.readme_picture metrics/comparison.json docs/img/ladder.svg ["what text it is"]

The file brings its own style and background, so that it can be read on a light page and on a dark one.
"""

import sys
from pathlib import Path
from typing import Any

from markupsafe import Markup

from adaptbert.base.files import atomic_write, read_json
from adaptbert.base.ladder import SCRATCH
from adaptbert.comparison.report import charts
from adaptbert.comparison.report.svg import ROW, style_sheet
from adaptbert.comparison.report.terms import BASELINES, METRICS
from adaptbert.comparison.text_table import STEPS, tasks_of

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
    tasks = tasks_of(summary)
    column = (WIDTH - MARGIN * (len(tasks) + 1)) // len(tasks)
    panels, height = [], 0
    for index, (name, cells) in enumerate(tasks.items()):
        x = MARGIN + index * (column + MARGIN)
        metric = next(key for key in METRICS if any(key in values for values in cells.values()))
        bars = charts.bars(_bars(cells, metric), _marks(cells, metric), f"task-{index}")
        heading = f"{name}: {METRICS[metric].en} × 100"
        panels.append(
            Markup('<text class="heading" id="task-{}" x="{}" y="40">{}</text>').format(index, x, heading)
            + Markup('<svg x="{}" y="{}" width="{}">{}</svg>').format(x, TOP, column, bars)
        )
        height = max(height, TOP + _height(cells) + FOOT)
    notes = ["Bar: mean of the seeds on the test split. Whisker: interval of that mean. Dot: one seed.", text]
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
        label=f"Scores by arm: {', '.join(tasks)}",
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
        seeds = [score for _, score in values.get("seeds", [])]
        rows.append(charts.Bar(arm, role, values.get(metric), values.get("low"), values.get("high"), seeds))
    return rows


def _marks(cells: dict[str, Any], metric: str) -> list[charts.Mark]:
    return [charts.Mark(words, cells[name][metric]) for name, words in BASELINES.items() if name in cells]


def _height(cells: dict[str, Any]) -> int:
    """Height of the rows that `charts.bars` draws: arms and baselines."""
    return ROW * sum(name != STEPS for name in cells)


if __name__ == "__main__":
    source, target, *words = sys.argv[1:]
    with atomic_write(Path(target)) as path:
        path.write_text(picture(read_json(Path(source)), *words), encoding="utf-8")
