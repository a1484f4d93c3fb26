"""A figure as data, and its SVG: on the page in both languages, and as a file of its own in each.

Places along x are percentages of the width and everything else is in pixels, so that text keeps its size on a telephone
and on a wide screen. No line crosses a text. charts.css gives the colours: `role-*` is how an arm was trained,
`verdict-*` is the verdict on a step.
"""

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

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
HEIGHT, AXIS = 200, 24
"""Height of curves, and of the numbers below a picture."""
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


@dataclass(frozen=True)
class Picture:
    """What stands in an <svg> as wide as the page lets it be."""

    height: int
    parts: Sequence[Markup]


@dataclass(frozen=True)
class Row:
    """What is measured in one row of a chart.

    Attributes:
        css: what its colour stands for.
        shown: its value with an interval; None where there is no result.
        dots: replicate -> seed -> value.
        unseen: effects up to this size, which most studies would not show; drawn in grey.
        is_line: a line through the bars above in place of a bar of its own.
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
class Line:
    """A curve.

    Attributes:
        css: what its colour stands for.
        points: (x, the value with an interval, what its dot says); without words it has none.
    """

    css: str
    points: Sequence[tuple[float, Interval, str]]
    dashed: bool = False


@dataclass(frozen=True)
class Figure:
    """One figure of the page.

    Attributes:
        name: the id of its caption on the page, and the name of its files.
        of: the task, in the title of the file; on the page it stands under its heading.
        legend: name -> what its colour stands for.
    """

    name: str
    title: Text
    caption: Text
    picture: Picture
    of: str = ""
    legend: Mapping[str, str] = field(default_factory=dict)

    def __html__(self) -> Markup:
        whole = Markup('<svg class="chart" role="img" aria-labelledby="{}" width="100%" height="{}">{}</svg>')
        return whole.format(self.name, self.picture.height, _all(self.picture.parts))


def nice_ticks(low: float, high: float) -> list[float]:
    """About five round numbers that enclose low and high."""
    least = (high - low or 1.0) / 5
    power = 10.0 ** math.floor(math.log10(least))
    step = power * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= least * 0.999999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * place, 10) for place in range(first, max(last, first + 1) + 1)]


def draw_rows(rows: Sequence[Row], min_gain: float | None = None) -> Picture:
    """Bars from 0, or differences around it.

    Args:
        min_gain: of differences, the smallest gain worth having: a line to both sides of 0; None: these are bars.
    """
    shown = [row.shown for row in rows if row.shown is not None]
    values = [value for each in shown for value in (each.mean, each.low, each.high) if value is not None]
    values += [dot for row in rows for seeds in row.dots.values() for dot in seeds.values()]
    ticks, parts, is_change = nice_ticks(min([*values, 0.0]), max([*values, 0.05])), [], min_gain is not None
    if is_change:
        reach = max([*map(abs, values), LEAST_REACH])
        ticks = nice_ticks(min([0.0, *values]) - 0.1 * reach if reach > LEAST_REACH else -reach, reach)
    first, *_, last = ticks
    scale = _scale(first, last)
    for tick in ticks:
        anchor = {first: "start", last: "end"}.get(tick, "middle")
        number = _text(plain(100 * tick, signed=is_change), scale(tick), ROW * len(rows) + 16, "tick", anchor)
        parts += [_through(scale(tick), range(len(rows)), "grid"), number]
    if min_gain is not None:
        for y, row in enumerate(rows):
            if row.unseen is not None:
                parts.append(_box("unseen", scale(-row.unseen), scale(row.unseen), ROW * y))
        parts.append(_through(scale(0.0), range(len(rows)), "zero"))
        ends = [end for end in (-min_gain, min_gain) if first <= end <= last]
        parts += [_through(scale(end), range(len(rows)), "min-gain") for end in ends]
    for y, row in enumerate(rows):
        if row.is_line and row.shown is not None:
            bars = [place for place, other in enumerate(rows[:y]) if not other.is_line]
            parts.append(_through(scale(row.shown.mean), [*bars, y], "control"))
        parts += _names(row, ROW * y, is_change=is_change)
        if not row.is_line and row.shown is not None:
            parts += _measured(row, row.shown, scale, ROW * y, is_change=is_change)
    return Picture(ROW * len(rows) + AXIS, parts)


def draw_lines(
    lines: Sequence[Line], across: tuple[float, float], numbers: Mapping[float, str], times: int = 1
) -> Picture:
    """Curves between two axes; the numbers of the upward axis stand left of them, where no curve runs.

    Args:
        across: the ends of the axis to the right; `numbers`: its places, with what is written there.
        times: values by this are the numbers of the upward axis.
    """
    shown = [interval for line in lines for _, interval, _ in line.points]
    values = [value for each in shown for value in (each.mean, each.low, each.high) if value is not None]
    levels = nice_ticks(min(values, default=0.0), max(values, default=1.0))
    to_right, upward = _scale(*across), _scale(levels[-1], levels[0])
    left, body, bands, curves, dots = [], [], [], [], []
    for level in levels:
        y = round(HEIGHT * upward(level) / 100)
        left.append(_text(plain(times * level), 0.0, y + 4, "tick"))
        body.append(_tag("line", "grid", x1=0.0, x2=100.0, y1=y, y2=y))
    for place, (x, written) in enumerate(numbers.items()):
        anchor = "start" if place == 0 else "end" if to_right(x) > 90 else "middle"
        body.append(_text(written, to_right(x), HEIGHT + 16, "tick", anchor))

    def path(places: Iterable[tuple[float, float | None]]) -> str:
        return " ".join(f"{to_right(x):.2f},{upward(y):.2f}" for x, y in places if y is not None)

    for line in lines:
        ends = [(x, value.low) for x, value, _ in line.points]
        ends += [(x, value.high) for x, value, _ in reversed(line.points)]
        bands.append(_tag("polygon", f"band {line.css}", points=path(ends)))
        own = path((x, value.mean) for x, value, _ in line.points)
        curves.append(_tag("polyline", f"curve {line.css}{' dashed' * line.dashed}", points=own))
        for x, value, words in line.points:
            if words:
                title, y = Markup("<title>{}</title>").format(words), round(HEIGHT * upward(value.mean) / 100)
                dots.append(_tag("circle", f"end {line.css}", title, cx=to_right(x), cy=y, r=4))
    # A square of 100 x 100, stretched to the width of the picture.
    frame = '<svg x="0" y="0" width="100%" height="{}" viewBox="0 0 100 100" preserveAspectRatio="none">{}</svg>'
    body += [Markup(frame).format(HEIGHT, _all([*bands, *curves])), *dots]
    right = Markup('<svg x="{}%" y="0" width="{}%" height="{}">{}</svg>')
    return Picture(HEIGHT + AXIS, [*left, right.format(GUTTER, 100 - GUTTER, HEIGHT + AXIS, _all(body))])


def _scale(low: float, high: float) -> Callable[[float], float]:
    """From a value to its place, in percent."""
    return lambda value: 100 * min(1.0, max(0.0, (value - low) / (high - low)))


def _names(row: Row, y: int, *, is_change: bool) -> list[Markup]:
    shown, value, css, room = row.shown, _words(t("not testable") if is_change else t("missing")), "missing", ROOM
    if shown is not None:
        value, css = escape(change(shown.mean) if is_change else points(shown.mean)), "row-value"
        if not is_change and shown.low is not None and shown.high is not None:
            value, room = value + f"  ({points(shown.low)} – {points(shown.high)})", ROOM_BESIDE_INTERVAL
    label = _words(row.label, room) + " ✓" * row.is_best
    name = _text(label, 0.0, y + NAMED_AT, "control-label" if row.is_line else "row-label")
    return [name, _text(value, 100.0, y + NAMED_AT, css, "end")]


def _measured(
    row: Row, shown: Interval | Difference, scale: Callable[[float], float], y: int, *, is_change: bool
) -> Iterator[Markup]:
    """A bar, or a dot where it is a difference; the interval, and the values of single runs."""
    middle = y + DRAWN_AT
    if not is_change:
        yield _box(f"bar {row.css}", scale(min(shown.mean, 0.0)), scale(max(shown.mean, 0.0)), y)
    if shown.low is not None and shown.high is not None:
        left, right = scale(shown.low), scale(shown.high)
        for x1, x2, half in ((left, right, 0), (left, left, 4), (right, right, 4)):
            yield _tag("line", f"whisker {row.css}", x1=x1, x2=x2, y1=middle - half, y2=middle + half)
    for place, seeds in enumerate(row.dots.values()):
        beside = round(DOTS_REACH * (2 * place / (len(row.dots) - 1) - 1)) if len(row.dots) > 1 else 0
        radius = 3 if len(row.dots) <= FEW else 2
        yield from (_tag("circle", "dot", cx=scale(dot), cy=middle + beside, r=radius) for dot in seeds.values())
    if is_change:
        yield _tag("circle", f"mean {row.css}", cx=scale(shown.mean), cy=middle, r=5)


def _box(css: str, left: float, right: float, y: int) -> Markup:
    return _tag("rect", css, x=left, y=y + BAND[0] + 1, width=right - left, height=14, rx=3)


def _through(x: float, rows: Iterable[int], css: str) -> Markup:
    """A line across these rows at one place, interrupted between the bands, where the names and values are."""
    begin, end = BAND
    return _all(_tag("line", css, x1=x, x2=x, y1=ROW * row + begin, y2=ROW * row + end) for row in rows)


def _text(content: str | Markup, x: float, y: int, css: str, anchor: str = "start") -> Markup:
    return _tag("text", css, content, x=x, y=y, text_anchor=anchor)


def _tag(name: str, css: str, content: str = "", **attributes: float | str) -> Markup:
    """An element; a float is a place in percent, and a whole number one in pixels."""
    values = {key: f"{value:.2f}%" if isinstance(value, float) else value for key, value in attributes.items()}
    written = _all(Markup(' {}="{}"').format(key.replace("_", "-"), value) for key, value in values.items())
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
    roles = [f".role-{role} {{ color: var(--hue-{place}); }}\n" for place, role in enumerate((*ROLES, "other"), 1)]
    return files("adaptbert.report").joinpath("charts.css").read_text(encoding="utf-8") + "".join(roles)


def plain_style() -> str:
    """The same for files: without variables, which only browsers know, in the colours of paper."""
    colours = dict(re.findall(r"--([\w-]+): ([^;]+);", chart_style()))
    rules = [rule for rule in chart_style().splitlines() if rule.startswith(("svg ", ".role-"))]
    return re.sub(r"var\(--([\w-]+)\)", lambda used: colours[used[1]], "\n".join(rules))


def write_figures(figures: Iterable[Figure], folder: Path) -> None:
    """Write <name>.svg and <name>.zh.svg of all of them atomically, the folder as a whole."""
    with atomic_write(folder) as part:
        part.mkdir()
        for figure in figures:
            for language, end in {"en": ".svg", "zh": ".zh.svg"}.items():
                (part / f"{figure.name}{end}").write_text(standalone(figure, language), encoding="utf-8")


def standalone(figure: Figure, language: str) -> str:
    """A file that stands alone, in one language: title and caption are in the picture, its style is written out."""
    title, caption = (getattr(text, language) for text in (figure.title, figure.caption))
    heading = f"{figure.of}{': ' if language == 'en' else '：'}{title}" if figure.of else title
    caption, columns = caption.replace("`", ""), int(WIDTH / LETTER)
    # Text without spaces between words is cut at any character.
    is_wide = cell_len(caption) > len(caption)
    lines = chop_cells(caption, columns) if is_wide else textwrap.wrap(caption, columns)
    above = [_text(heading, 0, 14, "heading")]
    above += [_text(line, 0, 14 + LINE * place, "note") for place, line in enumerate(lines, 1)]
    legend, y = _legend(figure.legend, 14 + LINE * (len(lines) + 1))
    tag = "zh-Hans" if language == "zh" else "en"
    return TEMPLATES.get_template("figure.svg.j2").render(
        name=figure.name,
        language=tag,
        heading=heading,
        lines=lines,
        above=_all([*above, *legend]),
        y=y + 10,
        picture=Markup(re.sub(rf'<tspan lang="(?!{tag}").*?</tspan>', "", figure.__html__())),
        height=y + 10 + figure.picture.height,
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
        swatch = _tag("rect", f"bar {css}", x=x, y=y - 10, width=11, height=11, rx=3)
        parts += [swatch, _text(label, x + 17, y, "note")]
        x += width
    return parts, y if legend else y - LINE
