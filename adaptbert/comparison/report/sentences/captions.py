"""Comparison -> captions of the figures; a caption mentions only what its figure shows."""

from collections.abc import Iterable

from adaptbert.comparison.records import Comparison, Step, Task
from adaptbert.comparison.report.terms import Words, listed, percent, points, same
from adaptbert.comparison.statistics.intervals import FEWEST_SEEDS, Interval


def arms(task: Task, confidence: float) -> Words:
    """Caption of the bars of a task."""
    intervals = [arm.interval for arm in task.arms]
    if task.draws > 1:
        caption = Words(
            "Mean over draws and seeds, a dot for each of them and a line of dots for each draw;",
            "各次独立训练与各种子的均值，每个点是一个种子，每行点是一次独立训练；",
        )
    else:
        caption = Words("Mean over seeds, a dot for each seed;", "种子均值，每个点是一个种子；")
    caption += _intervals(intervals, Words("whisker", "须线"), confidence)
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
    caption = Words(
        "Difference in points, paired by seed and test row, with its interval.", "按种子与测试行配对的得分差及其区间。"
    )
    known = [step.difference for step in task.steps if step.difference is not None]
    if any(difference.testable for difference in known):
        caption += Words(
            f"Dotted: ±{points(worth)} points, the smallest gain worth having.",
            f"点线：±{points(worth)} 分，即值得的最小提升。",
        )
        if any(has_band(step) for step in task.steps):
            caption += Words(
                "Grey band, of questions with a verdict: effects inside it are shown in fewer than four of five "
                "studies of this size.",
                "灰带（只用于有结论的问题）：落在带内的效应，同等规模的研究五次中不到四次能证实。",
            )
        return caption
    if any(difference.seeds >= FEWEST_SEEDS for difference in known):
        return caption + Words("Arms that score alike have no interval.", "得分相同的组没有区间。")
    return caption + Words("An interval needs three seeds.", "区间至少需要三个种子。")


def has_band(step: Step) -> bool:
    """Whether the figure shows what the question could not have shown; nothing is shown of one without a verdict."""
    return step.p_holm is not None and step.detectable is not None


def learning(task: Task, confidence: float) -> Words:
    """Caption of the learning curves of a task."""
    points = (point.interval for arm in task.arms for point in arm.learning_curve)
    lead = Words(
        "Mean over seeds by number of labels, with intervals over seeds;",
        "不同标注数量下的种子均值，区间只按种子计算；",
    )
    return lead + _intervals(points, Words("band", "色带"), confidence)


def classes(task: Task) -> Words:
    """Caption of the bars of the classes."""
    if task.draws > 1:
        return Words(f"Arm {task.chosen}, a dot for each draw and seed.", f"组 {task.chosen}，每个点是一次微调。")
    return Words(f"Arm {task.chosen}, a dot for each seed.", f"组 {task.chosen}，每个点是一个种子。")


def reliability(runs: Words) -> Words:
    """Caption of the reliability curve.

    Args:
        runs: how many are taken together.
    """
    return Words(
        f"Accuracy in % (vertical) by confidence in % (horizontal), {runs.en} together, equally many rows in each dot. "
        "On the dashed line confidence equals accuracy; below it the model is overconfident.",
        f"纵轴为准确率（%），横轴为置信度（%），合并{runs.zh}，每个点的行数相同。虚线表示置信度等于准确率，"
        "低于虚线表示模型过于自信。",
    )


def curve(comparison: Comparison) -> Words:
    """Caption of the bits per character on one text."""
    caption = Words("bits per character by cumulative training tokens", "每字符比特数，横轴为累计训练词元")
    if comparison.draws_of_a_rung > 1:
        caption = Words(f"{caption.en}, a line for each draw", f"{caption.zh}，每次独立训练一条线")
    return caption


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
            "that comes with Python and installed packages. Figures that depend on it do not predict the effect on "
            "your text.",
            "随 Python 与所安装软件包而来的文本，依赖它的数字不代表在您自己的文本上的效果。",
        )
    return text + Words(
        "that comes with Python and installed packages. They show that the pipeline works, not how it performs on "
        "your text.",
        "随 Python 与所安装软件包而来的文本，只说明流程可用，不代表在您自己的文本上的效果。",
    )
