"""A figure with its caption; each becomes a file in each language: <name>.svg, <name>.zh.svg.

The files stand alone: their style is written out in the colours of the light page, and their title and caption are
part of the picture.
"""

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from markupsafe import Markup
from rich.cells import cell_len, chop_cells

from adaptbert.core.files import atomic_write
from adaptbert.report.charts.svg import plain_style, tag, text
from adaptbert.report.language import Text

Language = Literal["en", "zh"]

WIDTH, MARGIN, LINE = 760, 24, 17
"""Pixels of a file: what is inside its edge, its edge, and the height of a line of text."""
LETTER = 6.6
"""Most pixels that a column of 12 px letters takes; Chinese characters take two columns."""
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", sans-serif'
TAGS = {"en": "en", "zh": "zh-Hans"}


@dataclass(frozen=True)
class Figure:
    """One figure of the page.

    Attributes:
        name: the id of its caption on the page, and the name of its files.
        drawn: an <svg> that is as wide as the page lets it be.
        legend: what a colour stands for, and its role.
        of: the task or text, in the title of the file; on the page it stands under its heading.
        start: of which it is alone, so that the choice of a start hides it; None: the choice leaves it.
    """

    name: str
    title: Text | str
    caption: Text
    drawn: Markup
    legend: Sequence[tuple[str, str]] = field(default=())
    of: str = ""
    start: str | None = None

    def __html__(self) -> Markup:
        return self.drawn


def write_figures(figures: Iterable[Figure], folder: Path) -> None:
    """Write all files atomically, the folder as a whole."""
    with atomic_write(folder) as part:
        part.mkdir()
        for figure in figures:
            (part / f"{figure.name}.svg").write_text(standalone(figure, "en"), encoding="utf-8")
            (part / f"{figure.name}.zh.svg").write_text(standalone(figure, "zh"), encoding="utf-8")


def standalone(figure: Figure, language: Language) -> str:
    """The figure as a file of its own, in one language."""
    title = figure.title if isinstance(figure.title, str) else getattr(figure.title, language)
    heading = f"{figure.of}{': ' if language == 'en' else '：'}{title}" if figure.of else title
    caption = _lines(getattr(figure.caption, language).replace("`", ""))
    parts = [text(heading, "0", 14, "heading")]
    y = 14
    for line in caption:
        y += LINE
        parts.append(text(line, "0", y, "note"))
    legend, y = _legend(figure, y + LINE)
    top = y + 10
    drawn = _in(language, figure.drawn)
    sized = re.match(r'<svg class="chart"[^>]* height="(\d+)"', drawn)
    assert sized is not None, f"{figure.name} has no height"
    height = top + int(sized[1])
    inner = '<svg x="{x}" y="{x}" width="{width}" height="{height}">{parts}<svg y="{top}">{drawn}</svg></svg>'
    body = Markup(inner).format(
        x=MARGIN, width=WIDTH, height=height, parts=Markup("").join([*parts, *legend]), top=top, drawn=drawn
    )
    return str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{name}" xml:lang="{language}"'
            ' width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
            '<title id="{name}">{heading}</title>\n<desc>{caption}</desc>\n<style>\n{style}\n</style>\n'
            '<rect class="paper" width="{width}" height="{height}"/>\n{body}\n</svg>\n'
        ).format(
            name=figure.name,
            language=TAGS[language],
            width=WIDTH + 2 * MARGIN,
            height=height + 2 * MARGIN,
            heading=heading,
            caption=" ".join(caption),
            style=Markup(_style()),
            body=body,
        )
    )


def _style() -> str:
    own = [
        f"svg {{ overflow: visible; font-family: {FONT}; }}",
        ".paper { fill: #ffffff; }",
        plain_style(),
        "svg .heading { font-size: 15px; font-weight: 600; }",
        "svg .note { font-size: 12px; fill: #566372; }",
    ]
    return "\n".join(own)


def _lines(caption: str) -> list[str]:
    """Lines that fit the width; text without spaces between words is cut at any character."""
    columns = int(WIDTH / LETTER)
    if cell_len(caption) > len(caption):
        return chop_cells(caption, columns)
    return textwrap.wrap(caption, columns)


def _legend(figure: Figure, y: int) -> tuple[list[Markup], int]:
    """Swatches with their names, from left to right, and the place below them."""
    parts, x = [], 0
    for label, role in figure.legend:
        width = 40 + round(cell_len(label) * LETTER * 1.1)
        if x and x + width > WIDTH:
            x, y = 0, y + LINE
        parts.append(tag("rect", f"bar role-{role}", x=x, y=y - 10, width=11, height=11, rx=3))
        parts.append(text(label, str(x + 17), y, "note"))
        x += width
    return parts, y if figure.legend else y - LINE


def _in(language: Language, drawn: Markup) -> Markup:
    """A chart with the words of one language."""
    other = TAGS["zh" if language == "en" else "en"]
    one = re.sub(rf'<tspan lang="{other}">.*?</tspan>', "", drawn, flags=re.DOTALL)
    one = re.sub(r'<svg class="chart"[^>]*?(?= width=)', '<svg class="chart"', one)
    return Markup(one.replace(f'<tspan lang="{TAGS[language]}">', "<tspan>"))
