"""What a chart draws, as a table: the content of <figure>.csv. Scores are shares, as in metrics/comparison.json."""

from collections.abc import Sequence
from dataclasses import dataclass

from adaptbert.comparison.report.charts.curves import Curve, LearningCurve
from adaptbert.comparison.report.charts.rows import Bar, Mark, Whisker


@dataclass(frozen=True)
class Data:
    """A header and rows; None is an empty cell."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]


def of_bars(rows: Sequence[Bar], marks: Sequence[Mark]) -> Data:
    """A row for each mean and baseline, then one for each run; `draw` counts the draws of the bar from 1."""
    means = [(row.label, "mean", None, row.mean, row.low, row.high) for row in rows]
    baselines = [(mark.label.en, "baseline", None, mark.value, None, None) for mark in marks]
    runs = [
        (row.label, "run", draw, score, None, None)
        for row in rows
        for draw, scores in enumerate(row.dots, 1)
        for score in scores
    ]
    return Data(("name", "kind", "draw", "score", "low", "high"), [*means, *baselines, *runs])


def of_whiskers(rows: Sequence[Whisker]) -> Data:
    """Differences with their intervals."""
    return Data(
        ("step", "verdict", "difference", "low", "high", "detectable"),
        [(row.label.en, row.verdict, row.mean, row.low, row.high, row.detectable) for row in rows],
    )


def of_curves(lines: Sequence[Curve]) -> Data:
    """A row for each point."""
    rows = [(line.label, tokens, value) for line in lines for tokens, value in line.points]
    return Data(("rung", "tokens", "bits_per_char"), rows)


def of_learning(lines: Sequence[LearningCurve]) -> Data:
    """A row for each point."""
    return Data(("arm", "labels", "score", "low", "high"), [(line.label, *p) for line in lines for p in line.points])


def of_reliability(curve: Sequence[tuple[float, float]]) -> Data:
    """A row for each bin."""
    return Data(("confidence", "accuracy"), curve)
