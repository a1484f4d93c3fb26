"""Comparison -> reports/index.md: the answers, what is amiss, and the arms, as text without figures.

In English, then in Chinese; for places that show Markdown: a pull request, Prefect, a terminal.
"""

from collections.abc import Iterator, Sequence

from adaptbert.comparison.amounts import amount
from adaptbert.comparison.records import Arm, Comparison, Step, Task
from adaptbert.report import overview
from adaptbert.report.sentences import captions, first_screen, repetition
from adaptbert.report.sentences.steps import verdict_with
from adaptbert.report.terms import METRICS, Words, baseline_name, change, millions, p_value, points, same, step_name
from adaptbert.statistics.intervals import Interval
from adaptbert.statistics.multiplicity import ADJUSTMENT

NONE = same("–")


def in_markdown(comparison: Comparison) -> str:
    """The file. Equal comparisons give equal bytes."""
    blocks = list(_blocks(comparison))
    english, chinese = ([getattr(block, language) for block in blocks] for language in ("en", "zh"))
    return "\n\n".join([*english, "---", *chinese]) + "\n"


def _blocks(comparison: Comparison) -> Iterator[Words]:
    """Headings, paragraphs and tables, each in both languages."""
    title = overview.heading(comparison)
    yield Words(f"# {title.en}", f"# {title.zh}")
    yield Words("[Report with figures](index.html)", "[带图的报告](index.html)")
    yield from overview.verdict(comparison)
    yield _joined([Words(f"- {fact.en}", f"- {fact.zh}") for fact in first_screen.facts(comparison)])
    if (demonstration := captions.demonstration(comparison)) is not None:
        yield Words(f"**Demonstration corpus.** {demonstration.en}", f"**演示语料。** {demonstration.zh}")
    primary = [(task, step) for task in comparison.tasks for step in task.steps if step.primary]
    if primary:
        yield Words("## Primary questions", "## 主要问题")
        yield _table(
            [_QUESTION, _TASK, _VERDICT, Words("Difference", "差别"), _INTERVAL, _ADJUSTED, _REPEATED, _PRICE],
            [_question(step, task, comparison.worth) for task, step in primary],
        )
    if comparison.tasks:
        yield Words("## Arms", "## 各组")
        yield _table(
            [_TASK, Words("Arm", "组"), Words("Score", "得分"), _INTERVAL, _REPEATED, Words("Training", "训练")],
            [row for task in comparison.tasks for row in _arms(task)],
        )
        yield Words("Scores and differences times 100.", "得分与差别均乘以 100。")
    if comparison.rungs:
        yield Words("## Bits per character on held-out text", "## 留出文本上每字符的比特数")
        yield _table([Words("Rung", "级"), *map(same, comparison.heldout)], list(_bits(comparison)))


_QUESTION, _TASK, _PRICE = Words("Question", "问题"), Words("Task", "任务"), Words("Price", "代价")
_VERDICT, _ADJUSTED = Words("Verdict", "结论"), Words(f"{ADJUSTMENT}-adjusted p", f"{ADJUSTMENT} 校正 p")
_INTERVAL, _REPEATED = Words("Interval", "区间"), Words("Repeated", "重复")


def _question(step: Step, task: Task, worth: float) -> list[Words]:
    name = step_name(step.question, step.name)
    question = Words(f"{name.en} (`{step.arm} − {step.other}`)", f"{name.zh}（`{step.arm} − {step.other}`）")
    price = overview.price(step, task) or NONE
    named = verdict_with(step.verdict, worth)
    verdict = Words(f"**{named.en}**", f"**{named.zh}**")
    if step.difference is None:
        return [question, same(task.name), verdict, NONE, NONE, NONE, NONE, price]
    low, high = step.difference.low, step.difference.high
    between = NONE if low is None or high is None else _to(change(low), change(high))
    p = NONE if step.p_holm is None else same(p_value(step.p_holm).removeprefix("= "))
    repeated = repetition.of_difference(step.difference, step.draws, task)
    return [question, same(task.name), verdict, same(change(step.difference.mean)), between, p, repeated, price]


def _arms(task: Task) -> Iterator[list[Words]]:
    metric = METRICS[task.metric]
    for arm in task.arms:
        name = same(f"`{arm.name}`")
        if arm.name in task.best_on_dev:
            name += Words(f"({captions.best_on_dev(task).en})", f"（{captions.best_on_dev(task).zh}）")
        if arm.interval is None:
            missing = Words("**missing**", "**缺失**")
            yield [same(task.name), name, missing, NONE, NONE, _training(arm)]
        else:
            repeated = repetition.of_mean(arm.interval, arm, task)
            yield [same(task.name), name, _score(arm.interval, metric), _ends(arm.interval), repeated, _training(arm)]
    for baseline, score in task.baselines.items():
        name = baseline_name(baseline, task.target)
        named = Words(f"{name.en} (baseline)", f"{name.zh}（基线）")
        yield [same(task.name), named, _score(score, metric), _ends(score), NONE, NONE]


def _bits(comparison: Comparison) -> Iterator[list[Words]]:
    for rung in comparison.rungs:
        values = [f"{rung.after[text]:.3f}" if text in rung.after else NONE.en for text in comparison.heldout]
        yield [same(f"`{rung.name}`"), *map(same, values)]


def _score(interval: Interval, metric: Words) -> Words:
    return Words(f"{points(interval.mean)} {metric.en}", f"{points(interval.mean)} {metric.zh}")


def _ends(interval: Interval) -> Words:
    if interval.low is None or interval.high is None:
        return NONE
    return _to(points(interval.low), points(interval.high))


def _to(low: str, high: str) -> Words:
    return Words(f"{low} to {high}", f"{low} 到 {high}")


def _training(arm: Arm) -> Words:
    if arm.cost is None:
        return NONE
    tokens, tflop = millions(arm.cost.tokens), amount(arm.cost.tflop)
    return Words(f"{tokens} M tokens, {tflop} TFLOP", f"{tokens} 百万词元，{tflop} TFLOP")


def _joined(lines: Sequence[Words]) -> Words:
    return Words("\n".join(line.en for line in lines), "\n".join(line.zh for line in lines))


def _table(header: Sequence[Words], rows: Sequence[Sequence[Words]]) -> Words:
    """A table of GitHub's Markdown; the page's numbers are read, not added up, so all columns are set left."""
    rule = [same("---") for _ in header]
    return _joined([_row(row) for row in (header, rule, *rows)])


def _row(cells: Sequence[Words]) -> Words:
    english, chinese = ([getattr(cell, language).replace("|", r"\|") for cell in cells] for language in ("en", "zh"))
    return Words(f"| {' | '.join(english)} |", f"| {' | '.join(chinese)} |")
