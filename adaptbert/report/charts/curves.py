"""Curves -> SVG, as pure functions: over tokens, over labels, over confidence.

The numbers of the upward axis stand left of the picture, where no curve runs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from adaptbert.comparison.records import Arm, Bin
from adaptbert.report.charts.svg import Scale, nice_ticks, stretched, svg, tag, text
from adaptbert.report.language import millions, points, tick

GUTTER = 10
"""Percent of the width that is reserved for the numbers of the upward axis."""


@dataclass(frozen=True)
class Curve:
    """One rung's curve: (tokens trained so far, bits per character)."""

    label: str
    role: str
    points: Sequence[tuple[int, float]]
    dashed: bool


def curves(lines: Sequence[Curve], described_by: str) -> Markup:
    """Bits per character over tokens along the ladder; every line begins where the rung below it ended."""
    values = [value for line in lines for _, value in line.points]
    ticks = nice_ticks(min(values, default=0.0), max(values, default=1.0))
    last = max((tokens for line in lines for tokens, _ in line.points), default=0) or 1
    height = 190
    across, upward = Scale(0.0, last * 1.02), Scale(ticks[-1], ticks[0])
    levels, body = _levels(ticks, upward, height, tick)
    for tokens in nice_ticks(0.0, float(last)):
        if tokens <= last * 1.02:
            anchor = "start" if tokens == 0 else "end" if tokens > 0.9 * last else "middle"
            label = f"{tick(tokens / 1e6)} M" if tokens else "0"
            body.append(text(label, across(tokens), height + 16, "tick", anchor))
    strokes = []
    for line in lines:
        path = " ".join(f"{100 * across.share(t):.2f},{100 * upward.share(v):.2f}" for t, v in line.points)
        strokes.append(tag("polyline", f"curve role-{line.role}{' dashed' if line.dashed else ''}", points=path))
    body.append(stretched(strokes, height))
    for line in lines:
        tokens, value = line.points[-1]
        title = f"{line.label}: {value:.2f}, {millions(tokens)} M"
        y = round(height * upward.share(value), 1)
        body.append(_point(title, line.role, across(tokens), y))
    return _beside(levels, body, height, described_by)


def learning(arms: Sequence[Arm], described_by: str) -> Markup:
    """Score over number of labels, which grow by factors; the band is the interval of the mean over seeds."""
    every = [point for arm in arms for point in arm.learning_curve]
    ends = [value for point in every for value in (point.interval.mean, point.interval.low, point.interval.high)]
    values = [value for value in ends if value is not None]
    ticks = nice_ticks(min(values), max(values))
    counts = sorted({point.labels for point in every})
    height = 220
    across = Scale(math.log(counts[0]) - 0.05, math.log(counts[-1]) + 0.05)
    upward = Scale(ticks[-1], ticks[0])
    levels, body = _levels(ticks, upward, height, lambda score: tick(100 * score))
    for labels in counts:
        anchor = {counts[-1]: "end", counts[0]: "start"}.get(labels, "middle")
        body.append(text(f"{labels:,}", across(math.log(labels)), height + 16, "tick", anchor))

    def place(labels: int, value: float) -> str:
        return f"{100 * across.share(math.log(labels)):.2f},{100 * upward.share(value):.2f}"

    bands, lines, dots = [], [], []
    for arm in arms:
        points_of, css = arm.learning_curve, f"role-{arm.role}"
        lower = [place(each.labels, each.interval.low) for each in points_of if each.interval.low is not None]
        upper = [place(each.labels, each.interval.high) for each in points_of if each.interval.high is not None]
        bands.append(tag("polygon", f"band {css}", points=" ".join([*lower, *reversed(upper)])))
        path = " ".join(place(each.labels, each.interval.mean) for each in points_of)
        lines.append(tag("polyline", f"curve {css}", points=path))
        for each in points_of:
            mean, labels = each.interval.mean, each.labels
            y = round(height * upward.share(mean), 1)
            title = f"{arm.name}, {labels:,}: {points(mean)}"
            dots.append(_point(title, arm.role, across(math.log(labels)), y, 3.5))
    body += [stretched([*bands, *lines], height), *dots]
    return _beside(levels, body, height, described_by)


def reliability(curve: Sequence[Bin], described_by: str) -> Markup:
    """Accuracy (upward) over confidence (across), from 0 to 100 %; on the diagonal they are equal."""
    height = 240
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    levels, body = _levels(ticks, Scale(1.0, 0.0), height, lambda share: tick(100 * share))
    for share in ticks:
        anchor = {0.0: "start", 1.0: "end"}.get(share, "middle")
        body.append(text(tick(100 * share), f"{100 * share:g}%", height + 16, "tick", anchor))
    body.append(tag("line", "control", x1="0%", x2="100%", y1=height, y2=0))
    path = " ".join(f"{100 * each.confidence:.2f},{100 * (1 - each.accuracy):.2f}" for each in curve)
    body.append(stretched([tag("polyline", "curve role-class", points=path)], height))
    for each in curve:
        title, y = f"{points(each.confidence)} → {points(each.accuracy)}", round(height * (1 - each.accuracy), 1)
        body.append(_point(title, "class", f"{100 * each.confidence:.2f}%", y))
    return _beside(levels, body, height, described_by)


def _point(title: str, role: str, x: str, y: float, radius: float = 4) -> Markup:
    return tag("circle", f"end role-{role}", Markup("<title>{}</title>").format(title), cx=x, cy=y, r=radius)


def _levels(
    ticks: Sequence[float], scale: Scale, height: int, write: Callable[[float], str]
) -> tuple[list[Markup], list[Markup]]:
    """The numbers of the upward axis, and a line across the picture for each of them."""
    places = [(level, round(height * scale.share(level), 1)) for level in ticks]
    numbers = [text(write(level), "0%", round(y + 4, 1), "tick") for level, y in places]
    return numbers, [tag("line", "grid", x1="0%", x2="100%", y1=y, y2=y) for _, y in places]


def _beside(levels: Sequence[Markup], body: Sequence[Markup], height: int, described_by: str) -> Markup:
    """A picture right of the numbers of its upward axis."""
    frame = Markup('<svg x="{}%" y="0" width="{}%" height="{}">{}</svg>')
    picture = frame.format(GUTTER, 100 - GUTTER, height + 22, Markup("").join(body))
    return svg([*levels, picture], height + 22, described_by)
