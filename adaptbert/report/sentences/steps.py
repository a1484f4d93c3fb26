"""Comparison -> sentences in both languages: answers to the questions, with their numbers, and what they leave open."""

from adaptbert.comparison.amounts import amount
from adaptbert.comparison.records import Detectable, Needed, Step, Task
from adaptbert.report.language import EMPTY, Text, counted, listed, moved, t, too_small
from adaptbert.report.sentences import repetition
from adaptbert.report.sentences.starts import adjusted
from adaptbert.report.terms import VERDICTS
from adaptbert.statistics.intervals import FEWEST_SEEDS, Difference
from adaptbert.statistics.verdicts import Verdict

LARGEST = 1.0
"""A difference of scores beyond 100 points is written nowhere, though two correlations might differ by more."""


def step(step: Step, task: Task, confidence: float, worth: float) -> Text:
    """The result of one comparison; what the step costs is in the table of all steps.

    Args:
        worth: the smallest gain worth having, as a difference of scores.
    """
    return _answer(step, task, confidence, worth) + _own_values(step, task)


def verdict_with(verdict: Verdict, worth: float) -> Text:
    """What is said of a step, with the smallest gain worth having where the verdict is about a loss of that size.

    Args:
        worth: as a difference of scores.
    """
    if verdict != "no_worse":
        return VERDICTS[verdict]
    return t("no gain shown; a loss of {least:points} or more excluded", least=worth)


def _answer(step: Step, task: Task, confidence: float, worth: float) -> Text:
    if step.difference is None or not step.difference.testable:
        return _untested(step, task)
    answer = t(
        "{size} points ({interval}{adjusted}).",
        size=moved(step.difference.mean),
        interval=interval_of(step.difference, step, task, confidence),
        adjusted=adjusted(step.p_holm),
    )
    if step.verdict in ("undecided", "no_worse") and step.detectable is not None:
        answer += _detectable(step.detectable) + _needed(step.needed, worth)
    return answer


def interval_of(difference: Difference, step: Step, task: Task, confidence: float) -> Text:
    """The interval and what was repeated for it."""
    low, high = difference.low, difference.high
    repeated = repetition.of_difference(difference, step.replicates, task)
    if low is None or high is None:
        return repeated
    if too_small(low) and too_small(high):
        return t("{level:percent} % interval within 0.1 of 0; {repeated}", level=confidence, repeated=repeated)
    return t(
        "{level:percent} % interval {low:change} to {high:change}; {repeated}",
        level=confidence,
        low=low,
        high=high,
        repeated=repeated,
    )


def _detectable(least: Detectable) -> Text:
    """A difference beyond the range of scores is none that could be shown."""
    if least.value > LARGEST:
        return t("Four of five such studies would show no difference that is possible.")
    if least.high > LARGEST:
        span = t("at least {low:points}", low=least.low)
    else:
        span = t("{low:points} to {high:points}", low=least.low, high=least.high)
    return t(
        "Four of five such studies show a true difference of {value:points} points ({span}).",
        value=least.value,
        span=span,
    )


def _needed(needed: Needed | None, worth: float) -> Text:
    if needed is None:
        return EMPTY
    if needed.rows is not None:
        return t(
            "To show a gain of {least:points}, it takes more than {rows:,} test rows.", least=worth, rows=needed.rows
        )
    if needed.design is None:
        return t("No number of draws and seeds within reason would show a gain of {least:points}.", least=worth)
    return t(
        "To show a gain of {least:points}, the cheapest design has {draws} draws and {seeds} seeds: {tflop:amount} "
        "TFLOP more.",
        least=worth,
        draws=needed.design.replicates,
        seeds=needed.design.seeds,
        tflop=needed.design.tflop,
    )


def _own_values(step: Step, task: Task) -> Text:
    """That fine-tuning differs as well, and what a run of each arm took."""
    if not step.own_values:
        return EMPTY
    blocks = listed([f"`overrides.{name}.finetune`" for name in step.own_values])
    sentence = t("Fine-tuning differs as well: {blocks} in params.yaml.", blocks=blocks)
    arms = [arm for arm in map(task.arm, (step.arm, step.other)) if arm is not None and arm.run_tflop is not None]
    if len(arms) < 2:
        return sentence
    spent = [f"{arm.name} {amount(arm.run_tflop or 0.0)} TFLOP" for arm in arms]
    return sentence + t("One run of it takes: {spent}.", spent=listed(spent))


def _untested(step: Step, task: Task) -> Text:
    missing = [name for name in (step.arm, step.other) if (arm := task.arm(name)) is None or arm.missing]
    if missing:
        names = listed([task.shown(name) for name in missing])
        return t("Not testable, without a result: {names}.", names=names)
    if step.difference is None:
        return t("Not testable: the two arms share no seed.")
    size, n = moved(step.difference.mean), step.difference.seeds
    if n < FEWEST_SEEDS:
        return counted(
            "Not testable: {size} points on {n} seed; an interval needs three seeds.",
            "Not testable: {size} points on {n} seeds; an interval needs three seeds.",
            n,
            size=size,
        )
    return t(
        "The answers of both arms score alike: {size} points for each of {n} seeds and on all test rows.",
        size=size,
        n=n,
    )
