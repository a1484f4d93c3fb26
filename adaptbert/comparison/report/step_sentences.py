"""Comparison -> sentences in both languages: what was shown, with its numbers, and what was not."""

from adaptbert.comparison.records import Comparison, Step, Task
from adaptbert.comparison.report.terms import (
    METRICS,
    NOTHING,
    Words,
    change,
    listed,
    millions,
    moved,
    p_value,
    percent,
    points,
    same,
    step_name,
    too_small,
    within,
    would_show,
)
from adaptbert.comparison.statistics import ADJUSTMENT, FEWEST_SEEDS, Interval, Verdict


def best(task: Task, confidence: float) -> Words:
    """Which arm scores highest on the dev split, and its score on the test split."""
    arm = task.arm(task.chosen) if task.chosen is not None else None
    if arm is None or arm.interval is None:
        return Words("No arm of this task has a result yet.", "这个任务还没有任何结果。")
    metric, score = METRICS[task.metric], points(arm.interval.mean)
    interval = _interval(arm.interval, confidence, signed=False)
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


def _interval(interval: Interval, confidence: float, *, signed: bool) -> Words:
    write = change if signed else points
    seeds = Words(f"{interval.n} seed{'s' if interval.n != 1 else ''}", f"{interval.n} 个种子")
    if interval.n < FEWEST_SEEDS:
        return Words(f"{seeds.en}; an interval needs three seeds", f"{seeds.zh}；区间至少需要三个种子")
    if interval.low is None or interval.high is None:
        return Words(f"no interval, because all {seeds.en} give the same score", f"{seeds.zh}结果相同，没有区间")
    low, high, level = write(interval.low), write(interval.high), percent(confidence)
    if signed and too_small(interval.low) and too_small(interval.high):
        return Words(f"{level} % interval within 0.1 of 0, {seeds.en}", f"{level}% 区间距 0 不到 0.1，{seeds.zh}")
    return Words(f"{level} % interval {low} to {high}, {seeds.en}", f"{level}% 区间 {low} 到 {high}，{seeds.zh}")


def step(step: Step, task: Task, confidence: float) -> Words:
    """The result of one comparison, and the cost of the step."""
    return _answer(step, task, confidence) + _price(step, task)


def _answer(step: Step, task: Task, confidence: float) -> Words:
    if step.difference is None or step.difference.detectable is None or step.p_holm is None:
        return _untested(step, task)
    size = moved(step.difference.interval.mean)
    interval = _interval(step.difference.interval, confidence, signed=True)
    p = p_value(step.p_holm)
    en = f"{size.en} points ({interval.en}; {ADJUSTMENT}-adjusted p {p})."
    zh = f"{size.zh} 分（{interval.zh}；{ADJUSTMENT} 校正 p {p}）。"
    if step.verdict in ("gain", "loss"):
        return Words(f"Shown: {en}", f"已证实：{zh}")
    if step.verdict in ("likely_gain", "likely_loss"):
        compared = sum(other.p_holm is not None for other in task.steps)
        return Words(
            f"Likely, not shown: {en} The unadjusted interval excludes 0, but {compared} comparisons were made on this "
            "task, and among that many one such interval can occur by chance.",
            f"可能，但未证实：{zh}未校正的区间不含 0，但在这个任务上共做了 {compared} 次比较，"
            "比较一多，偶然也会出现这样的区间。",
        )
    return Words(f"Not shown: {en}", f"未证实：{zh}") + _detectable(
        step.difference.detectable, step.difference.interval.n
    )


def _detectable(least: float, n: int) -> Words:
    """The smallest effect that the test detects."""
    if too_small(least):
        return Words(
            f"With {n} seeds and a spread this small, the test detects an effect below 0.1 points with 80 % power.",
            f"种子间的波动很小，{n} 个种子对不到 0.1 分的效应也有 80% 的检验功效。",
        )
    return Words(
        f"With {n} seeds and this spread, the test detects an effect of {points(least)} points or more with 80 % "
        "power; a smaller effect may exist.",
        f"按目前种子间的波动，{n} 个种子在效应达到 {points(least)} 分时检验功效才有 80%；更小的效应仍可能存在。",
    )


def _untested(step: Step, task: Task) -> Words:
    missing = [same(f"{task.name}-{name}") for name in (step.arm, step.other) if _arm_missing(task, name)]
    if missing:
        names = listed(missing)
        verb = "have" if len(missing) > 1 else "has"
        return Words(f"Not testable: {names.en} {verb} no result.", f"无法检验：{names.zh} 没有结果。")
    if step.difference is None:
        return Words("Not testable: the two arms share no seed.", "无法检验：两组没有共同的种子。")
    size, n = moved(step.difference.interval.mean), step.difference.interval.n
    if n < FEWEST_SEEDS:
        return Words(
            f"Not testable: {size.en} points on {n} seed{'s' * (n > 1)}; an interval needs three seeds.",
            f"无法检验：{n} 个种子的差值为 {size.zh} 分；区间至少需要三个种子。",
        )
    return Words(
        f"Not testable: the difference is {size.en} points for each of {n} seeds, so it has no variance.",
        f"无法检验：{n} 个种子的差值都是 {size.zh} 分，没有波动可供检验。",
    )


def _arm_missing(task: Task, name: str) -> bool:
    arm = task.arm(name)
    return arm is None or arm.missing


def _price(step: Step, task: Task) -> Words:
    arm, other = task.arm(step.arm), task.arm(step.other)
    if arm is None or other is None or arm.cost is None or other.cost is None:
        return Words("", "")
    tokens = arm.cost.tokens - other.cost.tokens
    if arm.cost.tokens == other.cost.tokens == 0:
        return Words("Neither arm was pre-trained in this project.", "两组都没有在本项目中预训练。")
    if tokens == 0:
        return Words("Both arms were pre-trained on the same number of tokens.", "两组预训练的词元数相同。")
    sign = Words("more", "多") if tokens > 0 else Words("fewer", "少")
    amount = millions(abs(tokens))
    return Words(f"Cost: {amount} M {sign.en} training tokens.", f"代价：训练词元{sign.zh} {amount} 百万。")


def lift(task: Task, confidence: float) -> list[Words]:
    """How much of domain transfer is the text and how much is more training; empty without the control.

    One sentence for each arm with domain text, left out where the parts do not add up, because the three arms were
    trained with different seeds.
    """
    sentences = []
    for whole in task.steps:
        beside = {step.question: step for step in task.steps if whole.arm in (step.arm, step.other)}
        text = beside.get("domain_text")
        training = next((step for step in task.steps if step.question == "more_training"), None)
        if whole.question == "domain_transfer" and training is not None and text is not None:
            sentences += _lift(task, whole, training, text, confidence)
    return sentences


_NOT_SHOWN = Words("A gain from the domain text itself is not shown.", "领域文本本身带来提升，这一点未证实。")
TEXT_HELPS: dict[Verdict, Words] = {
    "gain": Words("A gain from the domain text itself is shown.", "领域文本本身带来提升，这一点已证实。"),
    "loss": Words(
        "A loss from the domain text, compared with general text, is shown.",
        "领域文本不如通用文本，这一点已证实。",
    ),
    "likely_gain": _NOT_SHOWN,
    "likely_loss": _NOT_SHOWN,
    "not_shown": _NOT_SHOWN,
    "untested": Words("A gain from the domain text itself is not testable.", "领域文本本身是否带来提升，无法检验。"),
}


def _lift(task: Task, whole: Step, training: Step, text: Step, confidence: float) -> list[Words]:
    if whole.difference is None or training.difference is None or text.difference is None:
        return []
    changed, more, rest = whole.difference.interval, training.difference.interval, text.difference.interval
    if abs(changed.mean - more.mean - rest.mean) > NOTHING:  # the steps are means over different seeds
        return []
    name, much = step_name(whole.question, whole.name), _as_much(task, whole.arm, training.arm)
    if all(abs(interval.mean) <= NOTHING for interval in (changed, more, rest)):
        return [
            Words(
                f"{name.en} does not change the mean score, and neither does {much.en}.",
                f"{name.zh}没有改变平均得分，{much.zh}也没有。",
            )
        ]
    by, by_more, by_text = (moved(interval.mean) for interval in (changed, more, rest))
    more_interval, text_interval = (_interval(interval, confidence, signed=True) for interval in (more, rest))
    sentence = Words(
        f"{name.en} changes the score by {by.en} points. Of these, {by_more.en} are also obtained with {much.en} "
        f"({more_interval.en}) and are due to more training; {by_text.en} are due to the domain text itself "
        f"({text_interval.en}).",
        f"{name.zh}使得分变化 {by.zh} 分。其中 {by_more.zh} 分，{much.zh}也能得到（{more_interval.zh}），"
        f"来自训练量的增加；来自领域文本本身的是 {by_text.zh} 分（{text_interval.zh}）。",
    )
    return [sentence + TEXT_HELPS[text.verdict]]


def _as_much(task: Task, domain: str, control: str) -> Words:
    """The training of the control; with a budget in passes it may have another number of tokens."""
    spent = [
        arm.cost.tokens if arm is not None and arm.cost is not None else None
        for arm in map(task.arm, (domain, control))
    ]
    if None in spent:
        return Words("further training on general text", "用通用文本继续训练")
    if spent[0] == spent[1]:
        return Words("as much further training on general text", "用同样多的通用文本继续训练")
    with_domain, with_general = (millions(tokens) for tokens in spent if tokens is not None)
    return Words(
        f"further training on general text ({with_general} M tokens in all, not {with_domain} M)",
        f"用通用文本继续训练（累计 {with_general} 百万词元，而非 {with_domain} 百万）",
    )


def suite(comparison: Comparison) -> list[Words]:
    """What the mean over tasks is a mean of, and which arms have none."""
    by_metric: dict[str, list[Words]] = {}
    for task in comparison.tasks:
        by_metric.setdefault(task.metric, []).append(same(task.name))
    parts = [
        Words(f"{METRICS[metric].en} of {listed(tasks).en}", f"任务 {listed(tasks).zh} 的{METRICS[metric].zh}")
        for metric, tasks in by_metric.items()
    ]
    sentences = [
        Words(
            f"The unweighted mean of {listed(parts).en}, as in GLUE. The metrics differ: the mean ranks arms that ran "
            "the same tasks and has no absolute meaning. The scores of one seed are averaged over tasks first; the "
            "interval is over seeds.",
            f"{listed(parts).zh}的不加权平均，做法同 GLUE。各项指标不同：这个平均只用来给跑过同样任务的各组排序，"
            "没有绝对意义。先对同一种子在各任务上的得分求平均，区间按种子计算。",
        )
    ]
    averaged = {average.arm for average in comparison.suite}
    names = list(dict.fromkeys(arm.name for task in comparison.tasks for arm in task.arms))
    left_out = [same(name) for name in names if name not in averaged]
    if left_out:
        sentences.append(
            Words(
                f"No mean, because results of a task or a seed are missing: {listed(left_out).en}.",
                f"缺少某个任务或种子的结果，因此没有平均值：{listed(left_out).zh}。",
            )
        )
    return sentences


def without_gain(task: Task) -> Words:
    """Steps without a shown gain; arms that are compared with no other, and the arm that would be needed."""
    groups = [
        (("loss",), Words("Loss shown", "已证实下降")),
        (("not_shown", "likely_loss"), Words("No gain shown", "未证实有提升")),
        (("likely_gain",), Words("Gain likely, not shown", "可能有提升，但未证实")),
        (("untested",), Words("Not testable", "无法检验")),
    ]
    sentence = Words("", "")
    for verdicts, lead in groups:
        names = [within(step_name(step.question, step.name)) for step in task.steps if step.verdict in verdicts]
        if names:
            sentence += Words(f"{lead.en}: {listed(names).en}.", f"{lead.zh}：{listed(names).zh}。")
    if task.steps and not sentence.en:
        every = listed([within(step_name(step.question, step.name)) for step in task.steps])
        sentence = Words(
            f"A gain was shown for each step that was compared: {every.en}.",
            f"所比较的每一步都证实了提升：{every.zh}。",
        )
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
