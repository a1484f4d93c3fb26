"""Arms x tasks -> SVG: the difference of every arm to one arm of its task, as a colour and in figures.

Blue is higher and orange lower, which people with any common colour vision can tell apart (ColorBrewer, "PuOr" and
"RdBu"). The colour says how large a difference is against the largest of the map; the interval stands below the value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from adaptbert.comparison.report.charts.svg import svg, tag, text
from adaptbert.comparison.report.terms import Words, change, svg_text

NAMES, COLUMN, CELL = 116, 102, 44
"""Pixels: room for the names of arms, width and height of a cell. Two columns fit a telephone."""
HEAD = 24
STRONGEST = 0.6
"""Opacity of the strongest colour; on it, text still has a contrast of 4.5 in both schemes."""


@dataclass(frozen=True)
class Shade:
    """One cell: an arm of a task minus another arm of it.

    Attributes:
        column: the task, with its start where there are several.
        other: the arm that it is compared with.
        mean: None where a result is missing.
    """

    arm: str
    column: str
    other: str
    mean: float | None
    low: float | None
    high: float | None


def heat_map(shades: Sequence[Shade], described_by: str) -> Markup:
    """A row for each arm, a column for each task; a cell is empty where the task has no such arm."""
    arms = list(dict.fromkeys(shade.arm for shade in shades))
    columns = list(dict.fromkeys(shade.column for shade in shades))
    strongest = max((abs(shade.mean) for shade in shades if shade.mean is not None), default=0.0) or 1.0
    cells = [text(svg_text(arm, 15), "0", HEAD + CELL * place + 26, "row-label") for place, arm in enumerate(arms)]
    for place, column in enumerate(columns):
        cells.append(text(svg_text(column, 15), _middle(place), 14, "row-value", "middle"))
    for shade in shades:
        cells.append(_cell(shade, columns.index(shade.column), HEAD + CELL * arms.index(shade.arm), strongest))
    return svg(cells, HEAD + CELL * len(arms) + 4, described_by, str(width(shades)))


def width(shades: Sequence[Shade]) -> int:
    """Of the map, in pixels: it does not shrink, so that its values do not touch."""
    return NAMES + COLUMN * len({shade.column for shade in shades})


def _middle(column: int) -> str:
    return str(NAMES + COLUMN * column + COLUMN // 2)


def _cell(shade: Shade, column: int, top: int, strongest: float) -> Markup:
    place: dict[str, Any] = {"x": NAMES + COLUMN * column, "y": top, "width": COLUMN, "height": CELL}
    middle = _middle(column)
    if shade.mean is None:
        missing = text(svg_text(Words("missing", "缺失")), middle, top + 26, "missing", "middle")
        return tag("rect", "cell", **place) + missing
    value, span = change(shade.mean), None
    if shade.low is not None and shade.high is not None:
        span = Words(f"{change(shade.low)} to {change(shade.high)}", f"{change(shade.low)} 到 {change(shade.high)}")
    side = "higher" if shade.mean > 0 else "lower"
    opacity = f"{STRONGEST * abs(shade.mean) / strongest:.3f}"
    title = f"{shade.column}: {shade.arm} − {shade.other} = {value}" + (f" ({span.en})" if span else "")
    parts = [
        tag("rect", f"cell {side}", Markup("<title>{}</title>").format(title), fill_opacity=opacity, **place),
        text(value, middle, top + (19 if span else 26), "cell-value", "middle"),
    ]
    if span is not None:
        parts.append(text(svg_text(span), middle, top + 35, "cell-interval", "middle"))
    return Markup("").join(parts)
