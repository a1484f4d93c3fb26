"""Predictions of one arm -> its `Inspection`: classes, confusion matrix, calibration, most confident errors.

Calibration is about binary statements: "the whole answer to this row is right".
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adaptbert.comparison.records import Bin, Calibration, ClassScores, Confusion, Error, Inspection
from adaptbert.comparison.scores import Answer, read_predictions
from adaptbert.config.schema.task_types import TARGETS, Target
from adaptbert.data.tag_schemes import OUTSIDE
from adaptbert.tasks.metrics.scoring import SCORING

BINS = 15
"""As in Guo et al. 2017."""
ROWS_A_DOT, FEWEST_DOTS = 20, 5
"""Of the reliability curve: the accuracy over fewer rows is mostly chance."""
ERRORS = 10

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def inspect_runs(paths: Sequence[Path], target: Target) -> Inspection:
    """Details of all runs of one arm.

    Args:
        paths: of the predictions of its replicates.
        target: kind of the task's target.
    """
    runs = [answers for path in paths for answers in read_predictions(path, target).values()]
    # The script of the whole set decides how answers are compared.
    right = SCORING[target].right([answer.gold for answers in runs for answer in answers])
    classes, matrix = _classes(runs, target), _confusion(runs, target)
    if right is None:
        return Inspection(len(runs), classes, matrix, None, [])
    judged = [[right(answer.gold, answer.predicted) for answer in answers] for answers in runs]
    return Inspection(len(runs), classes, matrix, _calibration(runs, judged), _errors(runs, judged, target))


def _classes(runs: Sequence[Sequence[Answer]], target: Target) -> list[ClassScores]:
    """The classes that occur among the right answers, by name."""
    count = SCORING[target].classes
    if count is None:
        return []
    counts = [count([answer.gold for answer in answers], [answer.predicted for answer in answers]) for answers in runs]
    scores = []
    for label in sorted(counts[0]):
        precision, recall, f1, support = zip(*(by_class[label] for by_class in counts), strict=True)
        scores.append(ClassScores(label, [*precision], [*recall], [*f1], int(support[0])))
    return scores


def _confusion(runs: Sequence[Sequence[Answer]], target: Target) -> Confusion | None:
    """The mean over runs; None where a row has no single label."""
    decisions = SCORING[target].pairs
    if decisions is None:
        return None
    counted: Counter[tuple[str, str]] = Counter()
    for answer in (answer for answers in runs for answer in answers):
        counted.update(decisions(answer.gold, answer.predicted))
    labels = sorted({label for pair in counted for label in pair}, key=lambda label: (label != OUTSIDE, label))
    counts = {
        gold: {predicted: counted[gold, predicted] / len(runs) for predicted in labels if counted[gold, predicted]}
        for gold in labels
    }
    return Confusion(labels, counts)


# ---- calibration


def _calibration(runs: Sequence[Sequence[Answer]], judged: Sequence[Sequence[bool]]) -> Calibration:
    from sklearn.metrics import brier_score_loss

    confidences = [np.array([answer.confidence for answer in answers]) for answers in runs]
    correct = [np.array(right) for right in judged]
    each = list(zip(confidences, correct, strict=True))
    by_mass = [reliability(confidence, right, BINS, "mass") for confidence, right in each]
    by_width = [reliability(confidence, right, BINS, "width") for confidence, right in each]
    dots = min(BINS, max(FEWEST_DOTS, len(confidences[0]) // ROWS_A_DOT))
    return Calibration(
        confidence=float(np.concatenate(confidences).mean()),
        accuracy=float(np.concatenate(correct).mean()),
        ece=_mean([expected_calibration_error(curve) for curve in by_mass]),
        ece_width=_mean([expected_calibration_error(curve) for curve in by_width]),
        ece_by_chance=_mean([chance_error(curve) for curve in by_mass]),
        brier=_mean([float(brier_score_loss(right, confidence)) for confidence, right in each]),
        curve=reliability(np.concatenate(confidences), np.concatenate(correct), dots, "mass"),
    )


def reliability(confidence: Floats, correct: Bools, bins: int, equal: Literal["mass", "width"]) -> list[Bin]:
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


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


# ---- errors


def _errors(runs: Sequence[Sequence[Answer]], judged: Sequence[Sequence[bool]], target: Target) -> list[Error]:
    wrong: dict[str, list[Answer]] = {}
    for answers, rights in zip(runs, judged, strict=True):
        for answer, right in zip(answers, rights, strict=True):
            if not right:
                wrong.setdefault(answer.id, []).append(answer)
    weights = {row: sum(answer.confidence for answer in answers) for row, answers in wrong.items()}
    return [_error(wrong[row], target) for row in sorted(wrong, key=lambda row: (-weights[row], row))[:ERRORS]]


def _error(answers: Sequence[Answer], target: Target) -> Error:
    first, gold, predicted = answers[0], None, None
    if TARGETS[target].classes == "row":
        answered = Counter(_label(answer.predicted) for answer in answers)
        gold, predicted = _label(first.gold), min(answered, key=lambda label: (-answered[label], label))
    return Error(first.id, len(answers), _mean([answer.confidence for answer in answers]), gold, predicted)


def _label(answer: str | Sequence[str]) -> str:
    return answer if isinstance(answer, str) else ", ".join(sorted(answer)) or "–"
