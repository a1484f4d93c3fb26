"""Comparison -> sentences in both languages: what was shown, with its numbers, and what was not.

The sentences follow from the figures by rule; nothing here praises a step that the figures do not carry.
"""

from adaptbert.comparison import Comparison, Masks, Rung, Step, Task
from adaptbert.ladder import SCRATCH
from adaptbert.report.words import (
    METRICS,
    RIGHT,
    STEPS,
    Words,
    bits_change,
    change,
    control,
    learns,
    listed,
    millions,
    p_value,
    points,
    same,
)
from adaptbert.statistics import Interval

MASKING_RATE_TOLERANCE = 0.01
MASKING_SHARE_TOLERANCE = 0.005
"""Differences below these are chance on a short run, and worth no sentence on a long one."""
MASKED_WHOLE_MOST = 0.01
CALIBRATED_WITHIN = 1.5
"""Times the error that chance alone gives: above, confidences are said to be off."""


def percent(confidence: float) -> str:
    return f"{100 * confidence:g}"


def best(task: Task, confidence: float) -> Words:
    """Which arm the dev split chooses, and what it scores on the test split."""
    arm = task.arm(task.chosen) if task.chosen is not None else None
    if arm is None or arm.interval is None:
        return Words("No arm of this task has a result yet.", "这个任务还没有任何结果。")
    metric, score = METRICS[task.metric], points(arm.interval.mean)
    interval = _interval(arm.interval, confidence, signed=False)
    return Words(
        f"The dev split chooses {arm.name}; on the test split it scores {score} ({metric.en}, {interval.en}).",
        f"按开发集选出 {arm.name}；它在测试集上的{metric.zh} 为 {score}（{interval.zh}）。",
    )


def _interval(interval: Interval, confidence: float, *, signed: bool) -> Words:
    write = change if signed else points
    seeds = Words(f"{interval.n} seed{'s' if interval.n != 1 else ''}", f"{interval.n} 个种子")
    if interval.low is None or interval.high is None:
        return Words(f"no interval from {seeds.en}", f"{seeds.zh}，无法给出区间")
    low, high, level = write(interval.low), write(interval.high), percent(confidence)
    return Words(f"{level} % interval {low} to {high}, {seeds.en}", f"{level}% 区间 {low} 到 {high}，{seeds.zh}")


def step(step: Step, task: Task, confidence: float) -> Words:
    """The answer to one question, and what the step cost."""
    return _answer(step, task, confidence) + _price(step, task)


def _answer(step: Step, task: Task, confidence: float) -> Words:
    if step.difference is None or step.difference.detectable is None or step.p_holm is None:
        return _untested(step, task)
    size = change(step.difference.interval.mean)
    interval = _interval(step.difference.interval, confidence, signed=True)
    p = p_value(step.p_holm)
    en = f"{size} points ({interval.en}; Holm-adjusted p {p})."
    zh = f"{size} 分（{interval.zh}；Holm 校正 p {p}）。"
    if step.verdict in ("gain", "loss"):
        return Words(f"Shown: {en}", f"已证实：{zh}")
    if step.verdict in ("likely_gain", "likely_loss"):
        asked = sum(other.p_holm is not None for other in task.steps)
        return Words(
            f"Likely, not shown: {en} The interval by itself excludes 0, but {asked} questions were asked of this "
            "task, and with so many one such interval may come by chance.",
            f"可能，但未证实：{zh}单看区间不含 0，但对这个任务共提了 {asked} 个问题，"
            "问题一多，偶然也会出现这样的区间。",
        )
    least = points(step.difference.detectable)
    n = step.difference.interval.n
    return Words(
        f"Not shown: {en} With {n} seeds that differ as these do, an effect of {least} points or more would have been "
        "found four times in five; a smaller one may exist.",
        f"未证实：{zh}按目前种子间的波动，{n} 个种子只有在效应达到 {least} 分时才有八成把握发现；"
        "更小的效应仍可能存在。",
    )


def _untested(step: Step, task: Task) -> Words:
    missing = [same(f"{task.name}-{name}") for name in (step.arm, step.other) if _arm_missing(task, name)]
    if missing:
        names = listed(missing)
        verb = "have" if len(missing) > 1 else "has"
        return Words(f"Cannot be said: {names.en} {verb} no result.", f"无法判断：{names.zh} 没有结果。")
    if step.difference is None:
        return Words("Cannot be said: the two arms share no seed.", "无法判断：两组没有共同的种子。")
    size, n = change(step.difference.interval.mean), step.difference.interval.n
    if n < 2:
        return Words(
            f"Cannot be said: {size} points on one seed, and an interval needs two or more.",
            f"无法判断：只有一个种子，差值 {size} 分；至少两个种子才有区间。",
        )
    return Words(
        f"Cannot be said: the difference is {size} points on each of {n} seeds, without any spread to judge it by.",
        f"无法判断：{n} 个种子的差值都是 {size} 分，没有波动可供判断。",
    )


def _arm_missing(task: Task, name: str) -> bool:
    arm = task.arm(name)
    return arm is None or arm.missing


def _price(step: Step, task: Task) -> Words:
    arm, other = task.arm(step.arm), task.arm(step.other)
    if arm is None or other is None or arm.cost is None or other.cost is None:
        return Words("", "")
    tokens = arm.cost.tokens - other.cost.tokens
    if tokens == 0:
        return Words("Both arms were trained here on equally many tokens.", "两组在此训练的词元数相同。")
    sign = Words("more", "多") if tokens > 0 else Words("fewer", "少")
    amount = millions(abs(tokens))
    return Words(f"Price: {amount} M {sign.en} tokens of training.", f"代价：训练词元{sign.zh} {amount} 百万。")


def lift(task: Task, confidence: float) -> Words | None:
    """How much of domain transfer is the text and how much is more training; None where the control is not planned."""
    whole, training, text = (task.step(name) for name in ("domain_transfer", "more_training", "domain_text"))
    if not (whole and training and text and whole.difference and training.difference and text.difference):
        return None
    parts = [part.difference.interval for part in (whole, training, text) if part.difference is not None]
    total, more, domain = (change(interval.mean) for interval in parts)
    more_interval, text_interval = (_interval(interval, confidence, signed=True) for interval in parts[1:])
    sentence = Words(
        f"Domain transfer changes the score by {total} points. {more} of them are there with as much further training "
        f"on general text ({more_interval.en}): that part is more training. {domain} are left for the domain text "
        f"itself ({text_interval.en}).",
        f"领域迁移使得分变化 {total} 分。其中 {more} 分，用同样多的通用文本继续训练也能得到（{more_interval.zh}），"
        f"这部分只是训练更多；归于领域文本本身的是 {domain} 分（{text_interval.zh}）。",
    )
    if text.verdict == "gain":
        return sentence + Words("That the text itself helps is shown.", "文本本身有用，这一点已证实。")
    if text.verdict == "loss":
        return sentence + Words(
            "The domain text does worse than general text here, and that is shown.",
            "在这里领域文本不如通用文本，这一点已证实。",
        )
    return sentence + Words("That the text itself helps is not shown.", "文本本身有用，这一点未证实。")


def calibration(task: Task) -> Words | None:
    """Whether the chosen arm is as often right as it is sure; None where nothing is simply right."""
    found = task.inspection.calibration if task.inspection is not None else None
    if found is None:
        return None
    right = RIGHT[task.target]
    claimed, came_true = points(found.claimed), points(found.came_true)
    ece, width, chance, brier = points(found.ece), points(found.ece_width), points(found.chance), f"{found.brier:.3f}"
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
    low, high, after = f"{values[0]:.2f}", f"{values[-1]:.2f}", points(task.tempered.ece)
    told = Words(low, low) if low == high else Words(f"{low} to {high}", f"{low} 到 {high}")
    return Words(
        f"A temperature that is fitted on dev ({told.en}; above 1 is too sure) takes it from {before} to {after} in "
        "bins of equally many rows. It changes no answer, and is not applied to the confidences shown here.",
        f"在开发集上拟合的温度（{told.zh}，大于 1 表示过于自信）会把等量分箱的误差从 {before} 变为 {after}。"
        "它不改变任何答案，这里显示的置信度也未使用它。",
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
    found = [
        Words(
            f"The plain mean of {listed(parts).en}, as in GLUE. The parts measure unlike things: the mean ranks arms "
            "that ran the same tasks, and is a share of nothing. Its interval is over seeds, the scores of each seed "
            "taken together.",
            f"{listed(parts).zh}的简单平均，做法同 GLUE。各部分衡量的东西并不相同：这个平均只用来给跑过同样任务的"
            "各组排序，本身不是任何比例。区间按种子计算，同一种子的各任务得分配在一起。",
        )
    ]
    averaged = {average.arm for average in comparison.suite}
    names = list(dict.fromkeys(arm.name for task in comparison.tasks for arm in task.arms))
    left_out = [same(name) for name in names if name not in averaged]
    if left_out:
        found.append(
            Words(
                f"Without a result for every task with the same seeds, and so without a mean: {listed(left_out).en}.",
                f"并非每个任务都有相同种子的结果，因此没有平均值：{listed(left_out).zh}。",
            )
        )
    return found


def without_gain(task: Task) -> Words:
    """Which steps brought nothing that could be shown."""
    groups = [
        (("loss",), Words("Made it worse", "使结果变差")),
        (("not_shown", "likely_loss"), Words("Brought nothing that could be shown", "没有可证实的收获")),
        (("likely_gain",), Words("Likely a gain, but not shown", "可能有提升，但未证实")),
        (("untested",), Words("Cannot be said", "无法判断")),
    ]
    found = Words("", "")
    for verdicts, lead in groups:
        names = [STEPS[step.name] for step in task.steps if step.verdict in verdicts]
        if names:
            names = [Words(name.en[0].lower() + name.en[1:], name.zh) for name in names]
            found += Words(f"{lead.en}: {listed(names).en}.", f"{lead.zh}：{listed(names).zh}。")
    return found if found.en else Words("Each step that was asked about brought a gain.", "所问的每一步都带来了提升。")


def against_controls(task: Task, confidence: float) -> Words:
    """The chosen arm beside the control that is hardest to beat, by the test split: no choice is made by it."""
    arm = task.arm(task.chosen) if task.chosen is not None else None
    if arm is None or arm.interval is None or not task.controls:
        return Words("", "")
    name = max(task.controls, key=lambda each: task.controls[each])
    score, level = task.controls[name], percent(confidence)
    told, rows = control(name, task.target), _rows_of(name, task)
    beside = Words(
        f"The control that does best on the test split ({told.en}, {rows.en}) scores {points(score)}:",
        f"在测试集上得分最高的对照（{told.zh}，{rows.zh}）为 {points(score)} 分：",
    )
    low, high, mean, n = arm.interval.low, arm.interval.high, points(arm.interval.mean), arm.interval.n
    if low is None or high is None:
        return beside + Words(
            f"{arm.name} scores {mean} and has no interval from {n} seed{'s' * (n > 1)}: the gap cannot be judged.",
            f"{arm.name} 为 {mean} 分，{n} 个种子给不出区间，差距是否可靠无法判断。",
        )
    if low > score:
        return beside + Words(f"{arm.name} lies above it.", f"{arm.name} 明显高于它。")
    if high < score:
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


def troubles(task: Task) -> list[Words]:
    """Missing cells, seeds that predict one class, arms with too few seeds."""
    found = []
    most = max((len(arm.scores) for arm in task.arms), default=0)
    for arm in task.arms:
        if arm.missing:
            found.append(
                Words(
                    f"{task.name}-{arm.name} was planned and has no result.",
                    f"{task.name}-{arm.name} 已计划但没有结果。",
                )
            )
        elif len(arm.scores) < most:
            found.append(
                Words(
                    f"{arm.name} has {len(arm.scores)} seeds, others have {most}.",
                    f"{arm.name} 只有 {len(arm.scores)} 个种子，其他有 {most} 个。",
                )
            )
        if arm.degenerate:
            n, total = len(arm.degenerate), len(arm.scores)
            found.append(
                Words(
                    f"{arm.name}: {n} of {total} seeds predict one class only. They are counted in the mean.",
                    f"{arm.name}：{total} 个种子中有 {n} 个只预测一个类别，均已计入平均值。",
                )
            )
    return found


def reading(comparison: Comparison) -> list[Words]:
    """What each domain-transfer rung did to held-out text; general text on top of it is what was forgotten."""
    found = []
    if comparison.began_from not in (None, SCRATCH):
        begun = comparison.began_from
        found.append(
            Words(
                f"General pre-training went on from {begun}. Its training elsewhere is in no sum on this page.",
                f"通用预训练从 {begun} 开始；它此前在别处的训练不计入本页的任何合计。",
            )
        )
    for rung in comparison.rungs:
        corpus = rung.name.removeprefix("domain_transfer/")
        if rung.missing:
            found.append(Words(f"{rung.name} has no measurements.", f"{rung.name} 没有测量结果。"))
        elif rung.random_head:
            found.append(
                Words(
                    f"The masked-LM head of {rung.name} was never trained: its bits per character mean nothing, "
                    "and it is no baseline for those of another rung.",
                    f"{rung.name} 的掩码语言模型头从未训练：它的每字符比特数没有意义，也不能作为其他检查点的基线。",
                )
            )
        elif corpus != rung.name and corpus in rung.after:
            found.append(_reading(rung, corpus))
    return found


def _reading(rung: Rung, corpus: str) -> Words:
    before, after = rung.before[corpus], rung.after[corpus]
    sentence = Words(
        f"{rung.name}: held-out {corpus} text goes from {before:.2f} to {after:.2f} bits per character "
        f"({bits_change(after - before)}).",
        f"{rung.name}：留出的 {corpus} 文本从每字符 {before:.2f} 比特变为 {after:.2f}"
        f"（{bits_change(after - before)}）。",
    )
    others = [name for name in ("general", "domain") if name != corpus and name in rung.after]
    for name in others:
        before, after = rung.before[name], rung.after[name]
        word = Words("worse", "变差") if after > before else Words("better", "变好")
        if name == "general" and after > before:
            word = Words("so much was forgotten", "即遗忘的量")
        moved = bits_change(after - before)
        sentence += Words(
            f"On {name} text: {before:.2f} to {after:.2f} ({moved}, {word.en}).",
            f"{name} 文本：{before:.2f} 到 {after:.2f}（{moved}，{word.zh}）。",
        )
    return sentence


def masking(comparison: Comparison) -> list[Words]:
    """Rungs whose masks were not what was asked for; one sentence where all were."""
    masked = [(rung.name, rung.masks) for rung in comparison.rungs if rung.masks is not None]
    found = [trouble for name, masks in masked for trouble in _mask_troubles(name, masks)]
    if found or not masked:
        return found
    return [
        Words(
            "On every rung the masks are what was asked for, and no special token was masked.",
            "每一级的掩码都符合设定，没有特殊词元被掩盖。",
        )
    ]


def _mask_troubles(name: str, masks: Masks) -> list[Words]:
    audit, found = masks.audit, []
    if audit["specials"]:
        found.append(
            Words(
                f"{name}: {audit['specials']:,.0f} special tokens were masked; not one should be.",
                f"{name}：有 {audit['specials']:,.0f} 个特殊词元被掩盖，本应一个也没有。",
            )
        )
    if abs(audit["rate"] - masks.probability) > MASKING_RATE_TOLERANCE:
        is_, asked = points(audit["rate"]), points(masks.probability)
        found.append(
            Words(
                f"{name}: {is_} % of the tokens were masked, not {asked} %.",
                f"{name}：实际掩盖了 {is_}% 的词元，而非 {asked}%。",
            )
        )
    kinds = {
        "documents_without": Words("have no mask at all", "完全没有掩码"),
        "documents_whole": Words("are masked from end to end", "从头到尾都被掩盖"),
    }
    for key, what in kinds.items():
        expected = audit[f"{key}_expected"]
        error = (expected * (1 - expected) / audit["documents"]) ** 0.5
        if abs(audit[key] - expected) > max(MASKING_SHARE_TOLERANCE, 5 * error):
            is_, asked = points(audit[key]), points(expected)
            found.append(
                Words(
                    f"{name}: {is_} % of the documents {what.en}; by their lengths {asked} % would be expected.",
                    f"{name}：{is_}% 的文档{what.zh}，而按长度应为 {asked}%。",
                )
            )
    if audit["documents_whole"] > MASKED_WHOLE_MOST:
        share = points(audit["documents_whole"])
        found.append(
            Words(
                f"{name}: {share} % of the documents are masked from end to end and leave nothing to guess from: their "
                "units are as long as they are. Shorter units or longer documents mend it.",
                f"{name}：{share}% 的文档从头到尾都被掩盖，没有可供推断的上下文：一个掩码单位就有整个文档那么长。"
                "缩短掩码单位或加长文档即可改善。",
            )
        )
    return found
