"""Details of one cell: predictions -> class scores, confusion matrix, calibration, most confident errors.

Row ids and labels come out, never text.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adaptbert.base.task_types import Target
from adaptbert.comparison.class_scores import ClassScores, Confusion, class_table, confusion
from adaptbert.comparison.predictions import Answer, judge, read_predictions
from adaptbert.finetuning.metrics.calibration import (
    BINS,
    Bin,
    brier_score,
    chance_error,
    expected_calibration_error,
    reliability,
)
from adaptbert.rows.targets import TARGETS

ROWS_A_DOT, FEWEST_DOTS = 20, 5
"""Of the reliability curve: the accuracy over fewer rows is mostly chance."""
ERRORS = 10


@dataclass(frozen=True)
class Calibration:
    """Calibration of the confidence that an answer is right as a whole, over all rows and seeds.

    Attributes:
        confidence, accuracy: mean confidence, share of right answers.
        ece, ece_width: expected calibration error in bins of equal mass, and of equal width; means over seeds.
        chance: the expected `ece` of a perfectly calibrated model on so many rows.
        brier: mean squared distance of the confidence from 1 (right) or 0 (wrong).
        curve: of all seeds together, in bins of equal mass; fewer bins where rows are few.
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
        seeds: how many answer it wrongly.
        confidence: mean of these seeds.
        gold, predicted: the right and the most frequent wrong answer; None where these are not labels of a whole row.
    """

    id: str
    seeds: int
    confidence: float
    gold: str | None
    predicted: str | None


@dataclass(frozen=True)
class Inspection:
    """Inspection of one cell over all its seeds.

    Attributes:
        confusion: None where a row has no single label.
        calibration: None for regression.
        errors: the most confident first, by the confidence in wrong answers summed over seeds.
    """

    seeds: int
    classes: list[ClassScores]
    confusion: Confusion | None
    calibration: Calibration | None
    errors: list[Error]


def inspect_cell(path: Path, target: Target) -> Inspection:
    """Read a cell's predictions and inspect all its seeds.

    Args:
        target: kind of the task's target.
    """
    by_seed = read_predictions(path, target)
    right = judge(target, [answer for answers in by_seed.values() for answer in answers])
    classes, matrix = class_table(by_seed, target), confusion(by_seed, target)
    if right is None:
        return Inspection(len(by_seed), classes, matrix, None, [])
    judged = {seed: [(answer, right(answer)) for answer in answers] for seed, answers in by_seed.items()}
    return Inspection(len(by_seed), classes, matrix, _calibration(judged), _errors(judged, target))


def _calibration(judged: Mapping[int, Sequence[tuple[Answer, bool]]]) -> Calibration:
    confidences = [np.array([answer.confidence for answer, _ in answers]) for answers in judged.values()]
    correct = [np.array([right for _, right in answers]) for answers in judged.values()]
    seeds = list(zip(confidences, correct, strict=True))
    by_mass = [reliability(confidence, right, BINS, "mass") for confidence, right in seeds]
    by_width = [reliability(confidence, right, BINS, "width") for confidence, right in seeds]
    dots = min(BINS, max(FEWEST_DOTS, len(confidences[0]) // ROWS_A_DOT))
    return Calibration(
        confidence=float(np.concatenate(confidences).mean()),
        accuracy=float(np.concatenate(correct).mean()),
        ece=_mean([expected_calibration_error(curve) for curve in by_mass]),
        ece_width=_mean([expected_calibration_error(curve) for curve in by_width]),
        chance=_mean([chance_error(curve) for curve in by_mass]),
        brier=_mean([brier_score(confidence, right) for confidence, right in seeds]),
        curve=reliability(np.concatenate(confidences), np.concatenate(correct), dots, "mass"),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _errors(judged: Mapping[int, Sequence[tuple[Answer, bool]]], target: Target) -> list[Error]:
    wrong: dict[str, list[Answer]] = {}
    for answers in judged.values():
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
