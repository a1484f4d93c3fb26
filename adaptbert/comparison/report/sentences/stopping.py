"""Rungs that a stop rule ended early -> sentences in both languages: when and why, and which budgets differ for it."""

from collections.abc import Mapping

from adaptbert.comparison.records import Comparison, Step, Task
from adaptbert.comparison.report.terms import Words, listed, millions, same
from adaptbert.comparison.rungs import Rung
from adaptbert.pretraining.metrics.rung_metrics import StopMetrics

REASONS: Mapping[str, Words] = {
    "patience": Words("held-out text was no longer predicted better", "留出文本的预测不再变好"),
    "forgetting": Words("general text had got worse than the limit allows", "通用文本变差的程度超过了上限"),
}
EQUAL_BUDGET = "domain_text"
"""The question whose two arms are to have equal budgets."""


def ended(comparison: Comparison) -> list[Words]:
    """What the stop rule did to each rung that has one and did not keep the last weights of its budget."""
    return [
        _ended(rung, rung.stop)
        for rung in comparison.rungs
        if rung.stop is not None and rung.stop.kept_step < rung.stop.planned_steps
    ]


def _ended(rung: Rung, stop: StopMetrics) -> Words:
    planned, steps = f"{stop.planned_steps:,}", f"{rung.steps:,}"
    trained = Words(f"{rung.name} was trained for all {planned} steps.", f"{rung.name} 训练了全部 {planned} 步。")
    if stop.reason is not None:
        why = REASONS[stop.reason]
        trained = Words(
            f"The stop rule ended {rung.name} after step {steps} of {planned}, because {why.en}.",
            f"停止规则在 {rung.name} 的第 {steps} 步（共 {planned} 步）结束训练，因为{why.zh}。",
        )
    if stop.kept_step == 0:
        return trained + Words(
            "No measurement was better than before: its weights are those that it began with.",
            "没有一次测量好于训练之前：它的权重就是开始时的权重。",
        )
    return trained + Words(
        f"Its weights are those after step {stop.kept_step:,} ({millions(stop.kept_tokens)} M tokens), the best "
        f"measured; its cost counts {millions(rung.tokens)} M tokens.",
        f"它的权重取第 {stop.kept_step:,} 步之后的（{millions(stop.kept_tokens)} 百万词元），是测得最好的；"
        f"其代价按 {millions(rung.tokens)} 百万词元计。",
    )


def nothing_kept(comparison: Comparison) -> Words | None:
    """Rungs whose names promise a training that their weights do not have, and the arms that stand on them."""
    rungs = dict.fromkeys(name for task in comparison.tasks for arm in task.arms for name in arm.nothing_kept)
    if not rungs:
        return None
    arms = dict.fromkeys(arm.name for task in comparison.tasks for arm in task.arms if arm.nothing_kept)
    names, on = listed([same(name) for name in rungs]), listed([same(name) for name in arms])
    return Words(
        f"The stop rule kept nothing of the training of {names.en}: these rungs have the weights that they began with, "
        f"and what is said of {on.en} is said without this step.",
        f"停止规则没有保留 {names.zh} 的任何训练：这些级的权重就是开始时的权重，关于 {on.zh} 的说法都不含这一步。",
    )


def unequal_budgets(step: Step, task: Task) -> Words:
    """For the question of equal budgets: that they differ, because a rule ended a rung of one arm; else empty."""
    arms = [task.arm(step.arm), task.arm(step.other)]
    early = [set(arm.ended_early) for arm in arms if arm is not None]
    if step.question != EQUAL_BUDGET or len(early) < 2 or early[0] == early[1]:
        return Words("", "")
    names = listed([same(name) for name in sorted(early[0] ^ early[1])])
    return Words(
        f"The budgets of the two arms are not equal: the stop rule ended {names.en} early.",
        f"两组的预算不相等：停止规则提前结束了 {names.zh}。",
    )
