"""Records of the comparison -> the figures of the page, each with its title, caption and legend."""

from collections.abc import Iterator

from adaptbert.comparison.records import Arm, Comparison, Confusion, Task
from adaptbert.report.charts import curves, rows
from adaptbert.report.charts.figure import Figure
from adaptbert.report.language import t
from adaptbert.report.sentences import captions, repetition
from adaptbert.report.terms import baseline_name

MOST_CLASSES = 30
"""The most classes that a figure shows: all of them are in the table and in reports/plots."""


def of_task(task: Task, comparison: Comparison) -> dict[str, Figure]:
    """Those that it has, by kind: `arms`, `differences`, `learning`, `classes`, `reliability`."""
    return {figure.name.partition("-")[0]: figure for figure in _of_task(task, comparison)}


def _of_task(task: Task, comparison: Comparison) -> Iterator[Figure]:
    def name(kind: str) -> str:
        return f"{kind}-{task.anchor}"

    bars = [_bar(arm, marked=arm.name in task.best_on_dev) for arm in task.arms]
    marks = [(baseline_name(each, task.target), score.mean) for each, score in task.baselines.items()]
    drawn, caption = rows.bars(bars, marks, name("arms")), captions.arms(task, comparison.confidence)
    yield Figure(name("arms"), t("Arms"), caption, drawn, of=task.name)
    if task.steps:
        drawn = rows.whiskers(task.steps, comparison.worth, name("differences"))
        caption = captions.differences(task, comparison.worth)
        yield Figure(name("differences"), t("Steps"), caption, drawn, of=task.name)
    learned = [arm for arm in task.arms if arm.learning_curve]
    if learned:
        drawn, caption = curves.learning(learned, name("learning")), captions.learning(task, comparison.confidence)
        legend = [(arm.name, arm.role) for arm in learned]
        yield Figure(name("learning"), t("Learning curves"), caption, drawn, legend, of=task.name)
    if task.inspection is None:
        return
    if 0 < len(task.inspection.classes) <= MOST_CLASSES:
        of_classes = [
            rows.Bar(each.label, "class", each.means[2], None, None, [each.f1]) for each in task.inspection.classes
        ]
        caption = t("Arm {arm}, a dot for each run.", arm=task.chosen)
        drawn = rows.bars(of_classes, [], name("classes"))
        yield Figure(name("classes"), t("F1 of each class"), caption, drawn, of=task.name)
    if task.inspection.calibration is not None:
        caption = t(
            "Accuracy in % (vertical) by confidence in % (horizontal), {runs} together. Dashed: both equal.",
            runs=repetition.runs_of(task.inspection.runs, task),
        )
        drawn = curves.reliability(task.inspection.calibration.curve, name("reliability"))
        yield Figure(name("reliability"), t("Reliability"), caption, drawn, of=task.name)


def _bar(arm: Arm, *, marked: bool) -> rows.Bar:
    if arm.interval is None:
        return rows.Bar(arm.name, arm.role, None, None, None, [])
    interval, dots = arm.interval, [list(scores.values()) for scores in arm.by_replicate.values()]
    return rows.Bar(arm.name, arm.role, interval.mean, interval.low, interval.high, dots, marked)


def confusion(task: Task) -> Confusion | None:
    """None where a row has no single label, and where the labels are too many."""
    matrix = task.inspection.confusion if task.inspection is not None else None
    return matrix if matrix is not None and len(matrix.labels) <= MOST_CLASSES else None


def of_curves(comparison: Comparison) -> list[Figure]:
    """Bits per character, a panel for each start and held-out text."""
    panels, paths = [], {replicate.name: checkpoint.path for checkpoint, replicate in comparison.trained()}
    for start in comparison.bases:
        for heldout in comparison.heldout:
            name, lines = f"curve-{start}-{heldout}", _lines(comparison, start, heldout)
            title = f"{heldout} · {start}" if len(comparison.bases) > 1 else heldout
            legend = list(dict.fromkeys((paths[line.label], line.role) for line in lines))
            drawn = curves.curves(lines, name)
            panels.append(Figure(name, title, captions.curve(comparison), drawn, legend, start=start))
    return panels


def _lines(comparison: Comparison, start: str, heldout: str) -> list[curves.Curve]:
    """A line for each draw; a task's own rungs are drawn on its own text and on the corpora, not on other tasks'."""
    tasks = {task.task for task in comparison.tasks}
    others = tasks - {heldout} if heldout in tasks else set()
    lines = []
    for checkpoint, replicate in comparison.trained():
        total, cost = replicate.total, replicate.cost
        is_here = checkpoint.base == start and checkpoint.task not in others
        if not is_here or total is None or cost is None or checkpoint.below is None:
            continue
        below = total.tokens - cost.tokens
        points = [(below + tokens, bits[heldout]) for tokens, bits in replicate.curve if heldout in bits]
        if points:
            dashed = checkpoint.climb.with_task_text
            lines.append(curves.Curve(replicate.name, checkpoint.role, points, dashed=dashed))
    return lines
