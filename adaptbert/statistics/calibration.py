"""Calibration of predicted probabilities: reliability curve, ECE, Brier score.

Everything here is about binary statements: "the whole answer to this row is right".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Bins = Literal["mass", "width"]

BINS = 15
"""As in Guo et al. 2017."""


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
