"""What was repeated and what was not, in words: seeds, draws, and what one more draw would cost and bring."""

from adaptbert.comparison.records import Arm, Comparison, Task
from adaptbert.report.language import Text, counted, joined, t
from adaptbert.statistics.intervals import Difference, Interval


def of_difference(difference: Difference, draws: int | None, task: Task) -> Text:
    """What stands behind a difference: `3 draws, 5 seeds, 1,000 test rows`."""
    rows = difference.variance is not None and "rows" in difference.variance
    return _listed(draws, difference.seeds, task if rows else None)


def of_mean(interval: Interval, arm: Arm, task: Task) -> Text:
    """What stands behind the mean of an arm."""
    draws = None if arm.planned == [0] else len(arm.by_replicate)
    return _listed(draws, interval.n, task if "rows" in interval.sources else None)


def _listed(draws: int | None, seeds: int, task: Task | None) -> Text:
    """Draws, seeds, and the test rows of a task where they were resampled; how many differ stands above its figures."""
    of_draws = [counted("{n} draw", "{n} draws", draws)] if draws is not None else []
    rows = [t("{rows:,} test rows", rows=task.rows["test"])] if task is not None else []
    return joined([*of_draws, counted("{n} seed", "{n} seeds", seeds), *rows])


def test_rows(task: Task) -> Text:
    """How many test rows there are, and how many of them are independent: groups, or different texts."""
    rows = task.rows["test"]
    if task.test_groups is not None:
        return t("{rows:,} test rows in {groups:,} groups", rows=rows, groups=task.test_groups)
    if task.test_texts is not None:
        return t("{rows:,} test rows with {texts:,} different texts", rows=rows, texts=task.test_texts)
    return t("{rows:,} test rows", rows=rows)


def runs_of(runs: int, task: Task) -> Text:
    """The number of times that an arm of the task was fine-tuned."""
    if task.replicates > 1:
        return counted("{n} run", "{n} runs", runs)
    return counted("{n} seed", "{n} seeds", runs)


def once(comparison: Comparison) -> Text:
    """What results do not speak of, because it was not repeated; for the start of the page."""
    draws = comparison.replicates
    if draws > 1:
        return t(
            "Each rung above general pre-training was trained {draws} times (draws), general pre-training once.",
            draws=draws,
        )
    sentence = t("Each step before fine-tuning was trained once (one draw); another draw may give another result.")
    cost = comparison.one_more_replicate
    if cost is None or not _draws_bring_verdicts(comparison):
        return sentence
    return sentence + t(
        "Verdicts need at least two draws (`compare.replicates: 2` in params.yaml): {tokens:millions} M tokens and "
        "{tflop:amount} TFLOP more.",
        tokens=cost.tokens,
        tflop=cost.tflop,
    )


def _draws_bring_verdicts(comparison: Comparison) -> bool:
    """Whether a primary question is about more than general pre-training, which is done once whatever `draws` says."""
    is_random = {each.name: each.climb.is_random for each in comparison.checkpoints}
    return any(
        is_random[arm.checkpoint] == is_random[other.checkpoint]
        for task in comparison.tasks
        for step in task.steps
        if step.primary and (arm := task.arm(step.arm)) is not None and (other := task.arm(step.other)) is not None
    )


def looking_again(comparison: Comparison) -> Text | None:
    """What becomes of the level where draws or seeds are added after a verdict; None where none are advised."""
    advised = [step.needed for task in comparison.tasks for step in task.steps if step.needed is not None]
    if all(needed.design is None for needed in advised):
        return None
    return t(
        "Judging again after adding draws or seeds errs more often than the level says: settle the number of looks "
        "beforehand, or raise `compare.confidence` to 1 − {level:g}/looks.",
        level=1 - comparison.confidence,
    )
