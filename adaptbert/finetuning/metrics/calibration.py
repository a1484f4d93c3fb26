"""Are probabilities true? Claimed chances and what came true -> reliability curve, ECE, Brier score, temperature.

Everything here is of binary statements: "this row has this label" (binary, multi-label: flatten), or "the first choice
is right" (multi-class: `top_choice`; all of several labels: `every_choice`). Pure: arrays in, numbers out.
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
"""Between which a temperature is looked for: at the lower end every first choice is certain, at the upper none is."""


@dataclass(frozen=True)
class Bin:
    """Statements of about equal claimed chance.

    Attributes:
        claimed, came_true: mean chance and share, from 0 to 1.
        spread: standard deviation of `came_true` if the claims are right.
    """

    count: int
    claimed: float
    came_true: float
    spread: float


def top_choice(probabilities: Floats, targets: NDArray[np.int64]) -> tuple[Floats, Bools]:
    """The chance of the most probable class, and whether it is right: (rows, classes), (rows,) -> (rows,), (rows,)."""
    return probabilities.max(-1), probabilities.argmax(-1) == targets


def every_choice(probabilities: Floats, targets: NDArray[Any]) -> tuple[Floats, Bools]:
    """The chance of the least sure of a row's decisions, and whether all are right: twice (rows, labels) -> (rows,)."""
    sure = np.maximum(probabilities, 1 - probabilities).min(-1)
    return sure, ((probabilities > 0.5) == targets.astype(bool)).all(-1)


def reliability(claimed: Floats, came_true: Bools, bins: int, equal: Bins) -> list[Bin]:
    """The reliability curve, from the least to the surest; empty bins are left out.

    Args:
        claimed: chances, (statements,).
        came_true: (statements,).
        equal: bins of equally many statements (Nixon et al. 2019, "Measuring Calibration in Deep Learning"; of equal
            claims the earlier row goes into the lower bin), or of equal width (Guo et al. 2017).
    """
    order = np.argsort(claimed, kind="stable")
    claimed, came_true = claimed[order], came_true[order]
    if equal == "mass":
        parts = np.array_split(np.arange(len(claimed)), bins)
    else:
        # A bin has its upper end, (0, .1], as in Guo et al.
        edges = np.searchsorted(claimed, np.arange(1, bins) / bins, side="right")
        parts = np.split(np.arange(len(claimed)), edges)
    return [_bin(claimed[part], came_true[part]) for part in parts if len(part)]


def _bin(claimed: Floats, came_true: Bools) -> Bin:
    spread = float(np.sqrt((claimed * (1 - claimed)).sum()) / len(claimed))
    return Bin(len(claimed), float(claimed.mean()), float(came_true.mean()), spread)


def expected_calibration_error(curve: Sequence[Bin]) -> float:
    """Mean distance of the curve from the diagonal, by statements: Guo et al. 2017, section 2, equation 3."""
    return sum(part.count * abs(part.claimed - part.came_true) for part in curve) / sum(part.count for part in curve)


def chance_error(curve: Sequence[Bin]) -> float:
    """The ECE that chances which are true would get from so many statements: it is never 0.

    The distance in a bin is then about normal around 0 with `Bin.spread`, and the mean of its size is
    sqrt(2 / pi) times that.
    """
    total = sum(part.count for part in curve)
    return float(np.sqrt(2 / np.pi) * sum(part.count * part.spread for part in curve) / total)


def brier_score(probabilities: Floats, targets: NDArray[Any]) -> float:
    """Mean squared distance of the chances from what came true; 0 is best (Brier 1950).

    Args:
        probabilities: (rows, classes) with `targets` (rows,), the numbers of the classes: summed over classes, 2 is
            worst. Or with `targets` of the same shape (binary, multi-label): a mean over all decisions, 1 is worst.
    """
    from sklearn.metrics import brier_score_loss

    if probabilities.shape == targets.shape:
        return float(brier_score_loss(targets.ravel().astype(bool), probabilities.ravel()))
    classes = np.arange(probabilities.shape[-1])
    return float(brier_score_loss(targets, probabilities, labels=classes, scale_by_half=False))


def fit_temperature(logits: Floats, targets: NDArray[Any]) -> float:
    """The T for which logits / T give the rows the highest likelihood (Guo et al. 2017, section 4.2).

    Above 1 the model was too sure of itself. No answer changes, for the order of the logits does not.

    Args:
        logits: of rows that the model was not trained on. (rows, classes) with `targets` (rows,), the numbers of the
            classes; or with `targets` of the same shape (binary, multi-label), where each is a decision of its own.
    """
    from scipy import optimize

    binary = logits.shape == targets.shape

    def loss(log_temperature: float) -> float:
        scaled = logits / np.exp(log_temperature)
        return _binary_loss(scaled, targets) if binary else _class_loss(scaled, targets)

    # Convex in 1 / T, so that there is one valley over log T.
    low, high = np.log(TEMPERATURES)
    found = optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def _class_loss(logits: Floats, targets: NDArray[np.int64]) -> float:
    from scipy.special import logsumexp

    return float((logsumexp(logits, axis=-1) - logits[np.arange(len(logits)), targets]).mean())


def _binary_loss(logits: Floats, targets: NDArray[Any]) -> float:
    return float((np.logaddexp(0, logits) - targets * logits).mean())
