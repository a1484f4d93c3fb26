"""One task -> what its section and its card show: sentences, and figures as SVG."""

from dataclasses import dataclass

from markupsafe import Markup

from adaptbert.comparison.class_scores import Confusion
from adaptbert.comparison.records import Arm, Comparison, Rung, Step, Task
from adaptbert.comparison.report import captions, charts, curves
from adaptbert.comparison.report import step_sentences as sentences
from adaptbert.comparison.report import terms as words
from adaptbert.comparison.report import trust_sentences as trust
from adaptbert.comparison.report.terms import Words

MOST_CLASSES = 30
"""The most classes that a figure shows."""


@dataclass(frozen=True)
class TaskView:
    """What the templates show of one task."""

    task: Task
    metric: Words
    headline: Words
    lift: list[Words]
    without_gain: Words
    baseline: trust.Baseline | None
    against_baselines: Words
    degenerate: Words | None
    troubles: list[Words]
    arms_are: Words
    best_on_dev: Words
    arms: Markup
    differences_are: Words
    differences: Markup | None
    learning_is: Words
    learning: Markup | None
    steps: list[tuple[Step, Words]]
    classes: Markup | None
    confusion: Confusion | None
    calibration: Words | None
    reliability: Markup | None


def view_of(task: Task, comparison: Comparison) -> TaskView:
    confidence = comparison.confidence
    marks = [charts.Mark(words.baseline_name(name, task.target), score) for name, score in task.baselines.items()]
    whiskers = [_whisker(step) for step in task.steps]
    bars = [_bar(arm, comparison.rung(arm.rung), arm.name in task.best_on_dev) for arm in task.arms]
    return TaskView(
        task=task,
        metric=words.METRICS[task.metric],
        headline=sentences.best(task, confidence),
        lift=sentences.lift(task, confidence),
        without_gain=sentences.without_gain(task),
        baseline=trust.baseline(task),
        against_baselines=trust.against_baselines(task, confidence),
        degenerate=trust.degenerate(task),
        troubles=trust.troubles(task),
        arms_are=captions.arms(task, confidence),
        best_on_dev=captions.best_on_dev(task),
        arms=charts.bars(bars, marks, f"arms-{task.name}"),
        differences_are=captions.differences(task),
        differences=charts.whiskers(whiskers, f"differences-{task.name}") if whiskers else None,
        learning_is=captions.learning(task, confidence),
        learning=_learning(task, comparison),
        steps=[(step, sentences.step(step, task, confidence)) for step in task.steps],
        classes=_classes(task),
        confusion=_confusion(task),
        calibration=trust.calibration(task),
        reliability=_reliability(task),
    )


def _bar(arm: Arm, rung: Rung, is_best_on_dev: bool) -> charts.Bar:
    if arm.interval is None:
        return charts.Bar(arm.name, rung.role, None, None, None, [])
    interval = arm.interval
    return charts.Bar(
        arm.name, rung.role, interval.mean, interval.low, interval.high, list(arm.scores.values()), is_best_on_dev
    )


def _learning(task: Task, comparison: Comparison) -> Markup | None:
    lines = [
        curves.LearningCurve(
            arm.name,
            comparison.rung(arm.rung).role,
            [(p.labels, p.interval.mean, p.interval.low, p.interval.high) for p in arm.learning_curve],
        )
        for arm in task.arms
        if arm.learning_curve
    ]
    return curves.learning(lines, f"learning-{task.name}") if lines else None


def _whisker(step: Step) -> charts.Whisker:
    label = words.step_name(step.question, step.name)
    if step.difference is None:
        return charts.Whisker(label, step.verdict, None, None, None, None)
    interval = step.difference.interval
    detectable = step.difference.detectable
    return charts.Whisker(label, step.verdict, interval.mean, interval.low, interval.high, detectable)


def _classes(task: Task) -> Markup | None:
    """None without classes, and where they are too many for bars: all of them are in the table."""
    if task.inspection is None or not 0 < len(task.inspection.classes) <= MOST_CLASSES:
        return None
    rows = [
        charts.Bar(scores.label, "class", scores.means[2], None, None, scores.f1) for scores in task.inspection.classes
    ]
    return charts.bars(rows, [], f"classes-{task.name}")


def _confusion(task: Task) -> Confusion | None:
    """None where a row has no single label, and where the labels are too many; reports/plots has them all."""
    matrix = task.inspection.confusion if task.inspection is not None else None
    return matrix if matrix is not None and len(matrix.labels) <= MOST_CLASSES else None


def _reliability(task: Task) -> Markup | None:
    calibration = task.inspection.calibration if task.inspection is not None else None
    if calibration is None:
        return None
    return curves.reliability(
        [(part.confidence, part.accuracy) for part in calibration.curve], f"reliability-{task.name}"
    )
