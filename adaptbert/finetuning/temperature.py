"""Temperature of a fine-tuned model, fitted on dev rows, and its effect on the calibration error on test rows.

For the targets that classify whole rows (`class`, `labels`). It changes no answer and no written or predicted
confidence: it is saved with the other values tuned on dev, and its effect is reported.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.finetuning.metrics.calibration import (
    BINS,
    Floats,
    every_choice,
    expected_calibration_error,
    fit_temperature,
    reliability,
    top_choice,
)

if TYPE_CHECKING:
    from adaptbert.finetuning.tasks.examples import Examples
    from adaptbert.finetuning.tasks.shape import Shape

Rows = Sequence[Mapping[str, Any]]
NAME = "temperature"
ONE, SEVERAL = "single_label_classification", "multi_label_classification"
"""`problem_type` of Hugging Face for single-label and multi-label classification."""


def fitted(shape: "Shape", rows: Rows, examples: "Examples", scores: Floats) -> dict[str, float]:
    """`temperature`, from scores of the dev rows; nothing for other targets."""
    problem = shape.config().get("problem_type")
    if problem not in (ONE, SEVERAL):
        return {}
    return {NAME: fit_temperature(_logits(shape, rows, examples, scores), _targets(shape, rows))}


def judged(
    shape: "Shape", rows: Rows, examples: "Examples", scores: Floats, tuned: Mapping[str, float]
) -> dict[str, float]:
    """The expected calibration error in bins of equal mass, `ece`, and with the temperature `ece_tempered`.

    Of the event that the whole answer to a row is right, as in the report (adaptbert.comparison.evaluation.inspection).
    """
    if NAME not in tuned:
        return {}
    logits, targets = _logits(shape, rows, examples, scores), _targets(shape, rows)
    return {"ece": _error(logits, targets), "ece_tempered": _error(logits / tuned[NAME], targets)}


def _logits(shape: "Shape", rows: Rows, examples: "Examples", scores: Floats) -> Floats:
    """Of rows, averaged over windows as for their answers, (rows, classes)."""
    from scipy.special import logit

    probabilities = [row["probabilities"] for row in shape.details(rows, examples, scores, {})]
    chances = np.array([[row[name] for name in shape.classes] for row in probabilities], np.float64)
    if shape.config()["problem_type"] == ONE:
        logits: Floats = np.log(chances.clip(min=np.finfo(np.float64).tiny))  # softmax ignores the lost constant
    else:
        edge = np.finfo(np.float64).eps
        logits = logit(chances.clip(edge, 1 - edge))
    return logits


def _targets(shape: "Shape", rows: Rows) -> NDArray[np.int64]:
    """The number of the label, (rows,), or whether the row has each label, (rows, classes)."""
    if shape.config()["problem_type"] == ONE:
        number = {label: number for number, label in enumerate(shape.classes)}
        return np.array([number[label] for label in shape.gold(rows)], np.int64)
    return np.array([[label in labels for label in shape.classes] for labels in shape.gold(rows)], np.int64)


def _error(logits: Floats, targets: NDArray[np.int64]) -> float:
    from scipy.special import expit, softmax

    judged = top_choice(softmax(logits, -1), targets) if targets.ndim == 1 else every_choice(expit(logits), targets)
    return expected_calibration_error(reliability(*judged, BINS, "mass"))
