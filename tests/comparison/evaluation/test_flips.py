"""Rows that flipped between two arms: counted, named, and added up by class, length and words."""

import numpy as np

from adaptbert.comparison.evaluation.flips import RowFacts, flips

ROWS = [
    RowFacts(f"r{number}", "a" if number < 3 else "b", 10 * (number + 1), has_new_words=number in (1, 3))
    for number in range(6)
]
ARM = np.array([1.0, 1.0, 0.4, 0.0, 0.2, 1.0])
OTHER = np.array([0.0, 0.5, 0.4, 1.0, 0.4, 1.0])


def test_rows_that_changed_by_half_of_the_runs() -> None:
    changed = flips(ARM, OTHER, ROWS)
    assert (changed.rows, changed.better, changed.worse) == (6, 2, 1)
    assert changed.gained == [("r0", 1.0), ("r1", 0.5)]
    assert changed.lost == [("r3", -1.0)]


def test_parts_add_up_to_the_whole() -> None:
    changed = flips(ARM, OTHER, ROWS)
    assert [(part.name, part.rows) for part in changed.by_class] == [("a", 3), ("b", 3)]
    assert [(part.name, part.rows) for part in changed.by_length] == [("10-20", 2), ("30-40", 2), ("50-60", 2)]
    assert [(part.name, part.rows) for part in changed.by_words] == [("new", 2), ("known", 4)]
    for parts in (changed.by_class, changed.by_length, changed.by_words):
        total = sum(part.rows * part.change for part in parts)
        assert abs(total - float((ARM - OTHER).sum())) < 1e-12


def test_rows_without_a_label_or_of_one_length() -> None:
    plain = [RowFacts(row.id, None, 5, has_new_words=True) for row in ROWS]
    changed = flips(ARM, OTHER, plain)
    assert changed.by_class == changed.by_length == changed.by_words == []
    backwards = flips(OTHER, ARM, plain)
    assert (backwards.gained, backwards.lost) == ([("r3", 1.0)], [("r0", -1.0), ("r1", -0.5)])
