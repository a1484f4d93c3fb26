"""What a step took: tokens of training, points for them, and fine-tuning where it differs."""

from adaptbert.comparison.amounts import amount
from adaptbert.comparison.records import Step, Task
from adaptbert.comparison.report.terms import Words, change, listed, millions, same
from adaptbert.comparison.statistics.verdicts import GAINS


def training(step: Step, task: Task) -> Words:
    """The training tokens that one arm took beyond the other."""
    arm, other = task.arm(step.arm), task.arm(step.other)
    if arm is None or other is None or arm.cost is None or other.cost is None:
        return Words("", "")
    tokens = arm.cost.tokens - other.cost.tokens
    if arm.cost.tokens == other.cost.tokens == 0:
        return Words("Neither arm was pre-trained in this project.", "两组都没有在本项目中预训练。")
    if tokens == 0:
        return Words("Both arms were pre-trained on the same number of tokens.", "两组预训练的词元数相同。")
    sign = Words("more", "多") if tokens > 0 else Words("fewer", "少")
    spent = millions(abs(tokens))
    cost = Words(f"Cost: {spent} M {sign.en} training tokens.", f"代价：训练词元{sign.zh} {spent} 百万。")
    each = per_computing(step, task)
    return cost if each is None else cost + Words(f"That is {each.en}.", f"即{each.zh}。")


UNITS = ((1e6, "EFLOP"), (1e3, "PFLOP"), (1.0, "TFLOP"))


def per_computing(step: Step, task: Task) -> Words | None:
    """The points gained for the training that a step took; None where no gain is shown, and where it took none.

    The interval is that of the difference: the training is counted, not estimated.
    """
    arm, other, difference = task.arm(step.arm), task.arm(step.other), step.difference
    if step.verdict not in GAINS or difference is None:
        return None
    if arm is None or other is None or arm.cost is None or other.cost is None:
        return None
    tflop = arm.cost.tflop - other.cost.tflop
    if arm.cost.tokens <= other.cost.tokens or tflop <= 0:
        return None
    size, unit = next(((size, unit) for size, unit in UNITS if tflop >= size), UNITS[-1])
    mean, low, high = (
        None if value is None else change(value * size / tflop)
        for value in (difference.mean, difference.low, difference.high)
    )
    if low is None or high is None:
        return Words(f"{mean} points per {unit} of training", f"每 {unit} 训练 {mean} 分")
    return Words(
        f"{mean} points per {unit} of training ({low} to {high})", f"每 {unit} 训练 {mean} 分（{low} 到 {high}）"
    )


def own_values(step: Step, task: Task) -> Words:
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
