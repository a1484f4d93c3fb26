"""What a step took: tokens of training, and fine-tuning where it differs."""

from adaptbert.comparison.amounts import amount
from adaptbert.comparison.records import Step, Task
from adaptbert.comparison.report.terms import Words, listed, millions, same


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
    return Words(f"Cost: {spent} M {sign.en} training tokens.", f"代价：训练词元{sign.zh} {spent} 百万。")


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
