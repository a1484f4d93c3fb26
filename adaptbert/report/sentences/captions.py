"""Comparison -> captions of the figures; a caption mentions only what its figure shows."""

from collections.abc import Iterable

from adaptbert.comparison.records import Comparison, Step, Task
from adaptbert.report.terms import Words, listed, percent, points, same
from adaptbert.statistics.intervals import Interval


def arms(task: Task, confidence: float) -> Words:
    """Caption of the bars of a task."""
    intervals = [arm.interval for arm in task.arms]
    if task.draws > 1:
        caption = Words(
            "Mean over draws and seeds, a dot for each of them and a line of dots for each draw.",
            "各次独立训练与各种子的均值，每个点是一个种子，每行点是一次独立训练。",
        )
    else:
        caption = Words("Mean over seeds, a dot for each seed.", "种子均值，每个点是一个种子。")
    caption += _intervals(intervals, Words("Whisker", "须线"), confidence)
    if task.baselines:
        caption += Words("Dashed: baselines without pre-training.", "虚线为不用预训练的基线。")
    if task.best_on_dev:
        mark = best_on_dev(task)
        caption += Words(f"✓: {mark.en}; test scores are not considered.", f"✓：{mark.zh}，不考虑测试集得分。")
    return caption


def best_on_dev(task: Task) -> Words:
    """Meaning of the mark beside an arm."""
    if len(task.best_on_dev) > 1:
        return Words("equal best on dev", "开发集并列最高")
    return Words("best on dev", "开发集最高")


def differences(task: Task, worth: float) -> Words:
    """Caption of the steps of a task."""
    caption = Words("Difference in points.", "得分差（分）。")
    if any(step.difference is not None and step.difference.testable for step in task.steps):
        caption += Words(
            f"Whisker: its interval. Dotted: ±{points(worth)} points, the smallest gain worth having.",
            f"须线为其区间。点线：±{points(worth)} 分，即值得的最小提升。",
        )
        if any(has_band(step) for step in task.steps):
            caption += Words(
                "Grey band, of questions with a verdict: effects inside it are shown in fewer than four of five "
                "studies of this size.",
                "灰带（只用于有结论的问题）：落在带内的效应，同等规模的研究五次中不到四次能证实。",
            )
    return caption


def has_band(step: Step) -> bool:
    """Whether the figure shows what the question could not have shown; nothing is shown of one without a verdict."""
    return step.p_holm is not None and step.detectable is not None


def learning(task: Task, confidence: float) -> Words:
    """Caption of the learning curves of a task."""
    points = (point.interval for arm in task.arms for point in arm.learning_curve)
    lead = Words(
        "Mean over seeds by number of labels, with intervals over seeds.",
        "不同标注数量下的种子均值，区间只按种子计算。",
    )
    return lead + _intervals(points, Words("Band", "色带"), confidence)


def classes(task: Task) -> Words:
    """Caption of the bars of the classes."""
    return Words(f"Arm {task.chosen}, a dot for each run.", f"组 {task.chosen}，每个点是一次微调。")


def reliability(runs: Words) -> Words:
    """Caption of the reliability curve.

    Args:
        runs: how many are taken together.
    """
    return Words(
        f"Accuracy in % (vertical) by confidence in % (horizontal), {runs.en} together. Dashed: both equal.",
        f"纵轴为准确率（%），横轴为置信度（%），合并{runs.zh}。虚线：两者相等。",
    )


def curve(comparison: Comparison) -> Words:
    """Caption of the bits per character on one text."""
    caption = Words("bits per character by cumulative training tokens", "每字符比特数，横轴为累计训练词元")
    if comparison.draws_of_a_rung > 1:
        caption = Words(f"{caption.en}, a line for each draw", f"{caption.zh}，每次独立训练一条线")
    return caption


def _intervals(intervals: Iterable[Interval | None], drawn: Words, confidence: float) -> Words:
    if all(interval is None or interval.low is None for interval in intervals):
        return Words("", "")
    level = percent(confidence)
    return Words(f"{drawn.en}: {level} % interval.", f"{drawn.zh}为 {level}% 区间。")


def demonstration(comparison: Comparison) -> Words | None:
    """A warning about figures from demonstration text; None without such text."""
    names = [same(source.name) for source in comparison.sources if source.demonstration]
    if not names:
        return None
    text = listed(names)
    return Words(
        f"The text of {text.en} comes with Python and installed packages. Figures that depend on it do not predict the "
        "effect on your text.",
        f"{text.zh} 的文本随 Python 与所安装软件包而来，依赖它的数字不代表在您自己的文本上的效果。",
    )
