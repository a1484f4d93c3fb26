"""A task, and all tasks -> sentences in both languages: the best arm, the verdicts, the mean over tasks."""

from typing import get_args

from adaptbert.comparison.records import Comparison, Task
from adaptbert.comparison.report.sentences import repetition
from adaptbert.comparison.report.sentences.advice import would_show
from adaptbert.comparison.report.terms import (
    METRICS,
    VERDICTS,
    Words,
    listed,
    percent,
    points,
    same,
    step_name,
    within,
)
from adaptbert.comparison.statistics.intervals import FEWEST_SEEDS, Interval
from adaptbert.comparison.statistics.verdicts import Verdict


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
    """Its ends, or why it has none.

    Args:
        repeated: what was repeated.
    """
    if interval.n < FEWEST_SEEDS:
        return Words(f"{repeated.en}; an interval needs three seeds", f"{repeated.zh}；区间至少需要三个种子")
    if interval.low is None or interval.high is None:
        return Words(
            f"no interval, because all runs give the same score; {repeated.en}",
            f"各次结果相同，没有区间；{repeated.zh}",
        )
    low, high, level = points(interval.low), points(interval.high), percent(confidence)
    return Words(f"{level} % interval {low} to {high}; {repeated.en}", f"{level}% 区间 {low} 到 {high}；{repeated.zh}")


def suite(comparison: Comparison) -> list[Words]:
    """What the mean over tasks is a mean of, and which arms have none."""
    by_metric: dict[str, list[Words]] = {}
    for task in comparison.tasks:
        if same(task.task) not in by_metric.get(task.metric, []):
            by_metric.setdefault(task.metric, []).append(same(task.task))
    parts = [
        Words(f"{METRICS[metric].en} of {listed(tasks).en}", f"任务 {listed(tasks).zh} 的{METRICS[metric].zh}")
        for metric, tasks in by_metric.items()
    ]
    sentences = [
        Words(
            f"The unweighted mean of {listed(parts).en}, as in GLUE. The metrics differ: the mean ranks arms that ran "
            "the same tasks and has no absolute meaning. The runs of one draw and seed are averaged over tasks first; "
            "the interval covers draws, seeds and the test rows of all tasks, as far as they were repeated.",
            f"{listed(parts).zh}的不加权平均，做法同 GLUE。各项指标不同：这个平均只用来给跑过同样任务的各组排序，"
            "没有绝对意义。先对同一次训练、同一种子在各任务上的得分求平均；区间涵盖各次训练、种子与所有任务的测试行（以实际重复者为限）。",
        )
    ]
    averaged = {(average.start, average.arm) for average in comparison.suite}
    names = dict.fromkeys((task.start, arm.name) for task in comparison.tasks for arm in task.arms)
    several = len(comparison.starts) > 1
    left_out = [same(f"{arm} ({start})" if several else arm) for start, arm in names if (start, arm) not in averaged]
    if left_out:
        sentences.append(
            Words(
                f"No mean, because results of a task or a seed are missing: {listed(left_out).en}.",
                f"缺少某个任务或种子的结果，因此没有平均值：{listed(left_out).zh}。",
            )
        )
    return sentences


_GROUPS = [verdict for verdict in get_args(Verdict) if verdict != "descriptive"]


def verdicts(task: Task) -> Words:
    """The verdicts of the task's primary questions; arms that are compared with no other, and what they would need."""
    sentence = Words("", "")
    for verdict in _GROUPS:
        names = [
            within(step_name(step.question, step.name))
            for step in task.steps
            if step.verdict == verdict and (step.primary or verdict == "untested")
        ]
        if names:
            lead, which = VERDICTS[verdict], listed(names)
            sentence += Words(f"{lead.en[0].upper()}{lead.en[1:]}: {which.en}.", f"{lead.zh}：{which.zh}。")
    if task.steps and not any(step.primary for step in task.steps):
        sentence += Words("No primary question is asked on this task.", "这个任务没有主要问题。")
    return sentence + _uncompared(task)


def _uncompared(task: Task) -> Words:
    """The arms that are in no step, with advice."""
    if not task.arms:
        return Words("", "")
    sentence = Words("", "") if task.steps else Words("No step was compared.", "没有比较任何一步。")
    for advice in task.advice:
        if task.steps:
            names = listed([same(name) for name in advice.beside])
            sentence += Words(f"{names.en} is compared with no other arm.", f"{names.zh} 没有可比较的组。")
        sentence += would_show(advice)
    return sentence
