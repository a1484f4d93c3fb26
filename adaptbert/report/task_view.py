"""One task -> what its section and its card show: sentences, and figures as SVG."""

from dataclasses import dataclass

from adaptbert.comparison.evaluation.class_scores import Confusion
from adaptbert.comparison.records import Arm, Comparison, Step, Task
from adaptbert.comparison.rungs import Rung
from adaptbert.report import terms as words
from adaptbert.report.charts import curves, rows
from adaptbert.report.charts.figure import Figure
from adaptbert.report.sentences import captions, repetition, steps, trust
from adaptbert.report.sentences import tasks as sentences
from adaptbert.report.terms import Words

MOST_CLASSES = 30
"""The most classes that a figure shows."""


@dataclass(frozen=True)
class TaskView:
    """What the templates show of one task."""

    task: Task
    runs: Words
    metric: Words
    test_rows: Words
    headline: Words
    uncompared: Words
    baseline: trust.Baseline | None
    against_baselines: Words
    best_on_dev: Words
    arms: Figure
    differences: Figure | None
    learning: Figure | None
    steps: list[tuple[Step, Words]]
    classes: Figure | None
    confusion: Confusion | None
    calibration: Words | None
    reliability: Figure | None

    @property
    def figures(self) -> list[Figure]:
        """Those that it has."""
        each = (self.arms, self.differences, self.learning, self.classes, self.reliability)
        return [figure for figure in each if figure is not None]


def view_of(task: Task, comparison: Comparison) -> TaskView:
    confidence = comparison.confidence
    runs = repetition.counted(task.inspection.runs if task.inspection is not None else 0, task)
    return TaskView(
        task=task,
        runs=runs,
        metric=words.METRICS[task.metric],
        test_rows=repetition.test_rows(task),
        headline=sentences.best(task, confidence),
        uncompared=sentences.uncompared(task),
        baseline=trust.baseline(task),
        against_baselines=trust.against_baselines(task, confidence),
        best_on_dev=captions.best_on_dev(task),
        arms=_arms(task, comparison),
        differences=_differences(task, comparison.worth),
        learning=_learning(task, comparison),
        steps=[(step, steps.step(step, task, confidence, comparison.worth)) for step in task.steps],
        classes=_classes(task),
        confusion=_confusion(task),
        calibration=trust.calibration(task),
        reliability=_reliability(task, runs),
    )


def _arms(task: Task, comparison: Comparison) -> Figure:
    marks = [rows.Mark(words.baseline_name(name, task.target), score.mean) for name, score in task.baselines.items()]
    bars = [_bar(arm, comparison.rung(arm.rung), arm.name in task.best_on_dev) for arm in task.arms]
    name = f"arms-{task.anchor}"
    return Figure(
        name,
        Words("Arms", "组"),
        captions.arms(task, comparison.confidence),
        rows.bars(bars, marks, name),
        of=task.name,
    )


def _bar(arm: Arm, rung: Rung, is_best_on_dev: bool) -> rows.Bar:
    if arm.interval is None:
        return rows.Bar(arm.name, rung.role, None, None, None, [])
    interval = arm.interval
    dots = [list(scores.values()) for scores in arm.by_draw.values()]
    return rows.Bar(arm.name, rung.role, interval.mean, interval.low, interval.high, dots, is_best_on_dev)


def _differences(task: Task, worth: float) -> Figure | None:
    if not task.steps:
        return None
    whiskers, name = [_whisker(step) for step in task.steps], f"differences-{task.anchor}"
    return Figure(
        name,
        Words("Steps", "步骤"),
        captions.differences(task, worth),
        rows.whiskers(whiskers, worth, name),
        of=task.name,
    )


def _whisker(step: Step) -> rows.Whisker:
    label = words.step_name(step.question, step.name)
    if step.difference is None:
        return rows.Whisker(label, step.verdict, None, None, None, None)
    detectable = step.detectable.value if step.detectable is not None and captions.has_band(step) else None
    difference = step.difference
    return rows.Whisker(label, step.verdict, difference.mean, difference.low, difference.high, detectable)


def _learning(task: Task, comparison: Comparison) -> Figure | None:
    lines = [
        curves.LearningCurve(
            arm.name,
            comparison.rung(arm.rung).role,
            [(p.labels, p.interval.mean, p.interval.low, p.interval.high) for p in arm.learning_curve],
        )
        for arm in task.arms
        if arm.learning_curve
    ]
    if not lines:
        return None
    name = f"learning-{task.anchor}"
    return Figure(
        name,
        Words("Learning curves", "学习曲线"),
        captions.learning(task, comparison.confidence),
        curves.learning(lines, name),
        [(line.label, line.role) for line in lines],
        of=task.name,
    )


def _classes(task: Task) -> Figure | None:
    """None without classes, and where they are too many for bars: all of them are in the table."""
    if task.inspection is None or not 0 < len(task.inspection.classes) <= MOST_CLASSES:
        return None
    bars = [
        rows.Bar(scores.label, "class", scores.means[2], None, None, [scores.f1]) for scores in task.inspection.classes
    ]
    name = f"classes-{task.anchor}"
    return Figure(
        name,
        Words("F1 of each class", "各类别 F1"),
        captions.classes(task),
        rows.bars(bars, [], name),
        of=task.name,
    )


def _confusion(task: Task) -> Confusion | None:
    """None where a row has no single label, and where the labels are too many; reports/plots has them all."""
    matrix = task.inspection.confusion if task.inspection is not None else None
    return matrix if matrix is not None and len(matrix.labels) <= MOST_CLASSES else None


def _reliability(task: Task, runs: Words) -> Figure | None:
    calibration = task.inspection.calibration if task.inspection is not None else None
    if calibration is None:
        return None
    curve, name = [(part.confidence, part.accuracy) for part in calibration.curve], f"reliability-{task.anchor}"
    return Figure(
        name,
        Words("Reliability", "可靠性曲线"),
        captions.reliability(runs),
        curves.reliability(curve, name),
        of=task.name,
    )
