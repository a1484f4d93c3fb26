"""Comparison -> metrics/comparison.json: all results, for the table, the flow and other programs.

A planned cell without metrics is an empty mapping.

    {"section": {"domain": {"f1_macro": .59, "low": .57, "high": .61, "seeds": [[1, .60], [2, .58], ...],
                            "learning_curve": [[100, .41, .39, .43], ...]},
                 "tfidf_logistic": {"f1_macro": .52},
                 "steps": {"domain_transfer": {"difference": .06, "p_holm": .02, "of": ["domain", "general"], ...}}},
     "suite": {"domain": {"average": .48, "low": .46, "high": .50, "parts": [["section", .59], ["mention", .37]], ...}},
     "inspection": {"section": {"arm": ["domain"], "ece": .07, "classes": [["Lead", .61, .58, .59, 90], ...], ...}},
     "bits_per_char": {"pretrain": {"general": 3.1, "domain": 3.3}},
     "training": {"pretrain": {"tokens": 800000, "tflop": 25.4}}}
"""

from typing import Any

from adaptbert.comparison.inspection import Inspection
from adaptbert.comparison.records import Arm, Comparison, LearningPoint, Step, Task
from adaptbert.comparison.statistics import Interval
from adaptbert.comparison.suite_average import SuiteAverage
from adaptbert.comparison.text_table import BITS, INSPECTION, STEPS, SUITE, TRAINING


def summary(comparison: Comparison) -> dict[str, Any]:
    """The whole comparison. `training` of a rung includes the rungs below it.

    `suite` is a mean over tasks and is there from two tasks on; `inspection` is of each task's chosen arm.
    """
    suite = {average.arm: _average(average) for average in comparison.suite}
    inspections = {task.name: _inspection(task.inspection, task) for task in comparison.tasks if task.inspection}
    return {
        **{task.name: _task(task, comparison) for task in comparison.tasks},
        **({SUITE: suite} if suite else {}),
        **({INSPECTION: inspections} if inspections else {}),
        BITS: {
            rung.name: {name: _round(bits) for name, bits in rung.after.items()}
            for rung in comparison.rungs
            if rung.missing or rung.after  # random weights are not measured where pre-training began from others
        },
        TRAINING: {
            rung.name: {"tokens": rung.total.tokens, "tflop": _round(rung.total.tflop)}
            for rung in comparison.rungs
            if rung.total is not None
        },
    }


def _task(task: Task, comparison: Comparison) -> dict[str, Any]:
    return {
        **{arm.name: _arm(arm, task.metric, comparison.rung(arm.rung).role) for arm in task.arms},
        **{name: _baseline(score, task) for name, score in task.baselines.items()},
        STEPS: {step.name: _step(step) for step in task.steps},
    }


def _baseline(score: float, task: Task) -> dict[str, Any]:
    """With `rows` where the baselines were fitted on fewer rows than the arms."""
    fewer = {"rows": [task.baseline_rows]} if task.baseline_rows < task.labels else {}
    return {task.metric: _round(score), **fewer}


def _arm(arm: Arm, metric: str, role: str) -> dict[str, Any]:
    if arm.interval is None:
        return {}
    return {
        metric: _round(arm.interval.mean),
        **_bounds(arm.interval),
        "seeds": [[seed, _round(score)] for seed, score in arm.scores.items()],
        "degenerate": arm.degenerate,
        "rung": [arm.rung],
        "role": [role],
        **({"learning_curve": [_learning_point(point) for point in arm.learning_curve]} if arm.learning_curve else {}),
    }


def _learning_point(point: LearningPoint) -> list[float | None]:
    """Labels, mean, the ends of its interval."""
    interval = point.interval
    return [point.labels, _round(interval.mean), _round(interval.low), _round(interval.high)]


def _bounds(interval: Interval) -> dict[str, float | None]:
    bounds = {"low": _round(interval.low), "high": _round(interval.high)}
    return {name: value for name, value in bounds.items() if value is not None}


def _average(average: SuiteAverage) -> dict[str, Any]:
    return {
        "average": _round(average.interval.mean),
        **_bounds(average.interval),
        "parts": [[task, _round(score)] for task, score in average.parts.items()],
        "seeds": [[seed, _round(score)] for seed, score in average.scores.items()],
    }


def _inspection(inspection: Inspection, task: Task) -> dict[str, Any]:
    """Errors are row ids with the seeds that are wrong and their mean confidence."""
    values: dict[str, Any] = {"arm": [task.chosen]}
    calibration = inspection.calibration
    if calibration is not None:
        values["ece"] = _round(calibration.ece)
        values["ece_width"] = _round(calibration.ece_width)
        if task.tempered is not None:
            values["ece_tempered"] = _round(task.tempered.ece)
            temperatures = task.tempered.temperatures
            values["temperatures"] = [[seed, _round(temperature)] for seed, temperature in temperatures.items()]
        values["brier"] = _round(calibration.brier)
        values["ece_by_chance"] = [_round(calibration.chance)]
        values["curve"] = [[part.count, _round(part.confidence), _round(part.accuracy)] for part in calibration.curve]
    values["classes"] = [
        [scores.label, *(_round(score) for score in scores.means), scores.support] for scores in inspection.classes
    ]
    values["errors"] = [[error.id, error.seeds, _round(error.confidence)] for error in inspection.errors]
    return values


def _step(step: Step) -> dict[str, Any]:
    values: dict[str, Any] = {"of": [step.arm, step.other], "verdict": step.verdict}
    if step.difference is None:
        return values
    interval = step.difference.interval
    values["difference"] = _round(interval.mean)
    if interval.low is not None:
        values["interval"] = [_round(interval.low), _round(interval.high)]
        values["p_holm"] = _round(step.p_holm)
        values["detectable"] = [_round(step.difference.detectable)]
    return values


def _round(value: float | None) -> float | None:
    """Six decimals: further digits are rounding errors and would clutter a diff."""
    return None if value is None else round(value, 6)
