"""Comparison -> captions of the figures; a caption mentions only what its figure shows."""

from collections.abc import Iterable

from adaptbert.comparison.records import Comparison, Step, Task
from adaptbert.report.language import EMPTY, Text, listed, t
from adaptbert.statistics.intervals import Interval


def arms(task: Task, confidence: float) -> Text:
    """Caption of the bars of a task."""
    intervals = [arm.interval for arm in task.arms]
    if task.replicates > 1:
        caption = t("Mean; a dot for each seed, a line of dots for each draw.")
    else:
        caption = t("Mean over seeds, a dot for each seed.")
    caption += _intervals(intervals, t("Whisker"), confidence)
    if task.baselines:
        caption += t("Dashed: baselines without pre-training.")
    if task.best_on_dev:
        caption += t("✓: {mark}.", mark=best_on_dev(task))
    return caption


def best_on_dev(task: Task) -> Text:
    """Meaning of the mark beside an arm."""
    return t("equal best on dev") if len(task.best_on_dev) > 1 else t("best on dev")


def differences(task: Task, worth: float) -> Text:
    """Caption of the steps of a task."""
    caption = t("Difference in points.")
    if any(step.difference is not None and step.difference.testable for step in task.steps):
        caption += t("Whisker: its interval. Dotted: ±{worth:points}, the smallest gain worth having.", worth=worth)
        if any(has_band(step) for step in task.steps):
            caption += t("Grey: effects that fewer than four of five such studies show.")
    return caption


def has_band(step: Step) -> bool:
    """Whether the figure shows what the question could not have shown; nothing is shown of one without a verdict."""
    return step.p_holm is not None and step.detectable is not None


def learning(task: Task, confidence: float) -> Text:
    """Caption of the learning curves of a task."""
    intervals = (point.interval for arm in task.arms for point in arm.learning_curve)
    return t("Mean over seeds by number of labels.") + _intervals(intervals, t("Band, over seeds"), confidence)


def curve(comparison: Comparison) -> Text:
    """Caption of the bits per character on one text."""
    if comparison.replicates > 1:
        return t("bits per character by cumulative training tokens, a line for each draw")
    return t("bits per character by cumulative training tokens")


def _intervals(intervals: Iterable[Interval | None], drawn: Text, confidence: float) -> Text:
    if all(interval is None or interval.low is None for interval in intervals):
        return EMPTY
    return t("{drawn}: {level:percent} % interval.", drawn=drawn, level=confidence)


def demonstration(comparison: Comparison) -> Text | None:
    """A warning about figures from demonstration text; None without such text."""
    names = [source.name for source in comparison.sources if source.demonstration]
    if not names:
        return None
    return t(
        "The text of {names} comes with Python and installed packages: its figures do not predict the effect on yours.",
        names=listed(names),
    )
