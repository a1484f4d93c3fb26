"""Figures -> SVG, as pure functions.

Places along x are percentages of the chart's width and everything else is in pixels, so that letters keep their size on
a telephone and on a wide screen. Colours come from the page's style sheet: `role-*` names how far up the ladder.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from adaptbert.report.words import Words, bits_change, change, millions, points, svg_text


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
    """A difference with its interval; `detectable` is the effect that could have been found."""

    label: Words
    verdict: str
    mean: float | None
    low: float | None
    high: float | None
    detectable: float | None


@dataclass(frozen=True)
class Line:
    """One rung's curve: (tokens trained so far, bits per character)."""

    label: str
    role: str
    points: Sequence[tuple[int, float]]
    dashed: bool


@dataclass(frozen=True)
class Learnt:
    """One arm's learning curve: (labels, mean, lower and upper end of the interval where there is one)."""

    label: str
    role: str
    points: Sequence[tuple[int, float, float | None, float | None]]


@dataclass(frozen=True)
class Move:
    """From a value to another."""

    label: str
    role: str
    before: float
    after: float


def bars(rows: Sequence[Bar], marks: Sequence[Mark], described_by: str) -> Markup:
    """Arms as bars from 0, to the left where a correlation is negative; controls as dashed lines."""
    values = [value for row in rows for value in (row.mean, *row.dots) if value is not None]
    values += [mark.value for mark in marks]
    highs = [row.high for row in rows if row.high is not None]
    ticks = nice_ticks(min([*values, 0.0]), max([*values, *highs, 0.05]))
    scale = _Scale(ticks[0], ticks[-1])
    height = 46 * len(rows)
    body = [_grid(ticks, scale, height, lambda value: f"{100 * value:g}")]
    for index, mark in enumerate(marks):
        x, y = scale(mark.value), height + 34 + 17 * index
        body.append(_tag("line", "control", x1=x, x2=x, y1=0, y2=y - 12))
        share = scale.share(mark.value)
        anchor = "start" if share < 0.35 else "end" if share > 0.65 else "middle"
        label = Markup("{} {}").format(svg_text(mark.label), points(mark.value))
        body.append(_text(label, x, y, "control-label", anchor))
    for index, row in enumerate(rows):
        y = 46 * index
        name = f"{row.label} ✓" if row.marked else row.label
        body.append(_text(name, "0%", y + 15, "row-label"))
        if row.mean is None:
            body.append(_text(svg_text(Words("missing", "缺失")), "0%", y + 34, "missing"))
            continue
        told = points(row.mean)
        if row.low is not None and row.high is not None:
            told += f"  ({points(row.low)} – {points(row.high)})"
        body.append(_text(told, "100%", y + 15, "row-value", "end"))
        left, width = scale.clip(min(row.mean, 0.0)), 100 * abs(row.mean) / (scale.high - scale.low)
        css, size = f"bar role-{row.role}", f"{width:.2f}%"
        body.append(_tag("rect", css, x=f"{left:g}%", y=y + 22, width=size, height=14, rx=3))
        body.append(_whisker(scale, row.low, row.high, y + 29, "whisker"))
        body += [_tag("circle", "dot", cx=scale(dot), cy=y + 29, r=3) for dot in row.dots]
    return _svg(body, height + 24 + 17 * max(1, len(marks)), described_by)


def whiskers(rows: Sequence[Whisker], described_by: str) -> Markup:
    """Differences around 0; the band is what so many seeds could not have seen."""
    seen = [abs(value) for row in rows for value in (row.mean, row.low, row.high) if value is not None]
    reach = max([*seen, 0.01])
    lowest = min([0.0, *(value for row in rows for value in (row.mean, row.low) if value is not None)])
    ticks = nice_ticks(lowest - 0.1 * reach, max([*seen, 0.01]))
    scale = _Scale(ticks[0], ticks[-1])
    height = 46 * len(rows)
    zero = scale(0.0)
    body = [
        _grid(ticks, scale, height, lambda value: change(value).removesuffix(".0")),
        _tag("line", "zero", x1=zero, x2=zero, y1=0, y2=height),
    ]
    for index, row in enumerate(rows):
        y = 46 * index
        body.append(_text(svg_text(row.label), "0%", y + 15, "row-label"))
        if row.mean is None:
            body.append(_text(svg_text(Words("cannot be said", "无法判断")), "100%", y + 15, "missing", "end"))
            continue
        body.append(_text(change(row.mean), "100%", y + 15, "row-value", "end"))
        if row.detectable is not None:
            left, right = scale.clip(-row.detectable), scale.clip(row.detectable)
            body.append(
                _tag("rect", "unseen", x=f"{left:.2f}%", y=y + 22, width=f"{right - left:.2f}%", height=14, rx=3)
            )
        body.append(_whisker(scale, row.low, row.high, y + 29, f"whisker verdict-{row.verdict}"))
        body.append(_tag("circle", f"mean verdict-{row.verdict}", cx=scale(row.mean), cy=y + 29, r=5))
    return _svg(body, height + 22, described_by)


def curves(lines: Sequence[Line], described_by: str) -> Markup:
    """Bits per character over tokens along the ladder; every line begins where the rung below it ended."""
    values = [value for line in lines for _, value in line.points]
    ticks = nice_ticks(min(values, default=0.0), max(values, default=1.0))
    last = max((tokens for line in lines for tokens, _ in line.points), default=0) or 1
    height = 190
    across, upward = _Scale(0.0, last * 1.02), _Scale(ticks[-1], ticks[0])
    body = _levels(ticks, upward, height, lambda value: f"{value:g}")
    for tokens in nice_ticks(0.0, float(last)):
        if tokens <= last * 1.02:
            anchor = "start" if tokens == 0 else "end" if tokens > 0.9 * last else "middle"
            told = f"{tokens / 1e6:g} M" if tokens else "0"
            body.append(_text(told, across(tokens), height + 16, "tick", anchor))
    strokes = []
    for line in lines:
        path = " ".join(f"{100 * across.share(t):.2f},{100 * upward.share(v):.2f}" for t, v in line.points)
        strokes.append(_tag("polyline", f"curve role-{line.role}{' dashed' if line.dashed else ''}", points=path))
    body.append(_stretched(strokes, height))
    for line in lines:
        tokens, value = line.points[-1]
        told = f"{line.label}: {value:.2f}, {millions(tokens)} M"
        y = round(height * upward.share(value), 1)
        body.append(
            _tag(
                "circle",
                f"end role-{line.role}",
                Markup("<title>{}</title>").format(told),
                cx=across(tokens),
                cy=y,
                r=4,
            )
        )
    return _svg(body, height + 22, described_by)


def learning(lines: Sequence[Learnt], described_by: str) -> Markup:
    """Score over number of labels, which grow by factors; the band is the interval of the mean over seeds."""
    values = [value for line in lines for _, *ends in line.points for value in ends if value is not None]
    ticks = nice_ticks(min(values), max(values))
    counts = sorted({labels for line in lines for labels, *_ in line.points})
    height = 220
    across = _Scale(math.log(counts[0]) - 0.05, math.log(counts[-1]) + 0.05)
    upward = _Scale(ticks[-1], ticks[0])
    body = _levels(ticks, upward, height, lambda score: f"{100 * score:g}")
    for labels in counts:
        anchor = {counts[-1]: "end", counts[0]: "start"}.get(labels, "middle")
        body.append(_text(f"{labels:,}", across(math.log(labels)), height + 16, "tick", anchor))

    def place(labels: int, value: float) -> str:
        return f"{100 * across.share(math.log(labels)):.2f},{100 * upward.share(value):.2f}"

    drawn = []
    for line in lines:
        lower = [place(labels, low) for labels, _, low, _ in line.points if low is not None]
        upper = [place(labels, high) for labels, _, _, high in line.points if high is not None]
        drawn.append(_tag("polygon", f"band role-{line.role}", points=" ".join([*lower, *reversed(upper)])))
    for line in lines:
        path = " ".join(place(labels, mean) for labels, mean, _, _ in line.points)
        drawn.append(_tag("polyline", f"curve role-{line.role}", points=path))
    body.append(_stretched(drawn, height))
    for line in lines:
        for labels, mean, _, _ in line.points:
            told = Markup("<title>{}</title>").format(f"{line.label}, {labels:,}: {points(mean)}")
            y = round(height * upward.share(mean), 1)
            body.append(_tag("circle", f"end role-{line.role}", told, cx=across(math.log(labels)), cy=y, r=3.5))
    return _svg(body, height + 22, described_by)


def moves(rows: Sequence[Move], described_by: str) -> Markup:
    """Before (hollow) and after (full) on one axis."""
    values = [value for row in rows for value in (row.before, row.after)]
    ticks = nice_ticks(min(values, default=0.0), max(values, default=1.0))
    scale = _Scale(ticks[0], ticks[-1])
    height = 42 * len(rows)
    body = [_grid(ticks, scale, height, lambda value: f"{value:g}")]
    for index, row in enumerate(rows):
        y = 42 * index
        worse = "worse" if row.after > row.before else "better"
        told = bits_change(row.after - row.before)
        body.append(_text(row.label, "0%", y + 15, "row-label"))
        body.append(_text(told, "100%", y + 15, f"row-value {worse}", "end"))
        body.append(_tag("line", f"move {worse}", x1=scale(row.before), x2=scale(row.after), y1=y + 28, y2=y + 28))
        body.append(_tag("circle", f"from role-{row.role}", cx=scale(row.before), cy=y + 28, r=4.5))
        body.append(_tag("circle", f"end role-{row.role}", cx=scale(row.after), cy=y + 28, r=5))
    return _svg(body, height + 22, described_by)


def reliability(curve: Sequence[tuple[float, float]], described_by: str) -> Markup:
    """Share of right answers (upward) over confidence (across), from 0 to 100 %; on the diagonal confidence is true."""
    height = 240
    body: list[Markup] = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = f"{100 * tick:g}%", round(height * (1 - tick), 1)
        body.append(_tag("line", "grid", x1="0%", x2="100%", y1=y, y2=y))
        if tick:
            body.append(_text(f"{100 * tick:g}", "0%", y - 4 if tick < 1 else y + 13, "tick"))
        body.append(_text(f"{100 * tick:g}", x, height + 16, "tick", {0.0: "start", 1.0: "end"}.get(tick, "middle")))
    body.append(_tag("line", "control", x1="0%", x2="100%", y1=height, y2=0))
    path = " ".join(f"{100 * claimed:.2f},{100 * (1 - true):.2f}" for claimed, true in curve)
    body.append(
        Markup(
            '<svg x="0" y="0" width="100%" height="{}" viewBox="0 0 100 100" preserveAspectRatio="none">{}</svg>'
        ).format(height, _tag("polyline", "curve role-class", points=path))
    )
    for claimed, true in curve:
        told = Markup("<title>{}</title>").format(f"{points(claimed)} → {points(true)}")
        body.append(
            _tag("circle", "end role-class", told, cx=f"{100 * claimed:.2f}%", cy=round(height * (1 - true), 1), r=4)
        )
    return _svg(body, height + 22, described_by)


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers that enclose low and high."""
    step = _nice((high - low or 1.0) / count)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * place, 10) for place in range(first, max(last, first + 1) + 1)]


def _nice(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return power * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= step * 0.999999)


class _Scale:
    """A value as a place between 0 % and 100 %."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def clip(self, value: float) -> float:
        return 100 * min(1.0, max(0.0, self.share(value)))

    def __call__(self, value: float) -> str:
        return f"{100 * self.share(value):.2f}%"


def _grid(ticks: Sequence[float], scale: _Scale, height: int, write: Callable[[float], str]) -> Markup:
    body = []
    for place, tick in enumerate(ticks):
        x = scale(tick)
        anchor = "start" if place == 0 else "end" if place == len(ticks) - 1 else "middle"
        body.append(_tag("line", "grid", x1=x, x2=x, y1=0, y2=height))
        body.append(_text(write(tick), x, height + 16, "tick", anchor))
    return Markup("").join(body)


def _levels(ticks: Sequence[float], scale: _Scale, height: int, write: Callable[[float], str]) -> list[Markup]:
    """Lines across a picture, each with its value; that at the top stands below its line."""
    body = []
    for tick in ticks:
        y = round(height * scale.share(tick), 1)
        body.append(_tag("line", "grid", x1="0%", x2="100%", y1=y, y2=y))
        body.append(_text(write(tick), "0%", round(y - 4, 1) if y else 11, "tick"))
    return body


def _stretched(drawn: Sequence[Markup], height: int) -> Markup:
    """What is drawn on a square of 100, as wide as the picture."""
    frame = '<svg x="0" y="0" width="100%" height="{}" viewBox="0 0 100 100" preserveAspectRatio="none">{}</svg>'
    return Markup(frame).format(height, Markup("").join(drawn))


def _whisker(scale: _Scale, low: float | None, high: float | None, y: float, css: str) -> Markup:
    if low is None or high is None:
        return Markup("")
    left, right = f"{scale.clip(low):.2f}%", f"{scale.clip(high):.2f}%"
    return Markup("").join(
        [
            _tag("line", css, x1=left, x2=right, y1=y, y2=y),
            _tag("line", css, x1=left, x2=left, y1=y - 4, y2=y + 4),
            _tag("line", css, x1=right, x2=right, y1=y - 4, y2=y + 4),
        ]
    )


def _svg(body: Sequence[Markup], height: int, described_by: str) -> Markup:
    return Markup('<svg class="chart" role="img" aria-labelledby="{}" width="100%" height="{}">{}</svg>').format(
        described_by, height, Markup("").join(body)
    )


def _text(content: str | Markup, x: str, y: float, css: str, anchor: str = "start") -> Markup:
    return _tag("text", css, content, x=x, y=y, text_anchor=anchor)


def _tag(name: str, css: str, content: str = "", **attributes: object) -> Markup:
    written = Markup("").join(
        Markup(' {}="{}"').format(key.replace("_", "-"), value) for key, value in attributes.items()
    )
    return Markup('<{0} class="{1}"{2}>{3}</{0}>').format(Markup(name), css, written, content)
