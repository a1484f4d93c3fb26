"""Two arms on the same test rows -> the rows that one answers rightly and the other does not, by class, length, words.

Row ids and labels come out, never text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adaptbert.comparison.statistics.rows import Floats

FLIPPED = 0.5
"""Least difference of the shares of right runs at which a row counts as flipped."""
SHOWN = 10
"""Rows that are named for each direction."""
PARTS = 3
"""Of the rows by length, with as many rows in each."""


@dataclass(frozen=True)
class RowFacts:
    """What is known of a test row.

    Attributes:
        label: its right label; None where a row has no single one.
        length: of its inputs, in characters.
        has_new_words: whether one of its words is in no training row.
    """

    id: str
    label: str | None
    length: int
    has_new_words: bool


@dataclass(frozen=True)
class Part:
    """Some of the rows: a class, or a range of lengths.

    Attributes:
        name: the label; for lengths the shortest and the longest, `12-40`; for words `new` or `known`.
        change: of the share of right answers.
    """

    name: str
    rows: int
    change: float


@dataclass(frozen=True)
class Flips:
    """What changed from one arm to the other, row by row.

    Attributes:
        better, worse: rows that flipped.
        gained, lost: (id, change of the share of right runs) of those that changed most.
        by_class: empty where rows have no single label.
        by_words: rows with a word that no training row has, and the others; empty where all are alike in this.
    """

    rows: int
    better: int
    worse: int
    gained: list[tuple[str, float]]
    lost: list[tuple[str, float]]
    by_class: list[Part]
    by_length: list[Part]
    by_words: list[Part]


def flips(arm: Floats, other: Floats, rows: Sequence[RowFacts]) -> Flips:
    """Compare an arm with the one without the step.

    Args:
        arm, other: for each row the share of runs that answer it rightly.
    """
    change = arm - other
    order = np.argsort(-change, kind="stable")
    gained = [(rows[place].id, float(change[place])) for place in order if change[place] >= FLIPPED]
    lost = [(rows[place].id, float(change[place])) for place in order[::-1] if change[place] <= -FLIPPED]
    return Flips(
        len(rows),
        len(gained),
        len(lost),
        gained[:SHOWN],
        lost[:SHOWN],
        _by_class(change, rows),
        _by_length(change, rows),
        _by_words(change, rows),
    )


def _by_class(change: Floats, rows: Sequence[RowFacts]) -> list[Part]:
    labels = sorted({row.label for row in rows if row.label is not None})
    return [_part(label, change, [row.label == label for row in rows]) for label in labels]


def _by_length(change: Floats, rows: Sequence[RowFacts]) -> list[Part]:
    lengths = np.array([row.length for row in rows])
    if len(set(lengths.tolist())) < PARTS:
        return []
    parts = [part for part in np.array_split(np.argsort(lengths, kind="stable"), PARTS) if len(part)]
    return [
        _part(f"{lengths[part].min()}-{lengths[part].max()}", change, np.isin(np.arange(len(rows)), part))
        for part in parts
    ]


def _by_words(change: Floats, rows: Sequence[RowFacts]) -> list[Part]:
    new = [row.has_new_words for row in rows]
    if len(set(new)) < 2:
        return []
    return [_part("new", change, new), _part("known", change, [not each for each in new])]


def _part(name: str, change: Floats, chosen: Sequence[bool] | NDArray[np.bool_]) -> Part:
    own = change[np.asarray(chosen)]
    return Part(name, len(own), float(own.mean()))
