"""The fill-in curves of a start as small multiples: a row for each class of token, a column for each rung."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from adaptbert.base.ladder import GENERAL
from adaptbert.comparison.records import Comparison
from adaptbert.comparison.report.charts.data import Data
from adaptbert.comparison.report.charts.svg import Scale, stretched, svg, tag, text
from adaptbert.comparison.report.terms import Words, points, svg_text
from adaptbert.comparison.rungs import Rung, grouped
from adaptbert.pretraining.metrics.fill_in_classes import FILL_IN_CLASSES
from adaptbert.pretraining.metrics.rung_metrics import ClassCurve, FillIn

LEAST_TOKENS = 20
"""A cell with fewer masked tokens is left empty: one of them would be 5 points or more."""
LEAST_TOP = 0.05
"""Highest accuracy of a row in which all are lower."""
HEIGHT = 44
CLASS_WIDTH, RUNG_WIDTH, TOP = 230, 150, 40
"""Pixels of a file: the names of the classes, a column, and the names of the rungs."""
BELOW = 34
"""Pixels below a chart of a file, for its figures."""
CLASSES = {
    "all": Words("all tokens", "所有词元"),
    "frequent": Words("frequent (first half of the text)", "高频（占文本的前一半）"),
    "middle": Words("middle (next 40 %)", "中频（其后 40%）"),
    "rare": Words("rare (last 10 %)", "低频（最后 10%）"),
    "function_word": Words("function words", "虚词"),
    "continuation": Words("continuation (##)", "后续子词（##）"),
    "digit": Words("digits", "数字"),
    "punctuation": Words("punctuation", "标点"),
    "emoji": Words("emoji", "表情符号"),
    "bracketed": Words("in [brackets]", "[方括号]内"),
    "hashtag": Words("in #hashtags", "#话题#内"),
    "latin_in_chinese": Words("Latin in Chinese text", "中文里的拉丁字母"),
    "domain_term": Words("domain terms", "领域词"),
}
"""What a class of token is called."""


@dataclass(frozen=True)
class Cell:
    """A class in a rung, on the rung's own held-out text.

    Attributes:
        first, last: accuracy before the first step, and of the weights of the rung.
        own, general: the curves; `general` is None where the rung's own text is general text.
        chart: the curve, with that on general text where it is another.
    """

    tokens: int
    first: float
    last: float
    untrained: float
    unigram: float
    own: ClassCurve
    general: ClassCurve | None
    chart: Markup


@dataclass(frozen=True)
class Row:
    """A class of token.

    Attributes:
        top: accuracy at the upper edge of its charts.
        cells: rung by rung; None where too few tokens are masked.
    """

    name: Words
    top: float
    cells: Sequence[Cell | None]


@dataclass(frozen=True)
class SmallMultiples:
    """The figure of a start."""

    start: str
    rungs: Sequence[Rung]
    rows: Sequence[Row]


def small_multiples(comparison: Comparison) -> list[SmallMultiples]:
    """A figure for each start whose rungs have fill-in curves; of several draws of a rung it shows the first."""
    figures = []
    for start in comparison.starts:
        firsts = [draws.first for draws in grouped(each for each in comparison.rungs if each.start == start)]
        rungs = [(rung, rung.fill_in) for rung in firsts if rung.fill_in is not None]
        rows = [row for name in FILL_IN_CLASSES if (row := _row(name, rungs, start)) is not None]
        if rows:
            figures.append(SmallMultiples(start, [rung for rung, _ in rungs], rows))
    return figures


def _row(name: str, rungs: Sequence[tuple[Rung, FillIn]], start: str) -> Row | None:
    """None where no rung has enough tokens of this class."""
    curves = [(_enough(fill_in, _own(fill_in), name), _enough(fill_in, GENERAL, name)) for _, fill_in in rungs]
    shown = [curve for own, general in curves if own is not None for curve in (own, general) if curve is not None]
    if not shown:
        return None
    top = max(LEAST_TOP, *(max(*curve.accuracy, curve.unigram) for curve in shown))
    cells = [
        None if own is None else _cell(own, None if general is own else general, rung, fill_in.steps, top, start)
        for (rung, fill_in), (own, general) in zip(rungs, curves, strict=True)
    ]
    return Row(CLASSES[name], top, cells)


def _own(fill_in: FillIn) -> str:
    """The rung's own held-out text: general text where it has no other."""
    return next((text for text in fill_in.texts if text != GENERAL), GENERAL)


def _enough(fill_in: FillIn, text: str, name: str) -> ClassCurve | None:
    curve = fill_in.texts.get(text, {}).get(name)
    return curve if curve is not None and curve.tokens >= LEAST_TOKENS else None


def _cell(
    own: ClassCurve, general: ClassCurve | None, rung: Rung, steps: Sequence[int], top: float, start: str
) -> Cell:
    across, upward = Scale(0.0, math.log1p(steps[-1]) or 1.0), Scale(top, 0.0)

    def path(values: Sequence[float]) -> str:
        places = zip(steps, values, strict=True)
        return " ".join(f"{100 * across.share(math.log1p(s)):.2f},{100 * upward.share(v):.2f}" for s, v in places)

    drawn = [tag("polyline", f"curve role-{rung.role}", points=path(own.accuracy))]
    if general is not None:
        drawn.append(tag("polyline", "curve role-general dashed", points=path(general.accuracy)))
    control = round(HEIGHT * upward.share(own.unigram), 1)
    body = [
        tag("line", "grid", x1="0%", x2="100%", y1=HEIGHT, y2=HEIGHT),
        tag("line", "worth", x1="0%", x2="100%", y1=control, y2=control),
        stretched(drawn, HEIGHT),
    ]
    kept = -1 if rung.stop is None else steps.index(rung.stop.kept_step)
    return Cell(
        tokens=own.tokens,
        first=own.accuracy[0],
        last=own.accuracy[kept],
        untrained=own.untrained,
        unigram=own.unigram,
        own=own,
        general=general,
        chart=svg(body, HEIGHT + 2, f"fill-in-{start}"),
    )


def drawn(multiples: SmallMultiples, described_by: str) -> Markup:
    """The whole figure as one picture, for its file; the page has a table in its place."""
    body = [
        text(part, str(CLASS_WIDTH + RUNG_WIDTH * place), 12 + 15 * line, "tick")
        for place, rung in enumerate(multiples.rungs)
        for line, part in enumerate(rung.path.split("/"))
    ]
    for row_place, row in enumerate(multiples.rows):
        y = TOP + (HEIGHT + BELOW) * row_place
        body.append(text(svg_text(row.name), "0", y + HEIGHT / 2, "row-label"))
        body.append(text(f"0 - {points(row.top)}", "0", y + HEIGHT / 2 + 16, "tick"))
        for place, cell in enumerate(row.cells):
            x = CLASS_WIDTH + RUNG_WIDTH * place
            if cell is None:
                body.append(text("–", str(x), y + HEIGHT / 2, "tick"))
                continue
            frame = '<svg x="{}" y="{}" width="{}" height="{}">{}</svg>'
            body.append(Markup(frame).format(x, y, RUNG_WIDTH - 20, HEIGHT + 2, cell.chart))
            body.append(text(f"{points(cell.first)} → {points(cell.last)} %", str(x), y + HEIGHT + 16, "tick"))
    return svg(body, TOP + (HEIGHT + BELOW) * len(multiples.rows), described_by, f"{width(multiples)}")


def width(multiples: SmallMultiples) -> int:
    """Of the file, in pixels."""
    return max(760, CLASS_WIDTH + RUNG_WIDTH * len(multiples.rungs))


def data_of(multiples: SmallMultiples) -> Data:
    """A row for each class, rung, text and point; the controls have one for each text."""
    rows: list[Sequence[object]] = []
    for row in multiples.rows:
        for rung, cell in zip(multiples.rungs, row.cells, strict=True):
            if cell is None or rung.fill_in is None:
                continue
            own = _own(rung.fill_in)
            for of_text, curve in ((own, cell.own), (GENERAL, cell.general)):
                if curve is None:
                    continue
                named = (row.name.en, rung.name, of_text)
                trained = zip(rung.fill_in.steps, curve.accuracy, strict=True)
                rows += [(*named, "trained", step, value) for step, value in trained]
                rows.append((*named, "random weights", None, curve.untrained))
                rows.append((*named, "most frequent token", None, curve.unigram))
    return Data(("class", "rung", "text", "model", "step", "accuracy"), rows)
