"""Details of one arm: predictions of its cells -> class scores, confusion matrix, calibration, most confident errors.

Row ids and labels come out, never text.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adaptbert.comparison.evaluation.class_scores import ClassScores, Confusion, class_table, confusion
from adaptbert.comparison.evaluation.predictions import Answer, read_predictions
from adaptbert.config.schema.task_types import TARGETS, Target
from adaptbert.statistics.calibration import (
    BINS,
    Bin,
    brier_score,
    chance_error,
    expected_calibration_error,
    reliability,
)
from adaptbert.tasks.metrics.scoring import SCORING

ROWS_A_DOT, FEWEST_DOTS = 20, 5
"""Of the reliability curve: the accuracy over fewer rows is mostly chance."""
ERRORS = 10


@dataclass(frozen=True)
class Calibration:
    """Calibration of the confidence that an answer is right as a whole, over all rows and runs.

    Attributes:
        confidence, accuracy: mean confidence, share of right answers.
        ece, ece_width: expected calibration error in bins of equal mass, and of equal width; means over runs.
        chance: the expected `ece` of a perfectly calibrated model on so many rows.
        brier: mean squared distance of the confidence from 1 (right) or 0 (wrong).
        curve: of all runs together, in bins of equal mass; fewer bins where rows are few.
    """

    confidence: float
    accuracy: float
    ece: float
    ece_width: float
    chance: float
    brier: float
    curve: list[Bin]


@dataclass(frozen=True)
class Error:
    """A row that is answered wrongly.

    Attributes:
        runs: how many answer it wrongly.
        confidence: mean of these runs.
        gold, predicted: the right and the most frequent wrong answer; None where these are not labels of a whole row.
    """

    id: str
    runs: int
    confidence: float
    gold: str | None
    predicted: str | None


@dataclass(frozen=True)
class Inspection:
    """Inspection of one arm over all its runs.

    Attributes:
        runs: draws times seeds.
        confusion: None where a row has no single label.
        calibration: None for regression.
        errors: the most confident first, by the confidence in wrong answers summed over runs.
    """

    runs: int
    classes: list[ClassScores]
    confusion: Confusion | None
    calibration: Calibration | None
    errors: list[Error]


def inspect_cells(paths: Sequence[Path], target: Target) -> Inspection:
    """Read the predictions of all cells of an arm, and inspect every seed of each.

    Args:
        paths: a file for each draw.
        target: kind of the task's target.
    """
    runs = [answers for path in paths for answers in read_predictions(path, target).values()]
    # The script of the whole set decides how answers are compared.
    right = SCORING[target].right([answer.gold for answers in runs for answer in answers])
    classes, matrix = class_table(runs, target), confusion(runs, target)
    if right is None:
        return Inspection(len(runs), classes, matrix, None, [])
    judged = [[(answer, right(answer.gold, answer.predicted)) for answer in answers] for answers in runs]
    return Inspection(len(runs), classes, matrix, _calibration(judged), _errors(judged, target))


def _calibration(judged: Sequence[Sequence[tuple[Answer, bool]]]) -> Calibration:
    confidences = [np.array([answer.confidence for answer, _ in answers]) for answers in judged]
    correct = [np.array([right for _, right in answers]) for answers in judged]
    runs = list(zip(confidences, correct, strict=True))
    by_mass = [reliability(confidence, right, BINS, "mass") for confidence, right in runs]
    by_width = [reliability(confidence, right, BINS, "width") for confidence, right in runs]
    dots = min(BINS, max(FEWEST_DOTS, len(confidences[0]) // ROWS_A_DOT))
    return Calibration(
        confidence=float(np.concatenate(confidences).mean()),
        accuracy=float(np.concatenate(correct).mean()),
        ece=_mean([expected_calibration_error(curve) for curve in by_mass]),
        ece_width=_mean([expected_calibration_error(curve) for curve in by_width]),
        chance=_mean([chance_error(curve) for curve in by_mass]),
        brier=_mean([brier_score(confidence, right) for confidence, right in runs]),
        curve=reliability(np.concatenate(confidences), np.concatenate(correct), dots, "mass"),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _errors(judged: Sequence[Sequence[tuple[Answer, bool]]], target: Target) -> list[Error]:
    wrong: dict[str, list[Answer]] = {}
    for answers in judged:
        for answer, right in answers:
            if not right:
                wrong.setdefault(answer.id, []).append(answer)

    def weight(row: str) -> float:
        return sum(answer.confidence for answer in wrong[row])

    return [_error(wrong[row], target) for row in sorted(wrong, key=lambda row: (-weight(row), row))[:ERRORS]]


def _error(answers: Sequence[Answer], target: Target) -> Error:
    first, gold, predicted = answers[0], None, None
    if TARGETS[target].classes == "row":
        answered = Counter(_label(answer.predicted) for answer in answers)
        gold, predicted = _label(first.gold), min(answered, key=lambda label: (-answered[label], label))
    return Error(first.id, len(answers), _mean([answer.confidence for answer in answers]), gold, predicted)


def _label(answer: str | Sequence[str]) -> str:
    return answer if isinstance(answer, str) else ", ".join(sorted(answer)) or "–"
