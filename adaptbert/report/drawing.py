"""A figure as data, and its SVG: on the page in both languages, and as a file of its own in each.

Places along x are percentages of the width and everything else is in pixels, so that text keeps its size on a telephone
and on a wide screen. No line crosses a text. charts.css gives the colours: `role-*` is how an arm was trained,
`verdict-*` is the verdict on a step.
"""

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from rich.cells import cell_len, chop_cells, set_cell_size

from adaptbert.comparison.questions import ROLES
from adaptbert.core.files import atomic_write
from adaptbert.report.language import Text, change, plain, points, t
from adaptbert.statistics.intervals import Difference, Interval

ROW = 46
"""Height of a row: its names above, then the band that it is drawn in."""
BAND = (21, 37)
"""Where in its row the band begins and ends: a line through it stays clear of the text above and below."""
NAMED_AT, DRAWN_AT = 13, 29
"""Where in its row the names stand, and the middle of its band."""
ROOM, ROOM_BESIDE_INTERVAL = 34, 26
"""Columns for a name beside one value, or beside a value with its interval, on a telephone."""
DOTS_REACH, FEW = 5, 3
"""How far from the middle the dots of the first and the last replicate are; of more than a few they are smaller."""
LEAST_REACH = 0.01
"""Length of an axis of differences to either side of 0 where all differences are smaller: one point."""
AXIS = 24
"""Height of the numbers below a picture."""
GUTTER = 10
"""Percent of the width that is reserved for the numbers of the upward axis, left of the picture."""
WIDTH, MARGIN, LINE = 760, 24, 17
"""Pixels of a file: what is inside its edge, its edge, and the height of a line of text."""
LETTER = 6.6
"""Most pixels that a column of 12 px letters takes; Chinese characters take two columns."""
TEMPLATES = Environment(
    loader=PackageLoader("adaptbert.report", "."),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
"""Templates of the page and of files of figures; a name that is not defined in one is an error."""
Language = Literal["en", "zh"]
TAGS: dict[Language, str] = {"en": "en", "zh": "zh-Hans"}
ENDS: dict[Language, str] = {"en": ".svg", "zh": ".zh.svg"}
"""Ends of the names of files."""


@dataclass(frozen=True)
class Row:
    """What is measured in one row of a chart.

    Attributes:
        css: what its colour stands for.
        shown: its value with an interval; None where there is no result.
        dots: replicate -> seed -> value.
        unseen: effects up to this size, which most studies would not show; drawn in grey.
        is_line: a line through the rows above in place of a bar.
        is_best: marked beside its name.
    """

    label: Text
    css: str
    shown: Interval | Difference | None
    dots: Mapping[int, Mapping[int, float]] = field(default_factory=dict)
    unseen: float | None = None
    is_line: bool = False
    is_best: bool = False


@dataclass(frozen=True)
class Rows:
    """Bars from 0, or differences around it.

    Attributes:
        min_gain: of differences, the smallest gain worth having: a line to both sides of 0; None: these are bars.
    """

    rows: Sequence[Row]
    min_gain: float | None = None


@dataclass(frozen=True)
class Point:
    """One of a line, with the ends of an interval; `title`: what its dot says, which has none where it is empty."""

    x: float
    y: float
    title: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """A curve; `css`: what its colour stands for."""

    css: str
    points: Sequence[Point]
    dashed: bool = False


@dataclass(frozen=True)
class Lines:
    """Curves between two axes; the numbers of an axis are places with what is written there.

    Attributes:
        across: the ends of the axis to the right.
    """

    lines: Sequence[Line]
    across: tuple[float, float]
    numbers: Mapping[float, str]
    levels: Mapping[float, str]
    height: int


@dataclass(frozen=True)
class Figure:
    """One figure of the page.

    Attributes:
        name: the id of its caption on the page, and the name of its files.
        chart: what is drawn, or the picture itself, of `framed`.
        of: the task, in the title of the file; on the page it stands under its heading.
        legend: name -> what its colour stands for.
    """

    name: str
    title: Text
    caption: Text
    chart: Rows | Lines | Markup
    of: str = ""
    legend: Mapping[str, str] = field(default_factory=dict)

    def __html__(self) -> Markup:
        return self.chart if isinstance(self.chart, Markup) else drawn(self.chart, self.name)


def drawn(chart: Rows | Lines, described_by: str) -> Markup:
    """An <svg> as wide as the page lets it be; `described_by`: the id of its caption."""
    body, height = _rows(chart) if isinstance(chart, Rows) else _lines(chart)
    return framed(body, height, described_by)


def framed(body: Iterable[Markup], height: int, described_by: str) -> Markup:
    return Markup('<svg class="chart" role="img" aria-labelledby="{}" width="100%" height="{}">{}</svg>').format(
        described_by, height, _all(body)
    )


def nice_ticks(low: float, high: float) -> list[float]:
    """About five round numbers that enclose low and high."""
    least = (high - low or 1.0) / 5
    power = 10.0 ** math.floor(math.log10(least))
    step = power * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= least * 0.999999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * place, 10) for place in range(first, max(last, first + 1) + 1)]


class _Scale:
    """A value as a place between 0 % and 100 %."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low) + 0.0  # -0.0 becomes 0.0

    def clipped(self, value: float) -> float:
        return 100 * min(1.0, max(0.0, self.share(value)))

    def __call__(self, value: float) -> str:
        return f"{100 * self.share(value):.2f}%"


def _rows(chart: Rows) -> tuple[list[Markup], int]:
    count, ticks, is_change = len(chart.rows), _axis(chart), chart.min_gain is not None
    scale = _Scale(ticks[0], ticks[-1])
    body = []
    for place, tick in enumerate(ticks):
        anchor = "start" if place == 0 else "end" if place == len(ticks) - 1 else "middle"
        number = plain(100 * tick, signed=is_change)
        body += [_through(scale(tick), count, "grid"), _text(number, scale(tick), ROW * count + 16, "tick", anchor)]
    if chart.min_gain is not None:
        for index, row in enumerate(chart.rows):
            if row.unseen is not None:
                body.append(_box("unseen", scale.clipped(-row.unseen), scale.clipped(row.unseen), ROW * index))
        body.append(_through(scale(0.0), count, "zero"))
        ends = [end for end in (-chart.min_gain, chart.min_gain) if ticks[0] <= end <= ticks[-1]]
        body += [_through(scale(end), count, "min-gain") for end in ends]
    for index, row in enumerate(chart.rows):
        if row.is_line and row.shown is not None:
            body.append(_through(scale(row.shown.mean), index + 1, "control"))
        body += _names(row, ROW * index, is_change=is_change)
        if not row.is_line and row.shown is not None:
            body += _measured(row, row.shown, scale, ROW * index, is_change=is_change)
    return body, ROW * count + AXIS


def _axis(chart: Rows) -> list[float]:
    shown = [row.shown for row in chart.rows if row.shown is not None]
    values = [value for each in shown for value in (each.mean, each.low, each.high) if value is not None]
    values += [dot for row in chart.rows for seeds in row.dots.values() for dot in seeds.values()]
    if chart.min_gain is None:
        return nice_ticks(min([*values, 0.0]), max([*values, 0.05]))
    reach = max([*map(abs, values), LEAST_REACH])
    return nice_ticks(min([0.0, *values]) - 0.1 * reach if reach > LEAST_REACH else -reach, reach)


def _names(row: Row, y: int, *, is_change: bool) -> list[Markup]:
    shown, with_interval = row.shown, row.shown is not None and row.shown.low is not None
    label = _words(row.label, ROOM if is_change or not with_interval else ROOM_BESIDE_INTERVAL) + " ✓" * row.is_best
    name = _text(label, "0%", y + NAMED_AT, "control-label" if row.is_line else "row-label")
    if shown is None:
        return [name, _text(_words(t("not testable") if is_change else t("missing")), "100%", y + NAMED_AT, "missing")]
    value = change(shown.mean) if is_change else points(shown.mean)
    if not is_change and shown.low is not None and shown.high is not None:
        value += f"  ({points(shown.low)} – {points(shown.high)})"
    return [name, _text(value, "100%", y + NAMED_AT, "row-value")]


def _measured(row: Row, shown: Interval | Difference, scale: _Scale, y: int, *, is_change: bool) -> list[Markup]:
    """A bar, or a dot where it is a difference; the interval, and the values of single runs."""
    mean, middle, body = shown.mean, y + DRAWN_AT, []
    if not is_change:
        bar = scale.clipped(min(mean, 0.0))
        body.append(_box(f"bar {row.css}", bar, bar + 100 * abs(mean) / (scale.high - scale.low), y))
    if shown.low is not None and shown.high is not None:
        left, right = f"{scale.clipped(shown.low):.2f}%", f"{scale.clipped(shown.high):.2f}%"
        for x1, x2, half in ((left, right, 0), (left, left, 4), (right, right, 4)):
            body.append(_tag("line", f"whisker {row.css}", x1=x1, x2=x2, y1=middle - half, y2=middle + half))
    for place, seeds in enumerate(row.dots.values()):
        beside = DOTS_REACH * (2 * place / (len(row.dots) - 1) - 1) if len(row.dots) > 1 else 0
        radius = 3 if len(row.dots) <= FEW else 2
        body += [_tag("circle", "dot", cx=scale(dot), cy=round(middle + beside, 1), r=radius) for dot in seeds.values()]
    if is_change:
        body.append(_tag("circle", f"mean {row.css}", cx=scale(mean), cy=middle, r=5))
    return body


def _box(css: str, left: float, right: float, y: int) -> Markup:
    return _tag("rect", css, x=f"{left:.2f}%", y=y + BAND[0] + 1, width=f"{right - left:.2f}%", height=14, rx=3)


def _through(x: str, rows: int, css: str) -> Markup:
    """A line across all rows at one place, interrupted between the bands, where the names and values are."""
    begin, end = BAND
    return _all(_tag("line", css, x1=x, x2=x, y1=ROW * row + begin, y2=ROW * row + end) for row in range(rows))


def _lines(chart: Lines) -> tuple[list[Markup], int]:
    """The numbers of the upward axis stand left of the picture, where no curve runs."""
    height, levels = chart.height, list(chart.levels)
    across, upward = _Scale(*chart.across), _Scale(max(levels), min(levels))
    heights = {level: round(height * upward.share(level), 1) for level in levels}
    body = [_tag("line", "grid", x1="0%", x2="100%", y1=y, y2=y) for y in heights.values()]
    for place, (x, written) in enumerate(chart.numbers.items()):
        anchor = "start" if place == 0 else "end" if across.share(x) > 0.9 else "middle"
        body.append(_text(written, across(x), height + 16, "tick", anchor))

    def place_of(x: float, y: float) -> str:
        return f"{100 * across.share(x):.2f},{100 * upward.share(y):.2f}"

    bands, curves, dots = [], [], []
    for line in chart.lines:
        lower = [place_of(point.x, point.low) for point in line.points if point.low is not None]
        upper = [place_of(point.x, point.high) for point in line.points if point.high is not None]
        bands += [_tag("polygon", f"band {line.css}", points=" ".join([*lower, *reversed(upper)]))] if lower else []
        path = " ".join(place_of(point.x, point.y) for point in line.points)
        curves.append(_tag("polyline", f"curve {line.css}{' dashed' * line.dashed}", points=path))
        for point in line.points:
            if point.title:
                title, y = Markup("<title>{}</title>").format(point.title), round(height * upward.share(point.y), 1)
                dots.append(_tag("circle", f"end {line.css}", title, cx=across(point.x), cy=y, r=4))
    # A square of 100 x 100, stretched to the width of the picture.
    frame = '<svg x="0" y="0" width="100%" height="{}" viewBox="0 0 100 100" preserveAspectRatio="none">{}</svg>'
    body += [Markup(frame).format(height, _all([*bands, *curves])), *dots]
    numbers = [_text(chart.levels[level], "0%", round(y + 4, 1), "tick", "start") for level, y in heights.items()]
    picture = Markup('<svg x="{}%" y="0" width="{}%" height="{}">{}</svg>')
    return [*numbers, picture.format(GUTTER, 100 - GUTTER, height + AXIS, _all(body))], height + AXIS


def _text(content: str | Markup, x: str, y: float, css: str, anchor: str | None = None) -> Markup:
    """`anchor`: of its own; else at the edge where it stands."""
    return _tag("text", css, content, x=x, y=y, text_anchor=anchor or ("end" if x == "100%" else "start"))


def _tag(name: str, css: str, content: str = "", **attributes: object) -> Markup:
    written = _all(Markup(' {}="{}"').format(key.replace("_", "-"), value) for key, value in attributes.items())
    return Markup('<{0} class="{1}"{2}>{3}</{0}>').format(Markup(name), css, written, content)


def _all(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def _words(text: Text, most: int = 100) -> Markup:
    """Content of an SVG <text>, in both languages where they differ. What is wider than `most` columns (Chinese
    characters take two) ends in an ellipsis, and its title is the full name."""
    en, zh = (_cut(each.replace("`", ""), most) for each in (text.en, text.zh))  # no code font here
    return en if en == zh else Markup('<tspan lang="en">{}</tspan><tspan lang="zh-Hans">{}</tspan>').format(en, zh)


def _cut(text: str, most: int) -> Markup:
    if cell_len(text) <= most:
        return escape(text)
    return Markup("{}…<title>{}</title>").format(set_cell_size(text, most - 1).rstrip(), text)


def chart_style() -> str:
    """charts.css, and for every role a colour: --hue-1 for the first of `ROLES`, and so on."""
    return _css() + "".join(f".{css} {{ --role: var(--{hue}); }}\n" for css, hue in _role_hues().items())


def _role_hues() -> dict[str, str]:
    return {f"role-{role}": f"hue-{place}" for place, role in enumerate((*ROLES, "other"), 1)}


def plain_style() -> str:
    """The same for files: without variables, which only browsers know, in the colours of paper.

    A rule with the colour of a role becomes one rule for each role.
    """
    colours = dict(re.findall(r"--([\w-]+): ([^;]+);", _css()))
    rules = []
    for rule in _css().splitlines():
        if rule.startswith("svg "):
            each = [rule]
            if "var(--role)" in rule:
                each = [
                    rule.replace(" {", f".{css} {{").replace("--role", f"--{hue}") for css, hue in _role_hues().items()
                ]
            rules += [re.sub(r"var\(--([\w-]+)\)", lambda used: colours[used[1]], one) for one in each]
    return "\n".join(rules)


def _css() -> str:
    return files("adaptbert.report").joinpath("charts.css").read_text(encoding="utf-8")


def write_figures(figures: Iterable[Figure], folder: Path) -> None:
    """Write <name>.svg and <name>.zh.svg of all of them atomically, the folder as a whole."""
    with atomic_write(folder) as part:
        part.mkdir()
        for figure in figures:
            for language, end in ENDS.items():
                (part / f"{figure.name}{end}").write_text(standalone(figure, language), encoding="utf-8")


def standalone(figure: Figure, language: Language) -> str:
    """A file that stands alone, in one language: title and caption are in the picture, its style is written out."""
    picture = figure.__html__()
    title, caption = (getattr(text, language) for text in (figure.title, figure.caption))
    heading = f"{figure.of}{': ' if language == 'en' else '：'}{title}" if figure.of else title
    caption, columns = caption.replace("`", ""), int(WIDTH / LETTER)
    # Text without spaces between words is cut at any character.
    is_wide = cell_len(caption) > len(caption)
    lines = chop_cells(caption, columns) if is_wide else textwrap.wrap(caption, columns)
    above = [_text(heading, "0", 14, "heading")]
    above += [_text(line, "0", 14 + LINE * place, "note") for place, line in enumerate(lines, 1)]
    legend, y = _legend(figure.legend, 14 + LINE * (len(lines) + 1))
    return TEMPLATES.get_template("figure.svg.j2").render(
        name=figure.name,
        language=TAGS[language],
        heading=heading,
        lines=lines,
        above=_all([*above, *legend]),
        y=y + 10,
        picture=_in(language, picture),
        height=y + 10 + int(re.findall(r'^<svg class="chart"[^>]* height="(\d+)"', picture)[0]),
        width=WIDTH,
        margin=MARGIN,
        style=Markup(plain_style()),
    )


def _legend(legend: Mapping[str, str], y: int) -> tuple[list[Markup], int]:
    """Swatches with their names, from left to right, and the place below them."""
    parts, x = [], 0
    for label, css in legend.items():
        width = 40 + round(cell_len(label) * LETTER * 1.1)
        if x and x + width > WIDTH:
            x, y = 0, y + LINE
        parts.append(_tag("rect", f"bar {css}", x=x, y=y - 10, width=11, height=11, rx=3))
        parts.append(_text(label, str(x + 17), y, "note"))
        x += width
    return parts, y if legend else y - LINE


def _in(language: Language, picture: Markup) -> Markup:
    other = TAGS["zh" if language == "en" else "en"]
    one = re.sub(rf'<tspan lang="{other}">.*?</tspan>', "", picture, flags=re.DOTALL)
    one = re.sub(r'<svg class="chart"[^>]*?(?= width=)', '<svg class="chart"', one)
    return Markup(one.replace(f'<tspan lang="{TAGS[language]}">', "<tspan>"))
