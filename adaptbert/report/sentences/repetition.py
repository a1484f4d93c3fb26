"""What was repeated and what was not, in words: seeds, draws, and what one more draw would cost and bring."""

from adaptbert.comparison.amounts import amount
from adaptbert.comparison.records import Arm, Comparison, Task
from adaptbert.comparison.rungs import Cost
from adaptbert.report.terms import Words, millions
from adaptbert.statistics.intervals import Difference, Interval


def of_difference(difference: Difference, draws: int | None, task: Task) -> Words:
    """What stands behind a difference: `3 draws, 5 seeds, 1,000 test rows`."""
    rows = difference.variance is not None and "rows" in difference.variance.parts
    return _listed(draws, difference.seeds, task if rows else None)


def of_mean(interval: Interval, arm: Arm, task: Task) -> Words:
    """What stands behind the mean of an arm."""
    draws = None if arm.planned == [0] else len(arm.by_draw)
    return _listed(draws, interval.n, task if "rows" in interval.sources else None)


def _listed(draws: int | None, seeds: int, task: Task | None) -> Words:
    """Draws, seeds, and the test rows of a task where they were resampled."""
    parts = [Words(f"{seeds} seed{'s' * (seeds != 1)}", f"{seeds} 个种子")]
    if draws is not None:
        parts.insert(0, Words(f"{draws} draw{'s' * (draws != 1)}", f"独立训练 {draws} 次"))
    if task is not None:
        parts.append(test_rows(task))
    return Words(", ".join(part.en for part in parts), "、".join(part.zh for part in parts))


def test_rows(task: Task) -> Words:
    """How many test rows there are, and how many of them are independent: groups, or different texts."""
    rows = f"{task.rows['test']:,}"
    if task.test_groups is not None:
        groups = f"{task.test_groups:,}"
        return Words(f"{rows} test rows in {groups} groups", f"{rows} 行测试数据（{groups} 组）")
    if task.test_texts is not None:
        texts = f"{task.test_texts:,}"
        return Words(f"{rows} test rows with {texts} different texts", f"{rows} 行测试数据（{texts} 种不同文本）")
    return Words(f"{rows} test rows", f"{rows} 行测试数据")


def counted(runs: int, task: Task) -> Words:
    """The number of times that an arm of the task was fine-tuned."""
    if task.draws > 1:
        return Words(f"{runs} run{'s' * (runs != 1)}", f"{runs} 次微调")
    return Words(f"{runs} seed{'s' * (runs != 1)}", f"{runs} 个种子")


def once(comparison: Comparison) -> Words:
    """What results do not speak of, because it was not repeated; for the start of the page."""
    draws = comparison.draws
    if draws == 1:
        return Words(
            "Only fine-tuning was repeated, over seeds. Each step before it was trained once (one draw); trained "
            "again with another seed, it may give another result.",
            "重复的只有微调（换种子）；它之前的每一步只训练了一次（一次独立训练），换种子重新训练可能得到不同的结果。",
        ) + (_second_draw(comparison.one_more_draw) if _draws_bring_verdicts(comparison) else Words("", ""))
    return Words(
        f"Each rung above general pre-training was trained {draws} times (draws), and each draw was fine-tuned with "
        "every seed. General pre-training was done once for each start.",
        f"通用预训练之上的每一级独立训练了 {draws} 次，每次都用全部种子微调。每个起点的通用预训练只做了一次。",
    )


def _draws_bring_verdicts(comparison: Comparison) -> bool:
    """Whether a primary question is about more than general pre-training, which is done once whatever `draws` says."""
    is_random = {rung.name: rung.climb.is_random for rung in comparison.rungs}
    return any(
        is_random.get(arm.rung) == is_random.get(other.rung)
        for task in comparison.tasks
        for step in task.steps
        if step.primary and (arm := task.arm(step.arm)) is not None and (other := task.arm(step.other)) is not None
    )


def _second_draw(cost: Cost | None) -> Words:
    """What it takes to get verdicts."""
    if cost is None:
        return Words("", "")
    tokens, tflop = millions(cost.tokens), amount(cost.tflop)
    return Words(
        f"Verdicts need at least two draws (`ladder.draws: 2` in params.yaml): {tokens} M tokens and {tflop} TFLOP "
        "more.",
        f"要下结论，至少需要两次独立训练（params.yaml 中 `ladder.draws: 2`）：再用 {tokens} 百万词元、{tflop} TFLOP。",
    )


def looking_again(comparison: Comparison) -> Words | None:
    """What becomes of the level where draws or seeds are added after a verdict; None where none are advised."""
    advised = [step.needed for task in comparison.tasks for step in task.steps if step.needed is not None]
    if all(needed.design is None for needed in advised):
        return None
    level = f"{1 - comparison.confidence:g}"
    return Words(
        "Whoever adds draws or seeds after seeing a verdict and judges again errs more often than the level says: at "
        "the level 0.05, five looks at growing draws err in 11 to 13 of 100 simulated studies, not in 5. Settle the "
        f"number of draws and of looks beforehand, or raise `compare.confidence` to 1 − {level}/looks before the "
        "second look.",
        "看到结论之后再增加训练次数或种子并重新判断，出错会比设定的水平更多：在 0.05 的水平下，训练次数逐步增加、"
        "前后看五次，100 次模拟研究中有 11 到 13 次出错，而不是 5 次。请事先定好训练次数与看的次数，"
        f"或在第二次看之前把 `compare.confidence` 提高到 1 − {level}/次数。",
    )
