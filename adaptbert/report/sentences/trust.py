"""A task -> sentences in both languages on calibration, baselines, and runs that are degenerate or scatter."""

import math
from dataclasses import dataclass
from typing import Literal

from adaptbert.base.task_types import TARGETS
from adaptbert.comparison.amounts import at_least
from adaptbert.comparison.records import Task
from adaptbert.report.terms import TARGET_WORDS, Words, baseline_name, change, listed, percent, points, same
from adaptbert.statistics.intervals import Difference

CALIBRATED_WITHIN = 1.5
"""Multiple of the calibration error expected by chance; above it the report calls the model over- or underconfident."""

CLEARLY = 3.0
"""Standard errors by which mean confidence and accuracy differ clearly, whatever the bins."""


def calibration(task: Task) -> Words | None:
    """Calibration of the chosen arm; None where answers are not right or wrong."""
    measured = task.inspection.calibration if task.inspection is not None else None
    if measured is None:
        return None
    right = TARGET_WORDS[task.target].right
    assert right is not None, f"{task.target}: terms.py does not say when an answer is right"
    confidence, accuracy = points(measured.confidence), points(measured.accuracy)
    ece, chance = (at_least(100 * error, 1) for error in (measured.ece, measured.chance))
    share = max(each * (1 - each) for each in (measured.confidence, measured.accuracy))
    beyond_chance = CLEARLY * math.sqrt(share / task.rows["test"])
    apart = abs(measured.confidence - measured.accuracy) > beyond_chance
    if measured.ece <= CALIBRATED_WITHIN * measured.chance and not apart:
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
            f"Expected calibration error: {ece}; by chance, a perfectly calibrated model would get {chance}.",
            f"期望校准误差：{ece}；校准完美的模型仅因偶然也会有 {chance}。",
        )
    )


Standing = Literal["wins", "ties", "loses", "wins_once", "ties_once", "loses_once", "higher", "lower"]
"""A baseline against the chosen arm, by the interval of their difference, `once` where the rungs of the arm were not
trained several times; without an interval, by the mean alone."""


@dataclass(frozen=True)
class Baseline:
    """The baseline with the highest test score: baselines have no dev score, and this one is the strictest for the arm.

    Attributes:
        beside: the chosen arm minus the baseline.
    """

    name: str
    score: float
    beside: Difference
    standing: Standing


def baseline(task: Task) -> Baseline | None:
    """None without a chosen arm or without baselines."""
    if not task.beside_baselines:
        return None
    name = max(task.beside_baselines, key=lambda each: task.baselines[each].mean)
    beside = task.beside_baselines[name]
    return Baseline(name, task.baselines[name].mean, beside, _standing(beside))


def _standing(beside: Difference) -> Standing:
    if beside.low is None or beside.high is None:
        return "higher" if beside.mean < 0 else "lower"
    if beside.draws > 1:
        return "loses" if beside.low > 0 else "wins" if beside.high < 0 else "ties"
    return "loses_once" if beside.low > 0 else "wins_once" if beside.high < 0 else "ties_once"


def against_baselines(task: Task, confidence: float) -> Words:
    """The chosen arm compared with the best baseline."""
    arm, best = task.arm(task.chosen) if task.chosen is not None else None, baseline(task)
    if arm is None or arm.interval is None or best is None:
        return Words("", "")
    fewer = _fewer_rows(task)
    lead = "The best baseline" if len(task.baselines) > 1 else "The only baseline"
    lead_zh = "得分最高的基线" if len(task.baselines) > 1 else "唯一的基线"
    named = baseline_name(best.name, task.target)
    beside = Words(
        f"{lead} on the test split ({named.en}{fewer.en}) scores {points(best.score)}:",
        f"在测试集上{lead_zh}（{named.zh}{fewer.zh}）为 {points(best.score)} 分：",
    )
    if best.beside.low is None or best.beside.high is None:
        mean = points(arm.interval.mean)
        return beside + Words(
            f"{arm.name} scores {mean}; the gap is not testable.", f"{arm.name} 为 {mean} 分，差距是否可靠无法检验。"
        )
    return beside + _gap(arm.name, best, percent(confidence))


def _gap(arm: str, best: Baseline, level: str) -> Words:
    """The chosen arm beside the best baseline; a recommendation only where the rungs of the arm were repeated."""
    low, high, variance = best.beside.low, best.beside.high, best.beside.variance
    assert low is not None, "without an interval there is nothing to say"
    assert high is not None
    lacks = Words("", "")
    if variance is not None and "rows" not in variance.parts:
        lacks = Words(", which leaves out the test rows", "，未计入测试行")
    gap = f"{change(best.beside.mean)} ({level} % interval {change(low)} to {change(high)}{lacks.en})"
    gap_zh = f"{change(best.beside.mean)}（{level}% 区间 {change(low)} 到 {change(high)}{lacks.zh}）"
    if best.standing.endswith("_once"):
        arm_is = Words(f"on these weights, {arm}", f"在这些权重上，{arm}")
    else:
        arm_is = same(arm)
    sentences: dict[str, Words] = {
        "loses": Words(f"{arm_is.en} scores higher, {gap}.", f"{arm_is.zh} 更高，{gap_zh}。"),
        "wins": Words(f"{arm_is.en} scores lower, {gap}.", f"{arm_is.zh} 更低，{gap_zh}。"),
        "ties": Words(
            f"{arm_is.en} differs from it by {gap}, so neither is clearly better.",
            f"{arm_is.zh} 与它相差 {gap_zh}，两者没有明显差别。",
        ),
    }
    sentence = sentences[best.standing.removesuffix("_once")]
    if best.standing != "wins":
        return sentence
    return sentence + Words(
        "At this budget that baseline is the better choice.", "在这个预算下，这个基线是更好的选择。"
    )


def _fewer_rows(task: Task) -> Words:
    """On how many rows baselines were fitted, where the arms had more."""
    if task.baseline_rows >= task.labels:
        return Words("", "")
    first, labels = f"{task.baseline_rows:,}", f"{task.labels:,}"
    return Words(f", trained on the first {first} of the {labels} rows", f"，只用 {labels} 行中的前 {first} 行训练")


def degenerate(task: Task) -> Words | None:
    """Arms with degenerate seeds, which predict the same for every row; None where there are none."""
    parts = [
        Words(
            f"{arm.name} ({len(arm.degenerate)} of {arm.runs})",
            f"{arm.name}（{arm.runs} 个中的 {len(arm.degenerate)} 个）",
        )
        for arm in task.arms
        if arm.degenerate
    ]
    if not parts:
        return None
    if TARGETS[task.target].classes is None:
        what = Words("give every row the same answer", "对每一行给出同一答案")
    else:
        what = Words("predict one class only", "只预测一个类别")
    runs = Words("Runs", "微调") if task.draws > 1 else Words("Seeds", "种子")
    return Words(
        f"{runs.en} that {what.en}, included in the mean: {listed(parts).en}.",
        f"{what.zh}的{runs.zh}（已计入平均值）：{listed(parts).zh}。",
    )


def scattered(task: Task) -> Words | None:
    """Arms that are judged by their own spread; None where there are none."""
    if not task.scattered:
        return None
    names = listed([same(name) for name in task.scattered])
    return Words(
        f"Runs of {names.en} lie clearly further apart than those of the other arms. Differences of such an arm are "
        "judged by its own spread, and less surely.",
        f"{names.zh} 的各次结果明显比其他组分散。这样的组与别组的差值只按它自身的波动判断，把握较小。",
    )
