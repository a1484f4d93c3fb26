"""Comparison -> reports/index.md: the answers, what is amiss, and the arms, as text without figures.

In English, then in Chinese; for places that show Markdown: a pull request, Prefect, a terminal.
"""

from collections.abc import Iterator, Sequence

from adaptbert.comparison.records import Arm, Comparison, Step, Task
from adaptbert.report import overview
from adaptbert.report.language import Text, change, joined, p_value, same, t
from adaptbert.report.sentences import captions, first_screen, repetition
from adaptbert.report.sentences.steps import verdict_with
from adaptbert.report.terms import METRICS, baseline_name, step_name
from adaptbert.statistics.intervals import Interval
from adaptbert.statistics.verdicts import ADJUSTMENT

NONE = same("–")


def in_markdown(comparison: Comparison) -> str:
    """The file. Equal comparisons give equal bytes."""
    blocks = list(_blocks(comparison))
    return "\n\n".join([*(block.en for block in blocks), "---", *(block.zh for block in blocks)]) + "\n"


def _blocks(comparison: Comparison) -> Iterator[Text]:
    """Headings, paragraphs and tables, each in both languages."""
    yield _around("# ", overview.heading(comparison))
    yield t("[Report with figures](index.html)")
    yield from overview.verdict(comparison)
    yield _lines([_around("- ", fact) for fact in first_screen.facts(comparison)])
    if (demonstration := captions.demonstration(comparison)) is not None:
        yield _around("**", t("Demonstration corpus."), "**") + demonstration
    primary = [(task, step) for task in comparison.tasks for step in task.steps if step.primary]
    if primary:
        yield _around("## ", t("Primary questions"))
        yield _table(
            [
                t("Question"),
                t("Task"),
                t("Verdict"),
                t("Difference"),
                t("Interval"),
                t("{method}-adjusted p", method=ADJUSTMENT),
                t("Repeated"),
                t("Price"),
            ],
            [_question(step, task, comparison.worth) for task, step in primary],
        )
    if comparison.tasks:
        yield _around("## ", t("Arms"))
        yield _table(
            [t("Task"), t("Arm"), t("Score"), t("Interval"), t("Repeated"), t("Training")],
            [row for task in comparison.tasks for row in _arms(task)],
        )
        yield t("Scores and differences times 100.")
    if comparison.checkpoints:
        yield _around("## ", t("Bits per character on held-out text"))
        yield _table([t("Rung"), *map(same, comparison.heldout)], list(_bits(comparison)))


def _question(step: Step, task: Task, worth: float) -> list[Text]:
    question = t("{name} ({of})", name=step_name(step.question, step.variant), of=f"`{step.arm} − {step.other}`")
    verdict = _around("**", verdict_with(step.verdict, worth), "**")
    price = overview.price(step, task) or NONE
    if step.difference is None:
        return [question, same(task.name), verdict, NONE, NONE, NONE, NONE, price]
    low, high = step.difference.low, step.difference.high
    between = NONE if low is None or high is None else t("{low:change} to {high:change}", low=low, high=high)
    p = NONE if step.p_holm is None else same(p_value(step.p_holm).removeprefix("= "))
    repeated = repetition.of_difference(step.difference, step.replicates, task)
    return [question, same(task.name), verdict, same(change(step.difference.mean)), between, p, repeated, price]


def _arms(task: Task) -> Iterator[list[Text]]:
    for arm in task.arms:
        name = same(f"`{arm.name}`")
        if arm.name in task.best_on_dev:
            name = t("{name} ({of})", name=name, of=captions.best_on_dev(task))
        if arm.interval is None:
            yield [same(task.name), name, _around("**", t("missing"), "**"), NONE, NONE, _training(arm)]
        else:
            repeated = repetition.of_mean(arm.interval, arm, task)
            yield [same(task.name), name, *_score(arm.interval, task), repeated, _training(arm)]
    for baseline, score in task.baselines.items():
        name = t("{name} ({of})", name=baseline_name(baseline, task.target), of=t("baseline"))
        yield [same(task.name), name, *_score(score, task), NONE, NONE]


def _bits(comparison: Comparison) -> Iterator[list[Text]]:
    for _, trained in comparison.trained():
        values = [f"{trained.after[text]:.3f}" if text in trained.after else NONE.en for text in comparison.heldout]
        yield [same(f"`{trained.name}`"), *map(same, values)]


def _score(interval: Interval, task: Task) -> list[Text]:
    """A mean and its ends."""
    mean = t("{score:points} {metric}", score=interval.mean, metric=METRICS[task.metric])
    if interval.low is None or interval.high is None:
        return [mean, NONE]
    return [mean, t("{low:points} to {high:points}", low=interval.low, high=interval.high)]


def _training(arm: Arm) -> Text:
    if arm.cost is None:
        return NONE
    return t("{tokens:millions} M tokens, {tflop:amount} TFLOP", tokens=arm.cost.tokens, tflop=arm.cost.tflop)


def _around(before: str, text: Text, after: str = "") -> Text:
    return Text(f"{before}{text.en}{after}", f"{before}{text.zh}{after}")


def _lines(lines: Sequence[Text]) -> Text:
    return joined(lines, "\n", "\n")


def _table(header: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Text:
    """A table of GitHub's Markdown; the page's numbers are read, not added up, so all columns are set left."""
    rule = [same("---") for _ in header]
    return _lines(
        [_around("| ", joined([_cell(each) for each in row], " | ", " | "), " |") for row in (header, rule, *rows)]
    )


def _cell(text: Text) -> Text:
    return Text(text.en.replace("|", r"\|"), text.zh.replace("|", r"\|"))
