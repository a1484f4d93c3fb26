"""Comparison -> sentences in both languages: answers to the questions, with their numbers, and what they leave open."""

from adaptbert.comparison.amounts import amount
from adaptbert.comparison.questions import AGAIN
from adaptbert.comparison.records import Detectable, Step, Task
from adaptbert.report.sentences import repetition
from adaptbert.report.terms import VERDICTS, Words, change, listed, moved, p_value, percent, points, same, too_small
from adaptbert.statistics.intervals import FEWEST_SEEDS, Difference
from adaptbert.statistics.multiplicity import ADJUSTMENT
from adaptbert.statistics.verdicts import Verdict

LARGEST = 1.0
"""A difference of scores beyond 100 points is written nowhere, though two correlations might differ by more."""


def step(step: Step, task: Task, confidence: float, worth: float) -> Words:
    """The result of one comparison; what the step costs is in the table of all steps.

    Args:
        worth: the smallest gain worth having, as a difference of scores.
    """
    return _answer(step, task, confidence, worth) + _own_values(step, task)


def verdict_with(verdict: Verdict, worth: float) -> Words:
    """What is said of a step, with the smallest gain worth having where the verdict is about a loss of that size.

    Args:
        worth: as a difference of scores.
    """
    if verdict != "no_worse":
        return VERDICTS[verdict]
    least = points(worth)
    return Words(f"no gain shown; a loss of {least} or more excluded", f"未证实提升；排除了 {least} 分及以上的下降")


def _answer(step: Step, task: Task, confidence: float, worth: float) -> Words:
    if step.difference is None or not step.difference.testable:
        return _untested(step, task)
    size, spread = moved(step.difference.mean), interval_of(step.difference, step, task, confidence)
    p = "" if step.p_holm is None else f"; {ADJUSTMENT}-adjusted p {p_value(step.p_holm)}"
    p_zh = "" if step.p_holm is None else f"；{ADJUSTMENT} 校正 p {p_value(step.p_holm)}"
    answer = Words(f"{size.en} points ({spread.en}{p}).", f"{size.zh} 分（{spread.zh}{p_zh}）。")
    return answer + _same_recipe(step) + _open(step, worth)


def interval_of(difference: Difference, step: Step, task: Task, confidence: float) -> Words:
    """The interval and what was repeated for it."""
    low, high, level = difference.low, difference.high, percent(confidence)
    repeated = repetition.of_difference(difference, step.draws, task)
    if low is None or high is None:
        return repeated
    if too_small(low) and too_small(high):
        return Words(f"{level} % interval within 0.1 of 0; {repeated.en}", f"{level}% 区间距 0 不到 0.1；{repeated.zh}")
    return Words(
        f"{level} % interval {change(low)} to {change(high)}; {repeated.en}",
        f"{level}% 区间 {change(low)} 到 {change(high)}；{repeated.zh}",
    )


def _same_recipe(step: Step) -> Words:
    """That there is nothing to find, where both arms are one recipe."""
    if step.question != AGAIN:
        return Words("", "")
    return Words(
        "Both arms are one recipe, trained with other seeds, so the true difference is 0: this is what chance "
        "alone makes of it here. A gain or a loss would be an error of the verdict.",
        "两组是同一做法，只是种子不同，真实差别为 0：这里显示的只是偶然所致的差。若判为提升或下降，那就是结论出了错。",
    )


def _open(step: Step, worth: float) -> Words:
    """What the question could have shown, and what would settle it."""
    if step.verdict not in ("undecided", "no_worse") or step.detectable is None:
        return Words("", "")
    return _detectable(step.detectable) + _needed(step, worth)


def _detectable(least: Detectable) -> Words:
    """A difference beyond the range of scores is none that could be shown."""
    value, low = points(least.value), points(least.low)
    if least.value > LARGEST:
        return Words(
            "With these draws, seeds and rows, no difference that is possible would be shown in four of five studies.",
            "按目前的训练次数、种子数和测试行数，任何可能的差别都不能在五次研究中有四次得到证实。",
        )
    span = Words(f"{low} to {points(least.high)}", f"{low} 到 {points(least.high)}")
    if least.high > LARGEST:
        span = Words(f"at least {low}, the upper end is not known", f"至少 {low}，上端未知")
    return Words(
        f"With these draws, seeds and rows, four of five studies show a true difference of {value} points ({span.en}, "
        "because the spread itself is an estimate); a smaller one may exist.",
        f"按目前的训练次数、种子数和测试行数，真实差别达到 {value} 分时，五次研究有四次能证实"
        f"（{span.zh}，因为波动本身也是估计值）；更小的差别仍可能存在。",
    )


def _needed(step: Step, worth: float) -> Words:
    least = points(worth)
    if step.needed is None:
        return Words("", "")
    if step.needed.rows is not None:
        rows = f"{step.needed.rows:,}"
        return Words(
            f"To show a true gain of {least} points in four of five studies, it takes more than {rows} test rows, "
            "however often the rungs are trained.",
            f"要在五次研究中有四次证实 {least} 分的真实提升，无论训练多少次，都需要超过 {rows} 行测试数据。",
        )
    if step.needed.design is None:
        return Words(
            f"No number of draws and seeds within reason would show a true gain of {least} points in four of five "
            "studies.",
            f"在合理的训练次数和种子数之内，没有设计能在五次研究中有四次证实 {least} 分的真实提升。",
        )
    design = step.needed.design
    spent = amount(design.tflop)
    return Words(
        f"The cheapest design that shows a true gain of {least} points in four of five studies has {design.draws} "
        f"draws and {design.seeds} seeds: {spent} TFLOP more. If the true gain is smaller, that design "
        "may settle nothing.",
        f"真实提升为 {least} 分时，五次研究有四次能证实它的最省设计是 {design.draws} 次独立训练、"
        f"{design.seeds} 个种子：再用 {spent} TFLOP。真实提升若更小，这样的设计也可能得不出结论。",
    )


def _own_values(step: Step, task: Task) -> Words:
    """That fine-tuning differs as well, and what a run of each arm took."""
    if not step.own_values:
        return Words("", "")
    blocks = listed([same(f"`finetune.{name}`") for name in step.own_values])
    sentence = Words(
        f"Fine-tuning differs as well: {blocks.en} in params.yaml.", f"微调也不同：见 params.yaml 的 {blocks.zh}。"
    )
    arms = [arm for arm in map(task.arm, (step.arm, step.other)) if arm is not None]
    spent = [same(f"{arm.name} {amount(arm.run_tflop)} TFLOP") for arm in arms if arm.run_tflop is not None]
    if len(spent) < 2:
        return sentence
    return sentence + Words(f"One run of it takes: {listed(spent).en}.", f"微调一次用：{listed(spent).zh}。")


def _untested(step: Step, task: Task) -> Words:
    missing = [same(task.cell(name)) for name in (step.arm, step.other) if _arm_missing(task, name)]
    if missing:
        names = listed(missing)
        verb = "have" if len(missing) > 1 else "has"
        return Words(f"Not testable: {names.en} {verb} no result.", f"无法检验：{names.zh} 没有结果。")
    if step.difference is None:
        return Words("Not testable: the two arms share no seed.", "无法检验：两组没有共同的种子。")
    size, n = moved(step.difference.mean), step.difference.seeds
    if n < FEWEST_SEEDS:
        return Words(
            f"Not testable: {size.en} points on {n} seed{'s' * (n > 1)}; an interval needs three seeds.",
            f"无法检验：{n} 个种子的差值为 {size.zh} 分；区间至少需要三个种子。",
        )
    return Words(
        f"The answers of both arms score alike: the difference is {size.en} points for each of {n} seeds and on all "
        "test rows.",
        f"两组的答案得分相同：{n} 个种子、所有测试行上的差值都是 {size.zh} 分。",
    )


def _arm_missing(task: Task, name: str) -> bool:
    arm = task.arm(name)
    return arm is None or arm.missing
