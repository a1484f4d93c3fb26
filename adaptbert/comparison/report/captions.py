"""Comparison -> captions of the figures; a caption mentions only what its figure shows."""

from collections.abc import Iterable

from adaptbert.comparison.records import Comparison, Task
from adaptbert.comparison.report.terms import Words, listed, percent, same
from adaptbert.comparison.statistics import FEWEST_SEEDS, Interval


def arms(task: Task, confidence: float) -> Words:
    """Caption of the bars of a task."""
    caption = Words("Mean over seeds, a dot for each seed;", "种子均值，每个点是一个种子；")
    caption += _intervals((arm.interval for arm in task.arms), Words("whisker", "须线"), confidence)
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


def differences(task: Task) -> Words:
    """Caption of the steps of a task."""
    caption = Words("Difference in points, paired by seed.", "按种子配对的得分差。")
    known = [step.difference for step in task.steps if step.difference is not None]
    if any(difference.detectable is not None for difference in known):
        return caption + Words(
            "Effects inside the grey band are too small for this number of seeds.",
            "灰带内的效应太小，以目前的种子数检测不出。",
        )
    if any(difference.interval.n >= FEWEST_SEEDS for difference in known):
        return caption + Words(
            "A difference that is equal for all seeds has no interval.", "各种子差值相同时，没有区间。"
        )
    return caption + Words("An interval needs three seeds.", "区间至少需要三个种子。")


def learning(task: Task, confidence: float) -> Words:
    """Caption of the learning curves of a task."""
    points = (point.interval for arm in task.arms for point in arm.learning_curve)
    lead = Words("Mean over seeds by number of labels;", "不同标注数量下的种子均值；")
    return lead + _intervals(points, Words("band", "色带"), confidence)


def _intervals(intervals: Iterable[Interval | None], drawn: Words, confidence: float) -> Words:
    shown = [interval for interval in intervals if interval is not None]
    level = percent(confidence)
    if any(interval.low is not None for interval in shown):
        return Words(f"{drawn.en}: {level} % interval.", f"{drawn.zh}为 {level}% 区间。")
    if any(interval.n >= FEWEST_SEEDS for interval in shown):
        return Words("no interval, because all seeds give the same result.", "各种子结果相同，没有区间。")
    return Words("an interval needs three seeds.", "区间至少需要三个种子。")


def demonstration(comparison: Comparison) -> Words | None:
    """A warning about figures from demonstration text; None without such text."""
    names = [same(source.name) for source in comparison.sources if source.demonstration]
    if not names:
        return None
    text = Words("These figures come from text", "这些数字来自")
    if len(names) < len(comparison.sources):
        text = Words(f"A part of the text ({listed(names).en}) is text", f"一部分文本（{listed(names).zh}）是")
        return text + Words(
            "that is available on any machine. Figures that depend on it do not predict the effect on your text.",
            "任何机器上都有的文本，依赖它的数字不代表在您自己的文本上的效果。",
        )
    return text + Words(
        "that is available on any machine. They show that the pipeline works, not how it performs on your text.",
        "任何机器上都有的文本，只说明流程可用，不代表在您自己的文本上的效果。",
    )
