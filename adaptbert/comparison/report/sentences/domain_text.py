"""How much of domain transfer is its text, and how much is more training."""

from adaptbert.comparison.records import Step, Task
from adaptbert.comparison.report.sentences.steps import interval_of
from adaptbert.comparison.report.terms import NOTHING, Words, millions, moved, step_name


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
    by, by_more, by_text = (moved(difference.mean) for difference in (changed, more, rest))
    more_interval, text_interval = (
        interval_of(part, step, task, confidence) for part, step in ((more, training), (rest, text))
    )
    lead = Words(
        f"{name.en} changes the score by {by.en} points. Of these, {by_more.en} are also obtained with {much.en} "
        f"({more_interval.en});",
        f"{name.zh}使得分变化 {by.zh} 分。其中 {by_more.zh} 分，{much.zh}也能得到（{more_interval.zh}）；",
    )
    if text.draws is not None and text.draws > 1:
        return [
            lead
            + Words(
                f"{by_text.en} come with the domain text in its place ({text_interval.en}).",
                f"换成领域文本带来的是 {by_text.zh} 分（{text_interval.zh}）。",
            )
        ]
    return [
        lead
        + Words(
            f"the other {by_text.en} lie between two checkpoints, each trained once ({text_interval.en}), and are no "
            "measure of the domain text itself.",
            f"其余 {by_text.zh} 分是两个各训练一次的检查点之间的差（{text_interval.zh}），不能算作领域文本本身的作用。",
        )
    ]


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
