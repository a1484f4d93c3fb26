"""Calibration of predicted probabilities: reliability curve, ECE, Brier score, temperature.

Everything here is about binary statements: "this row has this label" (binary, multi-label: flatten), or "the first
choice is right" (multi-class: `top_choice`; all labels of a multi-label row: `every_choice`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Bins = Literal["mass", "width"]

BINS = 15
"""As in Guo et al. 2017."""
TEMPERATURES = (0.01, 100.0)
"""Bounds of the fit: at the lower one every first choice is certain, at the upper one all classes are equal."""


@dataclass(frozen=True)
class Bin:
    """Statements of about equal confidence.

    Attributes:
        confidence, accuracy: mean confidence and share of true statements, from 0 to 1.
        spread: standard deviation of `accuracy` for perfectly calibrated confidence.
    """

    count: int
    confidence: float
    accuracy: float
    spread: float


def top_choice(probabilities: Floats, targets: NDArray[np.int64]) -> tuple[Floats, Bools]:
    """The highest probability and whether its class is right: (rows, classes), (rows,) -> (rows,), (rows,)."""
    return probabilities.max(-1), probabilities.argmax(-1) == targets


def every_choice(probabilities: Floats, targets: NDArray[Any]) -> tuple[Floats, Bools]:
    """The lowest confidence of a row's decisions, and whether all are right: twice (rows, labels) -> (rows,)."""
    sure = np.maximum(probabilities, 1 - probabilities).min(-1)
    return sure, ((probabilities > 0.5) == targets.astype(bool)).all(-1)


def reliability(confidence: Floats, correct: Bools, bins: int, equal: Bins) -> list[Bin]:
    """The reliability curve, from the least to the most confident bin; empty bins are left out.

    Args:
        confidence: (statements,).
        correct: whether each statement is true, (statements,).
        equal: bins of equally many statements (Nixon et al. 2019, "Measuring Calibration in Deep Learning"; of equal
            confidences the earlier row goes into the lower bin), or of equal width (Guo et al. 2017).
    """
    order = np.argsort(confidence, kind="stable")
    confidence, correct = confidence[order], correct[order]
    if equal == "mass":
        parts = np.array_split(np.arange(len(confidence)), bins)
    else:
        # A bin has its upper end, (0, .1], as in Guo et al.
        edges = np.searchsorted(confidence, np.arange(1, bins) / bins, side="right")
        parts = np.split(np.arange(len(confidence)), edges)
    return [_bin(confidence[part], correct[part]) for part in parts if len(part)]


def _bin(confidence: Floats, correct: Bools) -> Bin:
    spread = float(np.sqrt((confidence * (1 - confidence)).sum()) / len(confidence))
    return Bin(len(confidence), float(confidence.mean()), float(correct.mean()), spread)


def expected_calibration_error(curve: Sequence[Bin]) -> float:
    """Mean distance of the curve from the diagonal, by statements: Guo et al. 2017, section 2, equation 3."""
    return sum(part.count * abs(part.confidence - part.accuracy) for part in curve) / sum(part.count for part in curve)


def chance_error(curve: Sequence[Bin]) -> float:
    """The expected ECE of perfectly calibrated confidence with so many statements: it is never 0.

    The distance in a bin is then about normal around 0 with `Bin.spread`, and its mean absolute value is
    sqrt(2 / pi) times that.
    """
    total = sum(part.count for part in curve)
    return float(np.sqrt(2 / np.pi) * sum(part.count * part.spread for part in curve) / total)


def brier_score(probabilities: Floats, targets: Bools) -> float:
    """Mean squared distance of the probabilities from the outcomes; 0 is best, 1 is worst (Brier 1950).

    Args:
        probabilities: of statements, (statements,).
        targets: whether each is true, (statements,).
    """
    from sklearn.metrics import brier_score_loss

    return float(brier_score_loss(targets.astype(bool), probabilities))


def fit_temperature(logits: Floats, targets: NDArray[Any]) -> float:
    """The T for which logits / T give the rows the highest likelihood (Guo et al. 2017, section 4.2).

    Above 1 the model was overconfident. The order of the logits, and so every answer, is unchanged.

    Args:
        logits: of rows that the model was not trained on. (rows, classes) with `targets` (rows,), the numbers of the
            classes; or with `targets` of the same shape (binary, multi-label), where each is a decision of its own.
    """
    from scipy import optimize

    binary = logits.shape == targets.shape

    def loss(log_temperature: float) -> float:
        scaled = logits / np.exp(log_temperature)
        return _binary_loss(scaled, targets) if binary else _class_loss(scaled, targets)

    # Convex in 1 / T, so that there is one minimum over log T.
    low, high = np.log(TEMPERATURES)
    minimum = optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(minimum.x))


def _class_loss(logits: Floats, targets: NDArray[np.int64]) -> float:
    from scipy.special import logsumexp

    return float((logsumexp(logits, axis=-1) - logits[np.arange(len(logits)), targets]).mean())


def _binary_loss(logits: Floats, targets: NDArray[Any]) -> float:
    return float((np.logaddexp(0, logits) - targets * logits).mean())
