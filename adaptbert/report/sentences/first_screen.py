"""A comparison -> what a reader has to know before the answers, in both languages: leaks, gaps, failures, the price."""

from adaptbert.comparison.records import Comparison, Task
from adaptbert.report.language import Text, listed, t, within
from adaptbert.report.sentences import repetition, trust
from adaptbert.report.terms import baseline_name

TRIVIAL = ("majority", "word_majority", "question_overlap")
"""The baselines below which an arm has learned nothing; of those that a task has, the first counts."""
LEAKS = ("dev_or_test_text", "in_dev", "in_test")
"""Reasons for which `validate` left a row out because dev or test text would have been seen in training."""


def facts(comparison: Comparison) -> list[Text]:
    """What a reader of the answers has to know at once: leaks, what is missing or failed, the price."""
    known = [_leaks(comparison)]
    lacking = [
        task.shown(arm.name) if arm.missing else f"{task.shown(arm.name)} ({number})"
        for task in comparison.tasks
        for arm in task.arms
        for number in ([0] if arm.missing else [each for each in arm.planned if each not in arm.by_replicate])
    ]
    if lacking:
        known.append(t("Planned and without a result: {names}.", names=listed(lacking)))
    amiss = [(task, each) for task in comparison.tasks for each in (trust.degenerate(task), trust.scattered(task))]
    amiss += [(task, nothing_learned(task)) for task in comparison.tasks]
    known += [t("{name}: {fact}", name=task.name, fact=fact) for task, fact in amiss if fact is not None]
    if (again := repetition.looking_again(comparison)) is not None:
        known.append(again)
    spent = t(
        "All training of the arms on this page: {tokens:millions} M tokens, {tflop:amount} TFLOP; hours are in MLflow.",
        tokens=comparison.spent.tokens,
        tflop=comparison.spent.tflop,
    )
    return [*known, spent]


def nothing_learned(task: Task) -> Text | None:
    """Primary questions between arms that do no better than a trivial baseline, so that they say nothing."""
    trivial = next((name for name in TRIVIAL if name in task.baselines), None)
    if trivial is None:
        return None
    least = task.baselines[trivial].mean
    learned = {arm.name for arm in task.arms if arm.interval is not None and arm.interval.mean > least}
    primary = [step for step in task.steps if step.primary and step.difference is not None]
    empty = [step for step in primary if not {step.arm, step.other} & learned]
    if not empty:
        return None
    return t(
        "{names} do no better than the baseline “{baseline}”; a verdict between such arms says nothing of the step.",
        names=listed(list(dict.fromkeys(name for step in empty for name in (step.arm, step.other)))),
        baseline=within(baseline_name(trivial, task.target)),
    )


def _leaks(comparison: Comparison) -> Text:
    rows = {source.name: sum(source.rejected.get(reason, 0) for reason in LEAKS) for source in comparison.sources}
    named = [f"{name} {count:,}" for name, count in rows.items() if count]
    if not named:
        return t("No training text was found that equals or contains a dev or test text.")
    return t(
        "{rows:,} rows with dev or test text were left out of training: {names}.",
        rows=sum(rows.values()),
        names=listed(named),
    )
