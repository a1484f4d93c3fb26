"""Pieces of charts: round numbers for an axis, places along it, lines and text.

Places along x are percentages of the chart's width and everything else is in pixels, so that text keeps its size on
a telephone and on a wide screen. No line crosses a text.
"""

import math
import re
from collections.abc import Callable, Sequence
from importlib.resources import files

from markupsafe import Markup, escape

from adaptbert.comparison.questions import ROLES
from adaptbert.report.language import Text

ROW = 46
"""Height of a row of a chart: its label above, then the band that it is drawn in."""
BAND = (21, 37)
"""Where in its row the band begins and ends: a line through it stays clear of the text above and below."""
NAMED_AT = 13
"""Where in its row the names and values stand."""


def style_sheet() -> Markup:
    """Of the page: light.css, page.css, charts.css, and for every role a colour: --hue-1 for the first of `ROLES`,
    and so on."""
    return Markup(_css("charts/light.css") + _css("page.css") + chart_style())


def chart_style() -> str:
    """The part that the charts need."""
    roles = [f".role-{role} {{ --role: var(--hue-{place}); }}\n" for place, role in enumerate(ROLES, 1)]
    return _css("charts/charts.css") + "".join(roles)


def plain_style() -> str:
    """The same without variables, which only browsers know, in the colours of paper: for files.

    A rule with the colour of a role becomes one rule for each role.
    """
    colours = dict(_VARIABLE.findall(_css("charts/light.css")))
    of_roles = dict(_OF_ROLE.findall(chart_style()))
    rules = []
    for rule in chart_style().splitlines():
        selector, brace, declarations = rule.partition(" {")
        if not brace or _OF_ROLE.match(rule):
            continue
        each = [(selector, declarations)]
        if "var(--role)" in declarations:
            each = [
                (f"{selector}.role-{role}", declarations.replace("--role", f"--{hue}"))
                for role, hue in of_roles.items()
            ]
        rules += [f"{name} {{{_USED.sub(lambda used: colours[used[1]], style)}" for name, style in each]
    return "\n".join(rules)


def _css(name: str) -> str:
    return files("adaptbert.report").joinpath(name).read_text(encoding="utf-8")


_VARIABLE = re.compile(r"--([\w-]+): ([^;]+);")
_OF_ROLE = re.compile(r"\.role-(\w+) { --role: var\(--([\w-]+)\); }")
_USED = re.compile(r"var\(--([\w-]+)\)")


def nice_ticks(low: float, high: float) -> list[float]:
    """About five round numbers that enclose low and high."""
    step = _nice((high - low or 1.0) / 5)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * place, 10) for place in range(first, max(last, first + 1) + 1)]


def _nice(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return power * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * power >= step * 0.999999)


class Scale:
    """A value as a place between 0 % and 100 %."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def clip(self, value: float) -> float:
        return 100 * min(1.0, max(0.0, self.share(value)))

    def __call__(self, value: float) -> str:
        return f"{100 * self.share(value):.2f}%"


def grid(ticks: Sequence[float], scale: Scale, rows: int, write: Callable[[float], str]) -> Markup:
    """Ticks through the bands of all rows, and their numbers below."""
    body = []
    for place, value in enumerate(ticks):
        anchor = "start" if place == 0 else "end" if place == len(ticks) - 1 else "middle"
        body.append(through(scale(value), rows, "grid"))
        body.append(text(write(value), scale(value), ROW * rows + 16, "tick", anchor))
    return Markup("").join(body)


def through(x: str, rows: int, css: str) -> Markup:
    """A line across all rows at one place, interrupted between the bands, where the names and values are."""
    begin, end = BAND
    return Markup("").join(
        tag("line", css, x1=x, x2=x, y1=ROW * row + begin, y2=ROW * row + end) for row in range(rows)
    )


def whisker(scale: Scale, low: float | None, high: float | None, y: float, css: str) -> Markup:
    if low is None or high is None:
        return Markup("")
    left, right = f"{scale.clip(low):.2f}%", f"{scale.clip(high):.2f}%"
    return Markup("").join(
        [
            tag("line", css, x1=left, x2=right, y1=y, y2=y),
            tag("line", css, x1=left, x2=left, y1=y - 4, y2=y + 4),
            tag("line", css, x1=right, x2=right, y1=y - 4, y2=y + 4),
        ]
    )


def svg(body: Sequence[Markup], height: int, described_by: str) -> Markup:
    return Markup('<svg class="chart" role="img" aria-labelledby="{}" width="100%" height="{}">{}</svg>').format(
        described_by, height, Markup("").join(body)
    )


def stretched(drawn: Sequence[Markup], height: int) -> Markup:
    """Shapes on a square of 100 x 100, stretched to the width of the picture."""
    frame = '<svg x="0" y="0" width="100%" height="{}" viewBox="0 0 100 100" preserveAspectRatio="none">{}</svg>'
    return Markup(frame).format(height, Markup("").join(drawn))


def text(content: str | Markup, x: str, y: float, css: str, anchor: str = "start") -> Markup:
    return tag("text", css, content, x=x, y=y, text_anchor=anchor)


def tag(name: str, css: str, content: str = "", **attributes: object) -> Markup:
    written = Markup("").join(
        Markup(' {}="{}"').format(key.replace("_", "-"), value) for key, value in attributes.items()
    )
    return Markup('<{0} class="{1}"{2}>{3}</{0}>').format(Markup(name), css, written, content)


def svg_text(text: str | Text, most: int | None = None) -> Markup:
    """As the content of an SVG <text>.

    Args:
        most: the width in columns (a Chinese character takes two); a longer name ends in an ellipsis, and its title
            is the full name.
    """
    if isinstance(text, str):
        return _cut(text, most)
    return Markup('<tspan lang="en">{}</tspan><tspan lang="zh-Hans">{}</tspan>').format(
        _cut(text.en, most), _cut(text.zh, most)
    )


def _cut(text: str, most: int | None) -> Markup:
    from rich.cells import cell_len

    room = len(text) if most is None else most
    shown = ""
    for character in text:
        room -= cell_len(character)
        if most is not None and room < 0:
            return Markup("{}…<title>{}</title>").format(shown[:-1], text)
        shown += character
    return escape(shown)
