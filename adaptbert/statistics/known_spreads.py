"""The spread of the sets that were studied -> what a design shows of a set of which nothing is known yet.

A few sets give a range and no law. docs/decisions/0045-designs-before-training.md says where each comes from;
tests/statistics/test_known_spreads.py computes the table anew from the committed runs.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from adaptbert.statistics.power import Components, Power
from adaptbert.statistics.spread import Layout


class SetSpread(NamedTuple):
    """Standard deviations of one set, in points: of a step that is trained once more, of a single run, of what a seed
    does to one arm (of the two that the recipe is about, and of the others), and of the difference of two arms by a
    single test row."""

    replicate: float
    rest: float
    seed_by_pair: float
    seed_by_others: float
    row: float

    def power(self, layout: Layout, test_rows: float, level: float) -> Power:
        """Power of a study of this layout on such a set."""
        replicate, rest, pair, others, row = ((each / 100) ** 2 for each in self)
        components = Components(np.full(2 + len(layout.others), replicate), rest, pair, others)
        return Power(components, layout, (row / test_rows, test_rows - 1), level)


CLASSES: Mapping[str, SetSpread] = {
    "section, random weights": SetSpread(0.64, 1.16, 1.55, 0.69, 13.2),
    "rct_sections, random weights": SetSpread(0.97, 1.34, 2.39, 2.72, 16.2),
    "rct_sections, MiniLM": SetSpread(0.33, 0.63, 0.87, 1.04, 10.2),
    "chemprot, random weights": SetSpread(0.84, 2.79, 1.69, 0.0, 13.2),
    "ewect_usual, random weights": SetSpread(0.67, 2.32, 0.0, 1.4, 20.1),
    "ewect_virus, random weights": SetSpread(0.0, 1.36, 0.77, 0.0, 13.3),
}
"""Sets of classes, by macro-F1."""
TAGS: Mapping[str, SetSpread] = {
    "mention, random weights": SetSpread(0.0, 1.16, 1.29, 0.61, 13.2),
    "ncbi_disease, random weights": SetSpread(0.25, 0.95, 0.34, 0.0, 12.9),
    "ncbi_disease, MiniLM": SetSpread(0.17, 0.72, 0.83, 0.0, 5.5),
}
"""Sets of tags, by strict F1 of spans. Of answers in a text and of numbers no set was studied."""
