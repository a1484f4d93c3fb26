"""A task -> sentences in both languages on calibration, baselines, and runs that are degenerate or scatter."""

import math
from dataclasses import dataclass
from typing import Literal

from adaptbert.comparison.amounts import at_least
from adaptbert.comparison.records import Task
from adaptbert.config.schema.task_types import TARGETS
from adaptbert.report.language import EMPTY, Text, listed, same, t
from adaptbert.report.terms import RIGHT, baseline_name
from adaptbert.statistics.intervals import Difference

CALIBRATED_WITHIN = 1.5
"""Multiple of the calibration error expected by chance; above it the report calls the model over- or underconfident."""

CLEARLY = 3.0
"""Standard errors by which mean confidence and accuracy differ clearly, whatever the bins."""


def calibration(task: Task) -> Text | None:
    """Calibration of the chosen arm; None where answers are not right or wrong."""
    measured = task.inspection.calibration if task.inspection is not None else None
    if measured is None:
        return None
    right = RIGHT[task.target]
    assert right is not None, f"{task.target}: terms.py does not say when an answer is right"
    share = max(each * (1 - each) for each in (measured.confidence, measured.accuracy))
    beyond_chance = CLEARLY * math.sqrt(share / task.rows["test"])
    apart = abs(measured.confidence - measured.accuracy) > beyond_chance
    if measured.ece <= CALIBRATED_WITHIN * measured.ece_by_chance and not apart:
        verdict = t("No miscalibration is detectable on these rows.")
    elif measured.confidence > measured.accuracy:
        verdict = t("The model is overconfident.")
    else:
        verdict = t("The model is underconfident.")
    means = t(
        "Mean confidence: {confidence:points} %; accuracy: {accuracy:points} %; a row is correct when {right}.",
        confidence=measured.confidence,
        accuracy=measured.accuracy,
        right=right,
    )
    ece, chance = (at_least(100 * error, 1) for error in (measured.ece, measured.ece_by_chance))
    return verdict + means + t("Expected calibration error: {ece}; by chance alone: {chance}.", ece=ece, chance=chance)


Standing = Literal["wins", "ties", "loses", "wins_once", "ties_once", "loses_once", "higher", "lower"]
"""A baseline against the chosen arm, by the interval of their difference, `once` where the rungs of the arm were not
trained several times; without an interval, by the mean alone."""


@dataclass(frozen=True)
class Baseline:
    """The baseline with the highest test score: baselines have no dev score, and this one is the strictest for the arm.

    Attributes:
        beside: the chosen arm minus the baseline.
    """

    name: str
    score: float
    beside: Difference
    standing: Standing


def baseline(task: Task) -> Baseline | None:
    """None without a chosen arm or without baselines."""
    if not task.beside_baselines:
        return None
    name = max(task.beside_baselines, key=lambda each: task.baselines[each].mean)
    beside = task.beside_baselines[name]
    return Baseline(name, task.baselines[name].mean, beside, _standing(beside))


def _standing(beside: Difference) -> Standing:
    if beside.low is None or beside.high is None:
        return "higher" if beside.mean < 0 else "lower"
    if beside.replicates > 1:
        return "loses" if beside.low > 0 else "wins" if beside.high < 0 else "ties"
    return "loses_once" if beside.low > 0 else "wins_once" if beside.high < 0 else "ties_once"


def against_baselines(task: Task, confidence: float) -> Text:
    """The chosen arm compared with the best baseline."""
    arm, best = task.arm(task.chosen), baseline(task)
    if arm is None or arm.interval is None or best is None:
        return EMPTY
    lead = t("The best baseline") if len(task.baselines) > 1 else t("The only baseline")
    beside = t(
        "{lead} on the test split ({name}{fewer}) scores {score:points}:",
        lead=lead,
        name=baseline_name(best.name, task.target),
        fewer=_fewer_rows(task),
        score=best.score,
    )
    if best.beside.low is None or best.beside.high is None:
        mean = arm.interval.mean
        return beside + t("{arm} scores {mean:points}; the gap is not testable.", arm=arm.name, mean=mean)
    return beside + _gap(arm.name, best, confidence)


def _gap(arm: str, best: Baseline, confidence: float) -> Text:
    """The chosen arm beside the best baseline; a recommendation only where the rungs of the arm were repeated."""
    variance = best.beside.variance
    rows = variance is None or "rows" in variance
    gap = t(
        "{mean:change} ({level:percent} % interval {low:change} to {high:change}{lacks})",
        mean=best.beside.mean,
        level=confidence,
        low=best.beside.low,
        high=best.beside.high,
        lacks=EMPTY if rows else t(", which leaves out the test rows"),
    )
    is_once = best.standing.endswith("_once")
    named = t("on these weights, {arm}", arm=arm) if is_once else same(arm)
    if best.standing.startswith("ties"):
        return t("{arm} differs from it by {gap}, so neither is clearly better.", arm=named, gap=gap)
    if best.standing.startswith("loses"):
        return t("{arm} scores higher, {gap}.", arm=named, gap=gap)
    sentence = t("{arm} scores lower, {gap}.", arm=named, gap=gap)
    return sentence if is_once else sentence + t("At this budget that baseline is the better choice.")


def _fewer_rows(task: Task) -> Text:
    """On how many rows baselines were fitted, where the arms had more."""
    if task.baseline_rows >= task.labels:
        return EMPTY
    return t(", trained on the first {first:,} of the {labels:,} rows", first=task.baseline_rows, labels=task.labels)


def degenerate(task: Task) -> Text | None:
    """Arms with degenerate seeds, which predict the same for every row; None where there are none."""
    parts = [
        t("{arm} ({count} of {runs})", arm=arm.name, count=len(arm.degenerate), runs=len(arm.runs))
        for arm in task.arms
        if arm.degenerate
    ]
    if not parts:
        return None
    if TARGETS[task.target].classes is None:
        what = t("give every row the same answer")
    else:
        what = t("predict one class only")
    return t("Runs that {what}, included in the mean: {arms}.", what=what, arms=listed(parts))


def scattered(task: Task) -> Text | None:
    """Arms that are judged by their own spread; None where there are none."""
    if not task.scattered:
        return None
    return t(
        "Runs of {names} lie clearly further apart than those of the other arms: judged by their own spread.",
        names=listed(task.scattered),
    )
