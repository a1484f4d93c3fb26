"""The spread of the sets that were studied -> what a design shows of a set of which nothing is known yet.

A few sets give a range and no law. docs/decisions/0045-designs-before-training.md says where each comes from;
tests/statistics/test_known_spreads.py computes the table anew from the committed runs.
"""

from collections.abc import Mapping
from typing import NamedTuple

from adaptbert.statistics.power import Power
from adaptbert.statistics.spread import Layout, MeanSquares


class SetSpread(NamedTuple):
    """Standard deviations of one set, in points: of a step that is trained once more, of what a seed does to one arm
    (over all arms, and in the two that the recipe is about), of a single run, and of the difference of two arms by a
    single test row."""

    replicate: float
    seed_by_arm: float
    seed_by_pair: float
    rest: float
    row: float

    def power(self, layout: Layout, test_rows: float, level: float) -> Power:
        """Power of a study of this layout on such a set."""
        replicate, of_arms, of_pair, rest, row = ((each / 100) ** 2 for each in self)
        squares = MeanSquares(
            replicate + rest / layout.seeds,
            rest,
            of_arms + rest * layout.rest_in_means,
            of_pair + rest * layout.rest_in_pair,
        )
        return Power(squares, layout, (row / test_rows, test_rows - 1), level)


CLASSES: Mapping[str, SetSpread] = {
    "section, random weights": SetSpread(0.0, 1.67, 2.35, 1.44, 15.8),
    "rct_sections, random weights": SetSpread(1.08, 2.65, 2.39, 1.34, 16.2),
    "rct_sections, MiniLM": SetSpread(0.46, 0.99, 0.87, 0.63, 10.2),
    "chemprot, random weights": SetSpread(0.58, 0.69, 1.69, 2.79, 13.2),
    "ewect_usual, random weights": SetSpread(0.57, 1.15, 0.0, 2.32, 20.1),
    "ewect_virus, random weights": SetSpread(0.0, 0.46, 0.77, 1.36, 13.3),
}
"""Sets of classes, by macro-F1."""
TAGS: Mapping[str, SetSpread] = {
    "mention, random weights": SetSpread(0.51, 1.01, 1.16, 0.56, 12.0),
    "ncbi_disease, random weights": SetSpread(0.19, 0.0, 0.34, 0.95, 12.9),
    "ncbi_disease, MiniLM": SetSpread(0.24, 0.41, 0.83, 0.72, 5.5),
}
"""Sets of tags, by strict F1 of spans. Of answers in a text and of numbers no set was studied."""
