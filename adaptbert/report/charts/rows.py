"""Figures -> SVG with a row for each thing that is measured, as pure functions.

Colours come from the page's style sheet: `role-*` names the role of the rung.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from adaptbert.report.charts.svg import NAMED_AT, ROW, Scale, grid, nice_ticks, svg, tag, text, through, whisker
from adaptbert.report.terms import Words, change, points, svg_text, tick

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


@dataclass(frozen=True)
class Mark:
    """A line across all bars."""

    label: Words
    value: float


@dataclass(frozen=True)
class Whisker:
    """A difference with its interval; `detectable` is the smallest effect with 80 % power, None without a verdict."""

    label: Words
    verdict: str
    mean: float | None
    low: float | None
    high: float | None
    detectable: float | None


def bars(rows: Sequence[Bar], marks: Sequence[Mark], described_by: str) -> Markup:
    """Arms as bars from 0, to the left where a correlation is negative; baselines as dashed lines, named below them."""
    values = [value for row in rows for value in (row.mean, row.low, row.high) if value is not None]
    values += [dot for row in rows for dots in row.dots for dot in dots]
    values += [mark.value for mark in marks]
    ticks = nice_ticks(min([*values, 0.0]), max([*values, 0.05]))
    scale = Scale(ticks[0], ticks[-1])
    count = len(rows) + len(marks)
    body = [grid(ticks, scale, count, lambda value: tick(100 * value))]
    for index, row in enumerate(rows):
        body += _bar(row, scale, ROW * index)
    for index, mark in enumerate(marks, len(rows)):
        body.append(through(scale(mark.value), index + 1, "control"))
        body.append(text(svg_text(mark.label, ROOM), "0%", ROW * index + NAMED_AT, "control-label"))
        body.append(text(points(mark.value), "100%", ROW * index + NAMED_AT, "row-value", "end"))
    return svg(body, ROW * count + 24, described_by)


def _bar(row: Bar, scale: Scale, y: int) -> list[Markup]:
    room = ROOM if row.low is None else ROOM_BESIDE_INTERVAL
    body = [text(svg_text(row.label, room) + " ✓" * row.marked, "0%", y + NAMED_AT, "row-label")]
    if row.mean is None:
        return [*body, text(svg_text(Words("missing", "缺失")), "100%", y + NAMED_AT, "missing", "end")]
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


def whiskers(rows: Sequence[Whisker], worth: float, described_by: str) -> Markup:
    """Differences around 0; effects inside the band are shown in fewer than four of five studies.

    Args:
        worth: the smallest gain worth having, to both sides of 0 as dotted lines.
    """
    seen = [abs(value) for row in rows for value in (row.mean, row.low, row.high) if value is not None]
    reach = max([*seen, LEAST_REACH])
    lowest = min([0.0, *(value for row in rows for value in (row.mean, row.low) if value is not None)])
    ticks = nice_ticks(lowest - 0.1 * reach if reach > LEAST_REACH else -reach, reach)
    scale = Scale(ticks[0], ticks[-1])
    body = [
        grid(ticks, scale, len(rows), lambda value: tick(100 * value, signed=True)),
        *(_undetectable(row.detectable, scale, ROW * index) for index, row in enumerate(rows)),
        through(scale(0.0), len(rows), "zero"),
        *(through(scale(end), len(rows), "worth") for end in (-worth, worth) if ticks[0] <= end <= ticks[-1]),
    ]
    for index, row in enumerate(rows):
        y = ROW * index
        body.append(text(svg_text(row.label, ROOM), "0%", y + NAMED_AT, "row-label"))
        if row.mean is None:
            body.append(text(svg_text(Words("not testable", "无法检验")), "100%", y + NAMED_AT, "missing", "end"))
            continue
        body.append(text(change(row.mean), "100%", y + NAMED_AT, "row-value", "end"))
        body.append(whisker(scale, row.low, row.high, y + 29, f"whisker verdict-{row.verdict}"))
        body.append(tag("circle", f"mean verdict-{row.verdict}", cx=scale(row.mean), cy=y + 29, r=5))
    return svg(body, ROW * len(rows) + 24, described_by)


def _undetectable(detectable: float | None, scale: Scale, y: int) -> Markup:
    if detectable is None:
        return Markup("")
    left, right = scale.clip(-detectable), scale.clip(detectable)
    return tag("rect", "unseen", x=f"{left:.2f}%", y=y + 22, width=f"{right - left:.2f}%", height=14, rx=3)
