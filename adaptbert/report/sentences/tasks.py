"""A task -> sentences in both languages: its best arm, and the arms that are compared with no other."""

from adaptbert.comparison.records import Task
from adaptbert.report.language import EMPTY, Text, listed, t
from adaptbert.report.sentences import repetition
from adaptbert.report.sentences.advice import would_show
from adaptbert.report.terms import METRICS
from adaptbert.statistics.intervals import Interval


def best(task: Task, confidence: float) -> Text:
    """Which arm scores highest on the dev split, and its score on the test split."""
    arm = task.arm(task.chosen)
    if arm is None or arm.interval is None:
        return t("No arm of this task has a result yet.")
    if sum(not each.missing for each in task.arms) == 1:  # there was nothing to choose from
        chosen = t("The only arm with a result is {arm}", arm=arm.name)
    elif len(task.best_on_dev) > 1:
        names = listed(task.best_on_dev)
        chosen = t("{names} score equally on the dev split; {arm} is the first of them", names=names, arm=arm.name)
    else:
        chosen = t("{arm} scores highest on the dev split", arm=arm.name)
    return t(
        "{chosen}; on the test split it scores {score:points} ({metric}, {interval}).",
        chosen=chosen,
        score=arm.interval.mean,
        metric=METRICS[task.metric],
        interval=_interval(arm.interval, confidence, repetition.of_mean(arm.interval, arm, task)),
    )


def _interval(interval: Interval, confidence: float, repeated: Text) -> Text:
    """Its ends, where it has them, and what was repeated."""
    if interval.low is None or interval.high is None:
        return repeated
    return t(
        "{level:percent} % interval {low:points} to {high:points}; {repeated}",
        level=confidence,
        low=interval.low,
        high=interval.high,
        repeated=repeated,
    )


def uncompared(task: Task) -> Text:
    """The arms that are in no step, with advice; that no primary question is asked."""
    if not task.arms:
        return EMPTY
    sentence = EMPTY if task.steps else t("No step was compared.")
    if task.steps and not any(step.primary for step in task.steps):
        sentence = t("No primary question is asked on this task.")
    for advice in task.advice:
        if task.steps:
            sentence += t("{names} is compared with no other arm.", names=listed(advice.beside))
        sentence += would_show(advice)
    return sentence
