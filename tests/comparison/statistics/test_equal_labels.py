"""Labels that a step is worth: read off two curves, with an interval that covers the truth."""

import math

import numpy as np
import pytest

from adaptbert.comparison.statistics.equal_labels import Curve, equal_labels

UNIT = (0.0, 1.0)
COUNTS = (50, 100, 200, 400)


def score(labels: float, lift: float = 0.0) -> float:
    """A straight line over the logarithm: 10 points for twice the labels."""
    return 0.3 + 0.1 * math.log2(labels / 50) + lift


def curve(lift: float, spread: float = 0.0, *, draws: int = 1, seeds: int = 5, dice: int = 0) -> Curve:
    random = np.random.default_rng(dice)
    of_draw = random.normal(0, spread, draws)
    return {
        labels: {
            draw: {seed: score(labels, lift + of_draw[draw - 1] + random.normal(0, spread)) for seed in range(seeds)}
            for draw in range(1, draws + 1)
        }
        for labels in COUNTS
    }


def test_the_same_score_with_twice_the_labels() -> None:
    equal = equal_labels(curve(0.1, 0.001, dice=1), curve(0.0, 0.001, dice=2), 0.95, UNIT)
    assert [each.labels for each in equal] == list(COUNTS)
    assert [each.equal for each in equal[:2]] == pytest.approx([100, 200], rel=0.05)
    assert equal[3].equal is None, "800 lie beyond the curve"
    assert equal[0].low is not None
    assert equal[0].high is not None
    assert 90 < equal[0].low < 100 < equal[0].high < 110


def test_the_interval_covers_the_truth() -> None:
    covered = 0
    for dice in range(60):
        arm = curve(0.05, 0.02, draws=3, seeds=3, dice=dice)
        other = curve(0.0, 0.02, draws=3, seeds=3, dice=1000 + dice)
        each = equal_labels({100: arm[100]}, other, 0.95, UNIT)[0]
        truth = 100 * 2**0.5
        covered += (each.low is None or each.low <= truth) and (each.high is None or truth <= each.high)
    assert covered >= 52


def test_curves_without_points_say_nothing() -> None:
    assert equal_labels({}, curve(0.0), 0.95, UNIT) == []
    assert equal_labels(curve(0.0), {50: curve(0.0)[50]}, 0.95, UNIT) == []
    few = equal_labels(curve(0.1, 0.01, seeds=2), curve(0.0, 0.01, seeds=2), 0.95, UNIT)[0]
    assert (few.low, few.high) == (None, None)
    assert few.equal is not None
