"""A task -> sentences in both languages on calibration, baselines and degenerate or missing runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from adaptbert.comparison.amounts import at_least
from adaptbert.comparison.records import Task
from adaptbert.comparison.report.sentences.repetition import counted
from adaptbert.comparison.report.terms import (
    TARGET_WORDS,
    Words,
    baseline_name,
    change,
    learns,
    listed,
    percent,
    points,
    same,
)
from adaptbert.comparison.statistics.intervals import FEWEST_SEEDS, Difference
from adaptbert.rows.targets import TARGETS

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
    ece, width, chance = (at_least(100 * error, 1) for error in (measured.ece, measured.ece_width, measured.chance))
    brier = at_least(measured.brier, 3)
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
            f"Expected calibration error: {ece} with equal-count bins ({width} with equal-width bins); by chance, a "
            f"perfectly calibrated model would get {chance}. Brier score: {brier}.",
            f"期望校准误差：等量分箱 {ece}（等宽分箱 {width}）；校准完美的模型仅因偶然也会有 {chance}。"
            f"Brier 分数：{brier}。",
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
    level, rows = percent(confidence), _rows_of(best.name, task)
    lead = "The best baseline" if len(task.baselines) > 1 else "The only baseline"
    lead_zh = "得分最高的基线" if len(task.baselines) > 1 else "唯一的基线"
    named = baseline_name(best.name, task.target)
    beside = Words(
        f"{lead} on the test split ({named.en}, {rows.en}) scores {points(best.score)}:",
        f"在测试集上{lead_zh}（{named.zh}，{rows.zh}）为 {points(best.score)} 分：",
    )
    mean, n = points(arm.interval.mean), arm.interval.n
    if best.beside.low is None or best.beside.high is None:
        if n >= FEWEST_SEEDS:
            return beside + Words(
                f"{arm.name} scores {mean} with each of its {n} seeds, so there is no variance to test the gap with.",
                f"{arm.name} 的 {n} 个种子都是 {mean} 分，没有波动可供检验差距是否可靠。",
            )
        return beside + Words(
            f"{arm.name} scores {mean} and has no interval with {n} seed{'s' * (n > 1)}: the gap is not testable.",
            f"{arm.name} 为 {mean} 分，{n} 个种子给不出区间，差距是否可靠无法检验。",
        )
    return beside + _gap(arm.name, best, level) + _unadjusted(arm.name, task)


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


def _unadjusted(arm: str, task: Task) -> Words:
    """What the comparison with a baseline leaves out, which is no primary question, and how its sides were chosen."""
    sentence = Words("This comparison is not adjusted for others.", "这一比较没有按其他比较校正。")
    if sum(not each.missing for each in task.arms) > 1:
        sentence += Words(
            f"{arm} was chosen on the dev split with the same runs, which favours it.",
            f"{arm} 是用同样这些微调在开发集上选出的，这对它有利。",
        )
    return sentence


def choices(tasks: Sequence[Task]) -> Words:
    """On which split the page chooses what."""
    on_dev = Words(
        "The test split is evaluated once for each fine-tuned model, after training. Arms, starts and "
        "hyper-parameters are chosen on the dev split.",
        "测试集对每个微调后的模型只在训练结束后评估一次；组、起点与超参数都在开发集上选择。",
    )
    if any(len(task.beside_baselines) > 1 for task in tasks):
        on_dev += Words(
            "Of several baselines, the chosen arm is compared with the one that scores highest on the test split: "
            "the strictest comparison for the arm.",
            "有几个基线时，所选的组与测试集得分最高的那个比较：这对该组最为严格。",
        )
    return on_dev + Words("All seeds count, failed ones too.", "所有种子都计入，失败的也不例外。")


def _rows_of(name: str, task: Task) -> Words:
    """What a baseline was fitted on."""
    if not learns(name, task.target):
        return Words("not trained", "不经训练")
    fewer = task.baseline_rows < task.labels
    first, labels = f"{task.baseline_rows:,}", f"{task.labels:,}"
    if task.has_subsets:
        en = f"the first {first} of its {labels} rows" if fewer else f"its {labels} rows"
        zh = f" {labels} 行中的前 {first} 行" if fewer else f" {labels} 行"
        return Words(f"mean of a model for each seed, trained on {en}", f"每个种子用各自的{zh}训练，取均值")
    if fewer:
        return Words(
            f"trained on the first {first} of the same {labels} rows", f"只用同样 {labels} 行中的前 {first} 行训练"
        )
    return Words(f"trained on the same {labels} rows", f"用同样 {labels} 行训练")


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
    what = _ONE_ANSWER[TARGETS[task.target].classes is None]
    runs = Words("Runs", "微调") if task.draws > 1 else Words("Seeds", "种子")
    return Words(f"{runs.en} that {what.en}: {listed(parts).en}.", f"{what.zh}的{runs.zh}：{listed(parts).zh}。")


_ONE_ANSWER = (
    Words("predict one class only", "只预测一个类别"),
    Words("give every row the same answer", "对每一行给出同一答案"),
)
"""What a degenerate seed does, for targets with classes and for others."""


def troubles(task: Task) -> list[Words]:
    """Missing cells, seeds that predict one class, arms with too few seeds, arms that scatter."""
    sentences = []
    if task.scattered:
        names = listed([same(name) for name in task.scattered])
        sentences.append(
            Words(
                f"Runs of {names.en} lie clearly further apart than those of the other arms. Differences of such an "
                "arm are judged by its own spread, and less surely.",
                f"{names.zh} 的各次结果明显比其他组分散。这样的组与别组的差值只按它自身的波动判断，把握较小。",
            )
        )
    most = max((len(arm.scores) for arm in task.arms), default=0)
    what = _ONE_ANSWER[TARGETS[task.target].classes is None]
    for arm in task.arms:
        n, wrong = len(arm.scores), len(arm.degenerate)
        lacking = [same(str(draw)) for draw in arm.planned if draw not in arm.by_draw]
        if arm.missing:
            sentences.append(
                Words(
                    f"{task.cell(arm.name)} was planned and has no result.",
                    f"{task.cell(arm.name)} 已计划但没有结果。",
                )
            )
        elif lacking:
            sentences.append(
                Words(
                    f"{task.cell(arm.name)}: draw {listed(lacking).en} was planned and has no result. The mean is that "
                    "of the other draws.",
                    f"{task.cell(arm.name)}：第 {listed(lacking).zh} 次训练已计划但没有结果，均值只取其余各次。",
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
            runs = counted(arm.runs, task)
            sentences.append(
                Words(
                    f"{arm.name}: {wrong} of {runs.en} {what.en}. They are included in the mean.",
                    f"{arm.name}：{runs.zh}中有 {wrong} 个{what.zh}，均已计入平均值。",
                )
            )
    return sentences
