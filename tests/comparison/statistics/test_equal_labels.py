"""Labels that a step is worth: read off two curves, with an interval that covers the truth."""

import math

import numpy as np
import pytest

from adaptbert.comparison.statistics.equal_labels import Curve, EqualLabels, equal_labels
from adaptbert.comparison.statistics.rows import RowScores, RowSpread
from adaptbert.comparison.statistics.study import Study

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


def of(arm: Curve, other: Curve, rows: RowSpread | None = None) -> list[EqualLabels]:
    most = {name: own[max(own)] for name, own in (("arm", arm), ("other", other)) if own}
    return equal_labels({"arm": arm, "other": other}, "arm", "other", Study(most, rows, 0.95, UNIT))


def test_the_same_score_with_twice_the_labels() -> None:
    equal = of(curve(0.1, 0.001, dice=1), curve(0.0, 0.001, dice=2))
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
        each = of({100: arm[100]}, other)[0]
        truth = 100 * 2**0.5
        covered += (each.low is None or each.low <= truth) and (each.high is None or truth <= each.high)
    assert covered >= 52


def test_curves_without_points_say_nothing() -> None:
    assert of({}, curve(0.0)) == []
    assert of(curve(0.0), {50: curve(0.0)[50]}) == []
    few = of(curve(0.1, 0.01, seeds=2), curve(0.0, 0.01, seeds=2))[0]
    assert (few.low, few.high) == (None, None)
    assert few.equal is not None


def test_the_interval_agrees_with_that_of_the_study() -> None:
    """The same number of labels lies outside where the study tells the two arms apart, and inside where test rows, or
    the spread of a third arm, hide the difference."""
    arm, other = (curve(lift, 0.004, draws=3, seeds=3, dice=dice) for lift, dice in ((0.02, 1), (0.0, 2)))
    apart = of({400: arm[400]}, other)[0]
    assert apart.low is None, "400 labels and more"
    assert apart.equal is None
    noisy = np.random.default_rng(3).normal(0, 0.03, 1000)
    rows = RowSpread({"arm": RowScores(noisy, 0.0), "other": RowScores(0 * noisy, 0.0)}, 500)
    hidden = of({400: arm[400]}, other, rows)[0]
    assert hidden.low is not None
    assert hidden.low < 400
    third = {"third": curve(0.0, 0.1, draws=3, seeds=3, dice=5)[400]}
    pooled = Study({"arm": arm[400], "other": other[400], **third}, None, 0.95, UNIT)
    beside = equal_labels({"arm": arm, "other": other}, "arm", "other", pooled)
    alone = of(arm, other)
    assert [each.equal for each in beside] == [each.equal for each in alone]
