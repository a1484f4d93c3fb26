"""Figures -> SVG with a row for each thing that is measured, as pure functions.

Colours come from the page's style sheet: `role-*` names the role of the rung.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from adaptbert.comparison.records import Step
from adaptbert.report.charts.svg import (
    NAMED_AT,
    ROW,
    Scale,
    grid,
    nice_ticks,
    svg,
    svg_text,
    tag,
    text,
    through,
    whisker,
)
from adaptbert.report.language import Text, change, points, t, tick
from adaptbert.report.sentences.captions import has_band
from adaptbert.report.terms import step_name

ROOM, ROOM_BESIDE_INTERVAL = 34, 26
"""Columns for a name beside one value, or beside a value with its interval, on a telephone."""
DOTS_REACH, DRAWS_APART = 5, 3
"""How far from the middle of a bar the dots of the first and the last draw are; of more draws the dots are smaller."""
LEAST_REACH = 0.01
"""Length of an axis of differences to either side of 0 where all differences are smaller: one point."""


@dataclass(frozen=True)
class Bar:
    """A bar with its interval and the values of single runs.

    Attributes:
        dots: for each draw the values of its seeds.
    """

    label: str
    role: str
    mean: float | None
    low: float | None
    high: float | None
    dots: Sequence[Sequence[float]]
    marked: bool = False


def bars(rows: Sequence[Bar], marks: Sequence[tuple[Text, float]], described_by: str) -> Markup:
    """Arms as bars from 0, to the left where a correlation is negative; baselines as dashed lines, named below them.

    Args:
        marks: name and score of each baseline.
    """
    values = [value for row in rows for value in (row.mean, row.low, row.high) if value is not None]
    values += [dot for row in rows for dots in row.dots for dot in dots]
    values += [value for _, value in marks]
    ticks = nice_ticks(min([*values, 0.0]), max([*values, 0.05]))
    scale = Scale(ticks[0], ticks[-1])
    count = len(rows) + len(marks)
    body = [grid(ticks, scale, count, lambda value: tick(100 * value))]
    for index, row in enumerate(rows):
        body += _bar(row, scale, ROW * index)
    for index, (name, value) in enumerate(marks, len(rows)):
        body.append(through(scale(value), index + 1, "control"))
        body.append(text(svg_text(name, ROOM), "0%", ROW * index + NAMED_AT, "control-label"))
        body.append(text(points(value), "100%", ROW * index + NAMED_AT, "row-value", "end"))
    return svg(body, ROW * count + 24, described_by)


def _bar(row: Bar, scale: Scale, y: int) -> list[Markup]:
    room = ROOM if row.low is None else ROOM_BESIDE_INTERVAL
    body = [text(svg_text(row.label, room) + " ✓" * row.marked, "0%", y + NAMED_AT, "row-label")]
    if row.mean is None:
        return [*body, text(svg_text(t("missing")), "100%", y + NAMED_AT, "missing", "end")]
    value = points(row.mean)
    if row.low is not None and row.high is not None:
        value += f"  ({points(row.low)} – {points(row.high)})"
    body.append(text(value, "100%", y + NAMED_AT, "row-value", "end"))
    left, width = scale.clip(min(row.mean, 0.0)), 100 * abs(row.mean) / (scale.high - scale.low)
    css, size = f"bar role-{row.role}", f"{width:.2f}%"
    body.append(tag("rect", css, x=f"{left:g}%", y=y + 22, width=size, height=14, rx=3))
    body.append(whisker(scale, row.low, row.high, y + 29, "whisker"))
    radius = 3 if len(row.dots) <= DRAWS_APART else 2
    for place, dots in enumerate(row.dots):
        middle = y + 29 + _beside(place, len(row.dots))
        body += [tag("circle", "dot", cx=scale(dot), cy=middle, r=radius) for dot in dots]
    return body


def _beside(place: int, draws: int) -> float:
    """How far below the middle of the bar the dots of a draw are."""
    return 0 if draws == 1 else round(DOTS_REACH * (2 * place / (draws - 1) - 1), 1)


def whiskers(steps: Sequence[Step], worth: float, described_by: str) -> Markup:
    """Differences around 0; effects inside the band are shown in fewer than four of five studies.

    Args:
        worth: the smallest gain worth having, to both sides of 0 as dotted lines.
    """
    seen = [
        value
        for step in steps
        if (difference := step.difference) is not None
        for value in (difference.mean, difference.low, difference.high)
        if value is not None
    ]
    reach = max([*map(abs, seen), LEAST_REACH])
    ticks = nice_ticks(min([0.0, *seen]) - 0.1 * reach if reach > LEAST_REACH else -reach, reach)
    scale = Scale(ticks[0], ticks[-1])
    body = [
        grid(ticks, scale, len(steps), lambda value: tick(100 * value, signed=True)),
        *(_undetectable(step, scale, ROW * index) for index, step in enumerate(steps)),
        through(scale(0.0), len(steps), "zero"),
        *(through(scale(end), len(steps), "worth") for end in (-worth, worth) if ticks[0] <= end <= ticks[-1]),
    ]
    for index, step in enumerate(steps):
        y, difference = ROW * index, step.difference
        body.append(text(svg_text(step_name(step.question, step.variant), ROOM), "0%", y + NAMED_AT, "row-label"))
        if difference is None:
            body.append(text(svg_text(t("not testable")), "100%", y + NAMED_AT, "missing", "end"))
            continue
        body.append(text(change(difference.mean), "100%", y + NAMED_AT, "row-value", "end"))
        body.append(whisker(scale, difference.low, difference.high, y + 29, f"whisker verdict-{step.verdict}"))
        body.append(tag("circle", f"mean verdict-{step.verdict}", cx=scale(difference.mean), cy=y + 29, r=5))
    return svg(body, ROW * len(steps) + 24, described_by)


def _undetectable(step: Step, scale: Scale, y: int) -> Markup:
    if step.detectable is None or not has_band(step):
        return Markup("")
    left, right = scale.clip(-step.detectable.value), scale.clip(step.detectable.value)
    return tag("rect", "unseen", x=f"{left:.2f}%", y=y + 22, width=f"{right - left:.2f}%", height=14, rx=3)
