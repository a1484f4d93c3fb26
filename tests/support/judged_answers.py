"""Parts of a comparison with chosen numbers and verdicts, for what the page says of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from adaptbert.comparison.records import Answer, Comparison, Detectable, Task
from adaptbert.statistics import intervals
from adaptbert.statistics.chance import truths
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.variance import Variance
from adaptbert.statistics.verdicts import Verdict
from tests.support.known import answer_to

DF = 8
"""Degrees of freedom of every difference here."""


def difference(mean: float, half: float | None, *, seeds: int = 3, replicates: int = 3) -> Difference:
    """A difference with a 95 % interval of `mean` plus and minus `half`; None: without an interval."""
    if half is None:
        return intervals.difference(mean, None, seeds, replicates, 0.95)
    share = (half / float(stats.t.ppf(0.975, DF))) ** 2
    variance = Variance({"seeds": share / 2, "rows": share / 2}, DF)
    return intervals.difference(mean, variance, seeds, replicates, 0.95)


def answered(
    task: Task,
    name: str,
    mean: float,
    half: float | None,
    verdict: Verdict,
    p_adjusted: float | None = None,
    replicates: int = 3,
) -> Answer:
    """The answer of this name with another result, as if it had been tested first; it needs nothing."""
    gap = difference(mean, half, replicates=replicates)
    values, chances = truths(gap, []) if gap.testable else (np.zeros(1), np.ones(1))
    return replace(
        answer_to(task, name),
        difference=gap,
        replicates=replicates,
        place=0,
        p_adjusted=p_adjusted,
        verdict=verdict,
        why="",
        detectable=None if half is None else Detectable(1.5 * half, 1.2 * half, 2.0 * half),
        needed=None,
        chance=float(chances[values >= 0.01].sum()) if gap.testable else None,
    )


def retrained(comparison: Comparison, changes: Mapping[str, Mapping[str, Any]]) -> Comparison:
    """A comparison with other figures in the replicates of these names."""
    checkpoints = [
        replace(each, replicates=[replace(one, **changes.get(one.name, {})) for one in each.replicates])
        for each in comparison.checkpoints
    ]
    return replace(comparison, checkpoints=checkpoints)
