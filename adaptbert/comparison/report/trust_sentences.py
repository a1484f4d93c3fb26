"""A task -> sentences in both languages on calibration, baselines and degenerate or missing seeds."""

from dataclasses import dataclass
from typing import Literal

from adaptbert.comparison.amounts import at_least
from adaptbert.comparison.records import Task
from adaptbert.comparison.report.terms import TARGET_WORDS, Words, baseline_name, learns, listed, percent, points
from adaptbert.comparison.statistics import FEWEST_SEEDS
from adaptbert.rows.targets import TARGETS

CALIBRATED_WITHIN = 1.5
"""Multiple of the calibration error expected by chance; above it the report calls the model over- or underconfident."""


def calibration(task: Task) -> Words | None:
    """Calibration of the chosen arm; None where answers are not right or wrong."""
    measured = task.inspection.calibration if task.inspection is not None else None
    if measured is None:
        return None
    right = TARGET_WORDS[task.target].right
    assert right is not None, f"{task.target}: terms.py does not say when an answer is right"
    confidence, accuracy = points(measured.confidence), points(measured.accuracy)
    ece, width, chance = (at_least(100 * error, 1) for error in (measured.ece, measured.ece_width, measured.chance))
    brier = at_least(measured.brier, 3)
    if measured.ece <= CALIBRATED_WITHIN * measured.chance:
        verdict = Words("No miscalibration is detectable on these rows.", "在这些行上检测不出校准偏差。")
    elif measured.confidence > measured.accuracy:
        verdict = Words("The model is overconfident.", "模型过于自信。")
    else:
        verdict = Words("The model is underconfident.", "模型不够自信。")
    return Words(
        f"A row counts as correct when {right.en}. Mean confidence: {confidence} %; accuracy: {accuracy} %.",
        f"一行算作正确，是指{right.zh}。平均置信度为 {confidence}%，准确率为 {accuracy}%。",
    ) + (
        verdict
        + Words(
            f"Expected calibration error: {ece} with equal-count bins ({width} with equal-width bins); by chance, a "
            f"perfectly calibrated model would get {chance}. Brier score: {brier}.",
            f"期望校准误差：等量分箱 {ece}（等宽分箱 {width}）；校准完美的模型仅因偶然也会有 {chance}。"
            f"Brier 分数：{brier}。",
        )
        + _tempered(task, ece)
    )


def _tempered(task: Task, before: str) -> Words:
    """The effect of temperature scaling, fitted on the dev split, on the calibration error."""
    if task.tempered is None:
        return Words("", "")
    temperatures = sorted(task.tempered.temperatures.values())
    low, high, after = f"{temperatures[0]:.2f}", f"{temperatures[-1]:.2f}", at_least(100 * task.tempered.ece, 1)
    values = Words(low, low) if low == high else Words(f"{low} to {high}", f"{low} 到 {high}")
    return Words(
        f"Temperature scaling, fitted on the dev split ({values.en}; above 1 means overconfident), changes the error "
        f"from {before} to {after} with equal-count bins. It changes no prediction and is not applied to the "
        "confidences shown here.",
        f"在开发集上拟合的温度缩放（{values.zh}，大于 1 表示过于自信）会把等量分箱的误差从 {before} 变为 {after}。"
        "它不改变任何预测，这里显示的置信度也未使用它。",
    )


Standing = Literal["wins", "ties", "loses", "higher", "lower"]
"""A baseline against the chosen arm: above, inside and below its interval; without one, by the mean alone."""


@dataclass(frozen=True)
class Baseline:
    """The baseline with the highest test score; no choice depends on it."""

    name: str
    score: float
    standing: Standing


def baseline(task: Task) -> Baseline | None:
    """None without a chosen arm or without baselines."""
    arm = task.arm(task.chosen) if task.chosen is not None else None
    if arm is None or arm.interval is None or not task.baselines:
        return None
    name = max(task.baselines, key=lambda each: task.baselines[each])
    score, interval = task.baselines[name], arm.interval
    if interval.low is None or interval.high is None:
        return Baseline(name, score, "higher" if score > interval.mean else "lower")
    return Baseline(name, score, "loses" if interval.low > score else "wins" if interval.high < score else "ties")


def against_baselines(task: Task, confidence: float) -> Words:
    """The chosen arm compared with the best baseline."""
    arm, best = task.arm(task.chosen) if task.chosen is not None else None, baseline(task)
    if arm is None or arm.interval is None or best is None:
        return Words("", "")
    level, rows = percent(confidence), _rows_of(best.name, task)
    lead = "The best baseline" if len(task.baselines) > 1 else "The only baseline"
    lead_zh = "得分最高的基线" if len(task.baselines) > 1 else "唯一的基线"
    named = baseline_name(best.name, task.target)
    beside = Words(
        f"{lead} on the test split ({named.en}, {rows.en}) scores {points(best.score)}:",
        f"在测试集上{lead_zh}（{named.zh}，{rows.zh}）为 {points(best.score)} 分：",
    )
    mean, n = points(arm.interval.mean), arm.interval.n
    if best.standing in ("higher", "lower") and n >= FEWEST_SEEDS:
        return beside + Words(
            f"{arm.name} scores {mean} with each of its {n} seeds, so there is no variance to test the gap with.",
            f"{arm.name} 的 {n} 个种子都是 {mean} 分，没有波动可供检验差距是否可靠。",
        )
    if best.standing in ("higher", "lower"):
        return beside + Words(
            f"{arm.name} scores {mean} and has no interval with {n} seed{'s' * (n > 1)}: the gap is not testable.",
            f"{arm.name} 为 {mean} 分，{n} 个种子给不出区间，差距是否可靠无法检验。",
        )
    if best.standing == "loses":
        return beside + Words(f"{arm.name} scores higher.", f"{arm.name} 明显更高。")
    if best.standing == "wins":
        return beside + Words(
            f"{arm.name} scores lower. At this budget that baseline is the better choice.",
            f"{arm.name} 明显更低。在这个预算下，这个基线是更好的选择。",
        )
    return beside + Words(
        f"that is inside the {level} % interval of {arm.name}, so neither is clearly better.",
        f"它落在 {arm.name} 的 {level}% 区间之内，两者没有明显差别。",
    )


def _rows_of(name: str, task: Task) -> Words:
    """What a baseline was fitted on."""
    if not learns(name, task.target):
        return Words("not trained", "不经训练")
    if task.baseline_rows < task.labels:
        return Words(
            f"trained on the first {task.baseline_rows:,} of the same {task.labels:,} rows",
            f"只用同样 {task.labels:,} 行中的前 {task.baseline_rows:,} 行训练",
        )
    return Words(f"trained on the same {task.labels:,} rows", f"用同样 {task.labels:,} 行训练")


def degenerate(task: Task) -> Words | None:
    """Arms with degenerate seeds, which predict the same for every row; None where there are none."""
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
    Words("give every row the same answer", "对每一行给出同一答案"),
)
"""What a degenerate seed does, for targets with classes and for others."""


def troubles(task: Task) -> list[Words]:
    """Missing cells, seeds that predict one class, arms with too few seeds."""
    sentences = []
    most = max((len(arm.scores) for arm in task.arms), default=0)
    what = _ONE_ANSWER[TARGETS[task.target].classes is None]
    for arm in task.arms:
        n, wrong = len(arm.scores), len(arm.degenerate)
        if arm.missing:
            sentences.append(
                Words(
                    f"{task.name}-{arm.name} was planned and has no result.",
                    f"{task.name}-{arm.name} 已计划但没有结果。",
                )
            )
        elif n < most:
            sentences.append(
                Words(
                    f"{arm.name} has {n} seed{'s' * (n > 1)}, fewer than the {most} of another arm.",
                    f"{arm.name} 只有 {n} 个种子，最多的组有 {most} 个。",
                )
            )
        if wrong:
            sentences.append(
                Words(
                    f"{arm.name}: {wrong} of {n} seeds {what.en}. They are included in the mean.",
                    f"{arm.name}：{n} 个种子中有 {wrong} 个{what.zh}，均已计入平均值。",
                )
            )
    return sentences
