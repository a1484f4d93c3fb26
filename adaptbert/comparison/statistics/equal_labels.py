"""Learning curves of two arms -> with how many labels the one scores as the other does with more, or fewer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adaptbert.comparison.statistics.spread import Runs
from adaptbert.comparison.statistics.study import Study

Curve = Mapping[int, Runs]
"""Labels -> the runs with so many."""
STEPS = 200
"""Numbers of labels that are tried, evenly on a logarithmic axis between the ends of the curve."""


@dataclass(frozen=True)
class EqualLabels:
    """What `labels` of one arm are worth in labels of the other.

    Attributes:
        equal: labels with which the other arm has the same mean score; None where its curve does not reach it.
        low, high: all numbers of labels whose scores the interval of the difference does not tell apart; None where it
            goes beyond the end of the curve, or there are too few seeds.
    """

    labels: int
    equal: float | None
    low: float | None
    high: float | None


def equal_labels(curves: Mapping[str, Curve], arm: str, other: str, study: Study) -> list[EqualLabels]:
    """For each number of labels of `arm`, by inverting the interval of the difference.

    The curve of the other arm is read between its points by a straight line over the logarithm of the labels, run by
    run, so that seeds stay paired. The interval is the one of the study: its spread is pooled with that of the other
    arms, and of test rows it has what the difference with all labels has.
    """
    counts = sorted(curves[other])
    if len(counts) < 2:
        return []
    tried = np.geomspace(counts[0], counts[-1], STEPS)
    between = [_at(curves[other], float(labels)) for labels in tried]
    pair = arm, other
    return [_invert(labels, runs, tried, between, pair, study) for labels, runs in sorted(curves[arm].items())]


def _invert(
    labels: int, runs: Runs, tried: np.ndarray, between: Sequence[Runs], pair: tuple[str, str], study: Study
) -> EqualLabels:
    means, alike = [], []
    for others in between:
        difference = study.with_runs({pair[0]: runs, pair[1]: others}).difference(*pair)
        if difference is None:
            return EqualLabels(labels, None, None, None)
        means.append(difference.mean)
        alike.append(
            difference.low is not None and difference.high is not None and difference.low <= 0 <= difference.high
        )
    inside = np.flatnonzero(alike)
    first, last = (int(inside[0]), int(inside[-1])) if len(inside) else (0, len(tried) - 1)
    return EqualLabels(
        labels,
        _crossing(tried, np.array(means)),
        float(tried[first]) if len(inside) and first > 0 else None,
        float(tried[last]) if len(inside) and last < len(tried) - 1 else None,
    )


def _crossing(tried: np.ndarray, differences: np.ndarray) -> float | None:
    """Where the difference is 0; of several places the first."""
    for place in range(len(tried) - 1):
        before, after = differences[place], differences[place + 1]
        if before == 0:
            return float(tried[place])
        if before > 0 >= after or before < 0 <= after:
            share = before / (before - after)
            return float(np.exp(np.log(tried[place]) * (1 - share) + np.log(tried[place + 1]) * share))
    return float(tried[-1]) if differences[-1] == 0 else None


def _at(curve: Curve, labels: float) -> dict[int, dict[int, float]]:
    counts = sorted(curve)
    points = np.log(counts)
    return {
        draw: {
            seed: float(np.interp(np.log(labels), points, [curve[count][draw][seed] for count in counts]))
            for seed in seeds
            if all(seed in curve[count].get(draw, {}) for count in counts)
        }
        for draw, seeds in curve[counts[-1]].items()
    }
