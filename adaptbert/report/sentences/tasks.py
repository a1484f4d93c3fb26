"""A task -> sentences in both languages: its best arm, and the arms that are compared with no other."""

from adaptbert.comparison.records import Task
from adaptbert.report.sentences import repetition
from adaptbert.report.sentences.advice import would_show
from adaptbert.report.terms import METRICS, Words, listed, percent, points, same
from adaptbert.statistics.intervals import Interval


def best(task: Task, confidence: float) -> Words:
    """Which arm scores highest on the dev split, and its score on the test split."""
    arm = task.arm(task.chosen) if task.chosen is not None else None
    if arm is None or arm.interval is None:
        return Words("No arm of this task has a result yet.", "这个任务还没有任何结果。")
    metric, score = METRICS[task.metric], points(arm.interval.mean)
    interval = _interval(arm.interval, confidence, repetition.of_mean(arm.interval, arm, task))
    if sum(not each.missing for each in task.arms) == 1:  # there was nothing to choose from
        return Words(
            f"The only arm with a result is {arm.name}; on the test split it scores {score} ({metric.en}, "
            f"{interval.en}).",
            f"有结果的只有 {arm.name} 一组；它在测试集上的{metric.zh} 为 {score}（{interval.zh}）。",
        )
    if len(task.best_on_dev) > 1:
        names = listed([same(name) for name in task.best_on_dev])
        return Words(
            f"{names.en} score equally on the dev split, and {arm.name} is the first of them; on the test split it "
            f"scores {score} ({metric.en}, {interval.en}).",
            f"开发集上 {names.zh} 得分相同，取其中第一个 {arm.name}；它在测试集上的{metric.zh} 为 {score}"
            f"（{interval.zh}）。",
        )
    return Words(
        f"{arm.name} scores highest on the dev split; on the test split it scores {score} ({metric.en}, "
        f"{interval.en}).",
        f"{arm.name} 在开发集上得分最高；它在测试集上的{metric.zh} 为 {score}（{interval.zh}）。",
    )


def _interval(interval: Interval, confidence: float, repeated: Words) -> Words:
    """Its ends, where it has them, and what was repeated."""
    if interval.low is None or interval.high is None:
        return repeated
    low, high, level = points(interval.low), points(interval.high), percent(confidence)
    return Words(f"{level} % interval {low} to {high}; {repeated.en}", f"{level}% 区间 {low} 到 {high}；{repeated.zh}")


def uncompared(task: Task) -> Words:
    """The arms that are in no step, with advice; that no primary question is asked."""
    if not task.arms:
        return Words("", "")
    sentence = Words("", "") if task.steps else Words("No step was compared.", "没有比较任何一步。")
    if task.steps and not any(step.primary for step in task.steps):
        sentence = Words("No primary question is asked on this task.", "这个任务没有主要问题。")
    for advice in task.advice:
        if task.steps:
            names = listed([same(name) for name in advice.beside])
            sentence += Words(f"{names.en} is compared with no other arm.", f"{names.zh} 没有可比较的组。")
        sentence += would_show(advice)
    return sentence
