"""Figures -> SVG with a row for each thing that is measured, as pure functions.

Colours come from the page's style sheet: `role-*` names the role of the rung.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from adaptbert.comparison.report.svg import NAMED_AT, ROW, Scale, grid, nice_ticks, svg, tag, text, through, whisker
from adaptbert.comparison.report.terms import Words, bits_change, change, points, svg_text, tick

ROOM, ROOM_BESIDE_INTERVAL = 34, 26
"""Columns for a name beside one value, or beside a value with its interval, on a telephone."""
LEAST_REACH = 0.01
"""Length of an axis of differences to either side of 0 where all differences are smaller: one point."""


@dataclass(frozen=True)
class Bar:
    """A bar with its interval and the values of single seeds."""

    label: str
    role: str
    mean: float | None
    low: float | None
    high: float | None
    dots: Sequence[float]
    marked: bool = False


@dataclass(frozen=True)
class Mark:
    """A line across all bars."""

    label: Words
    value: float


@dataclass(frozen=True)
class Whisker:
    """A difference with its interval; `detectable` is the smallest effect with 80 % power."""

    label: Words
    verdict: str
    mean: float | None
    low: float | None
    high: float | None
    detectable: float | None


@dataclass(frozen=True)
class Move:
    """A change from one value to another."""

    label: str
    role: str
    before: float
    after: float


def bars(rows: Sequence[Bar], marks: Sequence[Mark], described_by: str) -> Markup:
    """Arms as bars from 0, to the left where a correlation is negative; baselines as dashed lines, named below them."""
    values = [value for row in rows for value in (row.mean, row.low, row.high, *row.dots) if value is not None]
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
    return body + [tag("circle", "dot", cx=scale(dot), cy=y + 29, r=3) for dot in row.dots]


def whiskers(rows: Sequence[Whisker], described_by: str) -> Markup:
    """Differences around 0; effects inside the band are too small to detect with this number of seeds."""
    seen = [abs(value) for row in rows for value in (row.mean, row.low, row.high) if value is not None]
    reach = max([*seen, LEAST_REACH])
    lowest = min([0.0, *(value for row in rows for value in (row.mean, row.low) if value is not None)])
    ticks = nice_ticks(lowest - 0.1 * reach if reach > LEAST_REACH else -reach, reach)
    scale = Scale(ticks[0], ticks[-1])
    body = [
        grid(ticks, scale, len(rows), lambda value: tick(100 * value, signed=True)),
        *(_undetectable(row.detectable, scale, ROW * index) for index, row in enumerate(rows)),
        through(scale(0.0), len(rows), "zero"),
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


def moves(rows: Sequence[Move], described_by: str) -> Markup:
    """Before (hollow) and after (full) on one axis."""
    values = [value for row in rows for value in (row.before, row.after)]
    ticks = nice_ticks(min(values, default=0.0), max(values, default=1.0))
    scale = Scale(ticks[0], ticks[-1])
    body = [grid(ticks, scale, len(rows), tick)]
    for index, row in enumerate(rows):
        y = ROW * index
        worse = "worse" if row.after > row.before else "better"
        value = bits_change(row.after - row.before)
        body.append(text(svg_text(row.label, ROOM), "0%", y + NAMED_AT, "row-label"))
        body.append(text(value, "100%", y + NAMED_AT, f"row-value {worse}", "end"))
        body.append(tag("line", f"move {worse}", x1=scale(row.before), x2=scale(row.after), y1=y + 29, y2=y + 29))
        body.append(tag("circle", f"from role-{row.role}", cx=scale(row.before), cy=y + 29, r=4.5))
        body.append(tag("circle", f"end role-{row.role}", cx=scale(row.after), cy=y + 29, r=5))
    return svg(body, ROW * len(rows) + 24, described_by)
