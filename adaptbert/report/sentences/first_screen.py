"""A comparison -> what a reader has to know before the answers, in both languages: leaks, gaps, failures, the price."""

from adaptbert.comparison.amounts import amount
from adaptbert.comparison.records import Comparison, Task
from adaptbert.report.sentences import repetition, trust
from adaptbert.report.terms import Words, baseline_name, listed, millions, same, within

TRIVIAL = ("majority", "word_majority", "question_overlap")
"""The baselines below which an arm has learned nothing; of those that a task has, the first counts."""
LEAKS = ("dev_or_test_text", "in_dev", "in_test")
"""Reasons for which `validate` left a row out because dev or test text would have been seen in training."""


def facts(comparison: Comparison) -> list[Words]:
    """What a reader of the answers has to know at once: leaks, what is missing or failed, the price."""
    known = [_leaks(comparison)]
    lacking = [
        same(f"{task.cell(arm.name)}" if arm.missing else f"{task.cell(arm.name)} ({draw})")
        for task in comparison.tasks
        for arm in task.arms
        for draw in ([0] if arm.missing else [draw for draw in arm.planned if draw not in arm.by_draw])
    ]
    if lacking:
        names = listed(lacking)
        known.append(Words(f"Planned and without a result: {names.en}.", f"已计划但没有结果：{names.zh}。"))
    for task in comparison.tasks:
        for amiss in (trust.degenerate(task), trust.scattered(task)):
            if amiss is not None:
                known.append(Words(f"{task.name}: {amiss.en}", f"{task.name}：{amiss.zh}"))
    known += [fact for task in comparison.tasks if (fact := nothing_learned(task)) is not None]
    if (again := repetition.looking_again(comparison)) is not None:
        known.append(again)
    spent = comparison.spent
    tokens, tflop = millions(spent.tokens), amount(spent.tflop)
    return [
        *known,
        Words(
            f"All training of the arms on this page, of their rungs and in fine-tuning: {tokens} M tokens, {tflop} "
            "TFLOP. Other training is not counted; hours are in MLflow.",
            f"本页各组的全部训练（所在各级与微调）：{tokens} 百万词元，{tflop} TFLOP。其他训练不计入；"
            "所用时间见 MLflow。",
        ),
    ]


def nothing_learned(task: Task) -> Words | None:
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
    names = listed([same(name) for name in dict.fromkeys(name for step in empty for name in (step.arm, step.other))])
    one = within(baseline_name(trivial, task.target))
    return Words(
        f"{task.name}: {names.en} do no better than the baseline “{one.en}”. A verdict between arms that learned "
        "nothing says nothing of the step.",
        f"{task.name}：{names.zh} 并不好于基线“{one.zh}”。没有学到东西的各组之间的结论，对这一步什么也没有说明。",
    )


def _leaks(comparison: Comparison) -> Words:
    rows = {source.name: sum(source.rejected.get(reason, 0) for reason in LEAKS) for source in comparison.sources}
    named = [same(f"{name} {count:,}") for name, count in rows.items() if count]
    if not named:
        return Words(
            "No training text was found that equals or contains a dev or test text.",
            "没有发现与开发集或测试集文本相同、或包含它们的训练文本。",
        )
    names, total = listed(named), f"{sum(rows.values()):,}"
    return Words(
        f"{total} rows with dev or test text were left out of training: {names.en}.",
        f"{total} 行含有开发集或测试集文本，未用于训练：{names.zh}。",
    )
