"""One temperature for a fine-tuned model: a number from its dev rows, and what it would change on its test rows.

For the targets that classify whole rows (`class`, `labels`). No answer changes by it, and no confidence that is written
or predicted does: it is kept with what else was tuned on dev, and what it is worth is told.
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
    from adaptbert.finetuning.tasks.shapes import Shape

Rows = Sequence[Mapping[str, Any]]
NAME = "temperature"
ONE, SEVERAL = "single_label_classification", "multi_label_classification"
"""What Hugging Face calls it when a row has one label of some, or any number of them."""


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

    Of the statement that a row is right as a whole, as in the report (adaptbert.comparison.inspection).
    """
    if NAME not in tuned:
        return {}
    logits, targets = _logits(shape, rows, examples, scores), _targets(shape, rows)
    return {"ece": _error(logits, targets), "ece_tempered": _error(logits / tuned[NAME], targets)}


def _logits(shape: "Shape", rows: Rows, examples: "Examples", scores: Floats) -> Floats:
    """Of rows, whose windows are taken together as for their answers, (rows, classes)."""
    from scipy.special import logit

    told = [row["probabilities"] for row in shape.details(rows, examples, scores, {})]
    chances = np.array([[row[name] for name in shape.classes] for row in told], np.float64)
    if shape.config()["problem_type"] == ONE:
        found: Floats = np.log(chances.clip(min=np.finfo(np.float64).tiny))  # but for a number a row: no matter
    else:
        edge = np.finfo(np.float64).eps
        found = logit(chances.clip(edge, 1 - edge))
    return found


def _targets(shape: "Shape", rows: Rows) -> NDArray[np.int64]:
    """The number of the label, (rows,), or whether each one is right, (rows, classes)."""
    if shape.config()["problem_type"] == ONE:
        number = {label: number for number, label in enumerate(shape.classes)}
        return np.array([number[label] for label in shape.gold(rows)], np.int64)
    return np.array([[label in labels for label in shape.classes] for labels in shape.gold(rows)], np.int64)


def _error(logits: Floats, targets: NDArray[np.int64]) -> float:
    from scipy.special import expit, softmax

    judged = top_choice(softmax(logits, -1), targets) if targets.ndim == 1 else every_choice(expit(logits), targets)
    return expected_calibration_error(reliability(*judged, BINS, "mass"))
