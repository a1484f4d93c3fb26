"""Calibration finds the truth of simulated predictions: chances that are true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.calibration import calibration_curve
from torch import as_tensor
from torchmetrics.functional.classification import binary_calibration_error

from adaptbert.comparison.inspection import chance_error, expected_calibration_error, reliability
from adaptbert.comparison.records import Bin


def drawn(rows: int, classes: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Logits, and targets drawn from just the chances that they give."""
    dice = np.random.default_rng(seed)
    logits = dice.normal(0, 2, (rows, classes))
    chances = softmax(logits, -1)
    return logits, (chances.cumsum(-1) < dice.random((rows, 1))).sum(-1).clip(max=classes - 1)


@pytest.mark.parametrize("equal", ["mass", "width"])
@pytest.mark.parametrize("rows", [300, 3000])
def test_true_chances_have_the_error_of_chance_alone(rows: int, equal: str) -> None:
    errors, foretold = [], []
    for seed in range(60):
        logits, targets = drawn(rows, 5, seed)
        chances = softmax(logits, -1)
        curve = reliability(chances.max(-1), chances.argmax(-1) == targets, 15, equal)  # type: ignore[arg-type]
        errors.append(expected_calibration_error(curve))
        foretold.append(chance_error(curve))
    assert np.mean(errors) == pytest.approx(np.mean(foretold), rel=0.08)
    assert np.mean(errors) > 0.04 if rows == 300 else np.mean(errors) < 0.025


def test_a_known_distance() -> None:
    """What claims .9 comes true six times in ten, what claims .6 always."""
    confidence = np.repeat([0.9, 0.6], [1000, 500])
    correct = np.concatenate([np.arange(1000) % 10 < 6, np.ones(500, bool)])
    for equal, bins in (("mass", 15), ("width", 10)):  # fifteen parts of a hundred: no part holds both claims
        curve = reliability(confidence, correct, bins, equal)  # type: ignore[arg-type]
        assert expected_calibration_error(curve) == pytest.approx((1000 * 0.3 + 500 * 0.4) / 1500)
    assert reliability(confidence, correct, 10, "width") == [
        Bin(500, pytest.approx(0.6), 1.0, pytest.approx(np.sqrt(0.24 / 500))),
        Bin(1000, pytest.approx(0.9), pytest.approx(0.6), pytest.approx(np.sqrt(0.09 / 1000))),
    ]


chances = st.floats(0.0005, 0.9995).map(lambda chance: round(chance, 4))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(chances, st.booleans()), min_size=1, max_size=80))
def test_equal_width_is_that_of_torchmetrics_and_sklearn(statements: list[tuple[float, bool]]) -> None:
    confidence, correct = np.array([c for c, _ in statements]), np.array([t for _, t in statements])
    confidence = np.where(
        np.isclose(confidence * 8, np.round(confidence * 8)), confidence + 0.001, confidence
    )  # no ties with an edge
    curve = reliability(confidence, correct, 8, "width")
    other = binary_calibration_error(as_tensor(confidence), as_tensor(correct).int(), n_bins=8)
    assert expected_calibration_error(curve) == pytest.approx(float(other), abs=1e-5)
    shares, means = calibration_curve(correct, confidence, n_bins=8, strategy="uniform")
    assert [part.accuracy for part in curve] == pytest.approx(list(shares))
    assert [part.confidence for part in curve] == pytest.approx(list(means))


def test_bins_of_equal_mass_contain_every_statement_once() -> None:
    dice = np.random.default_rng(0)
    confidence = dice.beta(8, 1, 1003)
    curve = reliability(confidence, dice.random(1003) < confidence, 10, "mass")
    assert sorted(part.count for part in curve) == [100] * 7 + [101] * 3
    assert [part.confidence for part in curve] == sorted(part.confidence for part in curve)
    assert sum(part.count * part.confidence for part in curve) == pytest.approx(confidence.sum())
    assert len(reliability(confidence[:4], np.ones(4, bool), 10, "mass")) == 4, "no empty bins"
