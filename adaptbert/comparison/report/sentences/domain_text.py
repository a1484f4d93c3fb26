"""How much of domain transfer is its text, and how much is more training."""

from adaptbert.comparison.records import Step, Task
from adaptbert.comparison.report.sentences.steps import interval_of
from adaptbert.comparison.report.terms import NOTHING, VERDICTS, Words, millions, moved, step_name
from adaptbert.comparison.statistics.intervals import Difference


def lift(task: Task, confidence: float) -> list[Words]:
    """Empty without the control.

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


def _lift(task: Task, whole: Step, training: Step, text: Step, confidence: float) -> list[Words]:
    if whole.difference is None or training.difference is None or text.difference is None:
        return []
    changed, more, rest = whole.difference, training.difference, text.difference
    if abs(changed.mean - more.mean - rest.mean) > NOTHING:  # the steps are means over different seeds
        return []
    name, much = step_name(whole.question, whole.name), _as_much(task, whole.arm, training.arm)
    if all(abs(difference.mean) <= NOTHING for difference in (changed, more, rest)):
        return [
            Words(
                f"{name.en} does not change the mean score, and neither does {much.en}.",
                f"{name.zh}没有改变平均得分，{much.zh}也没有。",
            )
        ]
    parts = _part(training, more, much, task, confidence), _part(text, rest, _IN_ITS_PLACE, task, confidence)
    by, how = moved(changed.mean), VERDICTS[whole.verdict]
    sentence = Words(
        f"{name.en}: the mean of {whole.arm} minus that of {whole.other} is {by.en} points ({how.en}). It is the sum "
        f"of two differences of means: {parts[0].en}; and {parts[1].en}.",
        f"{name.zh}：{whole.arm} 的均值减去 {whole.other} 的均值为 {by.zh} 分（{how.zh}），等于两个均值之差的和："
        f"{parts[0].zh}；{parts[1].zh}。",
    )
    if text.draws is not None and text.draws > 1:
        return [sentence]
    return [
        sentence
        + Words(
            "The second lies between two checkpoints, each trained once, and is no measure of the domain text itself.",
            "后一个是两个各训练一次的检查点之间的差，不能算作领域文本本身的作用。",
        )
    ]


_IN_ITS_PLACE = Words("the domain text in its place", "换成领域文本")


def _part(step: Step, difference: Difference, what: Words, task: Task, confidence: float) -> Words:
    """One of the two differences, with its interval and its verdict."""
    by, how, interval = moved(difference.mean), VERDICTS[step.verdict], interval_of(difference, step, task, confidence)
    return Words(
        f"{step.arm} − {step.other}, {what.en}, {by.en} ({interval.en}; {how.en})",
        f"{step.arm} − {step.other}（{what.zh}）{by.zh} 分（{interval.zh}；{how.zh}）",
    )


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
