"""A task -> sentences in both languages on how far its figures carry: confidences, controls, seeds that went wrong."""

from dataclasses import dataclass
from typing import Literal

from adaptbert.comparison.amounts import at_least
from adaptbert.comparison.records import Task
from adaptbert.comparison.report.terms import TARGET_WORDS, Words, control, learns, listed, percent, points
from adaptbert.comparison.statistics import FEWEST_SEEDS
from adaptbert.rows.targets import TARGETS

CALIBRATED_WITHIN = 1.5
"""Times the error that chance alone gives: above, confidences are said to be off."""


def calibration(task: Task) -> Words | None:
    """Whether the chosen arm is as often right as it is sure; None where nothing is simply right."""
    found = task.inspection.calibration if task.inspection is not None else None
    if found is None:
        return None
    right = TARGET_WORDS[task.target].right
    assert right is not None, f"{task.target}: answers are right or wrong, and terms.py does not say when"
    claimed, came_true = points(found.claimed), points(found.came_true)
    ece, width, chance = (at_least(100 * error, 1) for error in (found.ece, found.ece_width, found.chance))
    brier = at_least(found.brier, 3)
    if found.ece <= CALIBRATED_WITHIN * found.chance:
        verdict = Words("As far as these rows can tell, that is true.", "就这些行而言，看不出偏差。")
    elif found.claimed > found.came_true:
        verdict = Words("It is surer than it should be.", "模型过于自信。")
    else:
        verdict = Words("It is less sure than it could be.", "模型不够自信。")
    return Words(
        f"A row counts as right when {right.en}. The mean confidence is {claimed} %, and {came_true} % are right.",
        f"一行算作正确，是指{right.zh}。平均置信度为 {claimed}%，正确率为 {came_true}%。",
    ) + (
        verdict
        + Words(
            f"Expected calibration error: {ece} in bins of equally many rows ({width} in bins of equal width); true "
            f"confidences would get {chance} by chance. Brier score: {brier}.",
            f"期望校准误差：等量分箱 {ece}（等宽分箱 {width}），置信度完全真实时仅因偶然也会有 {chance}。"
            f"Brier 分数：{brier}。",
        )
        + _tempered(task, ece)
    )


def _tempered(task: Task, before: str) -> Words:
    """What one number a seed, fitted on dev, would do for the confidences."""
    if task.tempered is None:
        return Words("", "")
    values = sorted(task.tempered.temperatures.values())
    low, high, after = f"{values[0]:.2f}", f"{values[-1]:.2f}", at_least(100 * task.tempered.ece, 1)
    told = Words(low, low) if low == high else Words(f"{low} to {high}", f"{low} 到 {high}")
    return Words(
        f"A temperature that is fitted on dev ({told.en}; above 1 is too sure) takes it from {before} to {after} in "
        "bins of equally many rows. It changes no answer, and is not applied to the confidences shown here.",
        f"在开发集上拟合的温度（{told.zh}，大于 1 表示过于自信）会把等量分箱的误差从 {before} 变为 {after}。"
        "它不改变任何答案，这里显示的置信度也未使用它。",
    )


Standing = Literal["wins", "ties", "loses", "higher", "lower"]
"""Of a control beside the chosen arm: below, inside and above its interval; without one the mean alone."""


@dataclass(frozen=True)
class Baseline:
    """The control that does best on the test split: no choice is made by it."""

    name: str
    score: float
    standing: Standing


def baseline(task: Task) -> Baseline | None:
    """None without a chosen arm, and without controls."""
    arm = task.arm(task.chosen) if task.chosen is not None else None
    if arm is None or arm.interval is None or not task.controls:
        return None
    name = max(task.controls, key=lambda each: task.controls[each])
    score, interval = task.controls[name], arm.interval
    if interval.low is None or interval.high is None:
        return Baseline(name, score, "higher" if score > interval.mean else "lower")
    return Baseline(name, score, "loses" if interval.low > score else "wins" if interval.high < score else "ties")


def against_controls(task: Task, confidence: float) -> Words:
    """The chosen arm beside the control that is hardest to beat."""
    arm, found = task.arm(task.chosen) if task.chosen is not None else None, baseline(task)
    if arm is None or arm.interval is None or found is None:
        return Words("", "")
    level, rows = percent(confidence), _rows_of(found.name, task)
    best = "The control that does best" if len(task.controls) > 1 else "The only control"
    best_zh = "得分最高的对照" if len(task.controls) > 1 else "唯一的对照"
    named = control(found.name, task.target)
    beside = Words(
        f"{best} on the test split ({named.en}, {rows.en}) scores {points(found.score)}:",
        f"在测试集上{best_zh}（{named.zh}，{rows.zh}）为 {points(found.score)} 分：",
    )
    mean, n = points(arm.interval.mean), arm.interval.n
    if found.standing in ("higher", "lower") and n >= FEWEST_SEEDS:
        return beside + Words(
            f"{arm.name} scores {mean} with each of its {n} seeds, without any spread to judge the gap by.",
            f"{arm.name} 的 {n} 个种子都是 {mean} 分，没有波动可供判断差距是否可靠。",
        )
    if found.standing in ("higher", "lower"):
        return beside + Words(
            f"{arm.name} scores {mean} and has no interval from {n} seed{'s' * (n > 1)}: the gap cannot be judged.",
            f"{arm.name} 为 {mean} 分，{n} 个种子给不出区间，差距是否可靠无法判断。",
        )
    if found.standing == "loses":
        return beside + Words(f"{arm.name} lies above it.", f"{arm.name} 明显高于它。")
    if found.standing == "wins":
        return beside + Words(
            f"{arm.name} lies below it. At this budget that control is the better choice.",
            f"{arm.name} 明显低于它。在这个预算下，这个对照是更好的选择。",
        )
    return beside + Words(
        f"it lies inside the {level} % interval of {arm.name}; neither is ahead for certain.",
        f"它落在 {arm.name} 的 {level}% 区间之内，分不出高下。",
    )


def _rows_of(name: str, task: Task) -> Words:
    """What a control has learned from."""
    if not learns(name, task.target):
        return Words("trained on nothing", "不经训练")
    if task.control_rows < task.labels:
        return Words(
            f"trained on the first {task.control_rows:,} of the same {task.labels:,} rows",
            f"只用同样 {task.labels:,} 行中的前 {task.control_rows:,} 行训练",
        )
    return Words(f"trained on the same {task.labels:,} rows", f"用同样 {task.labels:,} 行训练")


def degenerate(task: Task) -> Words | None:
    """Arms with seeds that learned to give one answer; None where there are none."""
    parts = [
        Words(
            f"{arm.name} ({len(arm.degenerate)} of {len(arm.scores)})",
            f"{arm.name}（{len(arm.scores)} 个中的 {len(arm.degenerate)} 个）",
        )
        for arm in task.arms
        if arm.degenerate
    ]
    if not parts:
        return None
    what = _ONE_ANSWER[TARGETS[task.target].classes is None]
    return Words(f"Seeds that {what.en}: {listed(parts).en}.", f"{what.zh}的种子：{listed(parts).zh}。")


_ONE_ANSWER = (
    Words("predict one class only", "只预测一个类别"),
    Words("answer every row alike", "对每一行给出同一答案"),
)
"""What a degenerate seed does: of classes, of anything else."""


def troubles(task: Task) -> list[Words]:
    """Missing cells, seeds that predict one class, arms with too few seeds."""
    found = []
    most = max((len(arm.scores) for arm in task.arms), default=0)
    what = _ONE_ANSWER[TARGETS[task.target].classes is None]
    for arm in task.arms:
        n, wrong = len(arm.scores), len(arm.degenerate)
        if arm.missing:
            found.append(
                Words(
                    f"{task.name}-{arm.name} was planned and has no result.",
                    f"{task.name}-{arm.name} 已计划但没有结果。",
                )
            )
        elif n < most:
            found.append(
                Words(
                    f"{arm.name} has {n} seed{'s' * (n > 1)}, fewer than the {most} of another arm.",
                    f"{arm.name} 只有 {n} 个种子，最多的组有 {most} 个。",
                )
            )
        if wrong:
            found.append(
                Words(
                    f"{arm.name}: {wrong} of {n} seeds {what.en}. They are counted in the mean.",
                    f"{arm.name}：{n} 个种子中有 {wrong} 个{what.zh}，均已计入平均值。",
                )
            )
    return found
