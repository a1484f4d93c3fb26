"""reports/index.md: the answers, the arms and what is amiss, in both languages."""

import dataclasses
import re

from adaptbert.comparison.records import Comparison
from adaptbert.report.markdown import in_markdown
from adaptbert.report.sentences.steps import verdict_with
from adaptbert.report.terms import change, p_value
from tests.support.judged_steps import answered
from tests.support.known import known


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its header."""
    below = text.partition(f"## {heading}\n\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in below.splitlines()[2:]]


def test_the_answers_are_those_of_the_comparison(repeated: Comparison) -> None:
    english, _, chinese = in_markdown(repeated).partition("\n---\n")
    steps = [(task, step) for task in repeated.tasks for step in task.steps if step.primary]
    for text, heading, language in ((english, "Primary questions", "en"), (chinese, "主要问题", "zh")):
        table = rows(text, heading)
        assert len(table) == len(steps) > 2
        for (task, step), cells in zip(steps, table, strict=True):
            assert f"`{step.arm} − {step.other}`" in cells[0]
            assert cells[1:3] == [task.name, f"**{getattr(verdict_with(step.verdict, 0.01), language)}**"]
            assert cells[3] == change(known(step.difference).mean)
            assert change(known(step.difference).low or 0) in cells[4]
            assert cells[5] == p_value(known(step.p_holm)).removeprefix("= ")
            assert re.search(r"\b3\b", cells[6]), "three draws"
    assert rows(english, "Arms")[0][1] == "`scratch`"
    assert len(rows(english, "Arms")) == sum(len(task.arms) + len(task.baselines) for task in repeated.tasks)
    assert "[Report with figures](index.html)" in english
    bits = {cells[0]: cells[1:] for cells in rows(english, "Bits per character on held-out text")}
    assert list(bits) == [f"`{rung.name}`" for rung in repeated.rungs]
    of_domain = repeated.rungs[-1]
    assert bits[f"`{of_domain.name}`"] == [f"{of_domain.after[text]:.3f}" for text in repeated.heldout]


def test_a_verdict_of_no_gain_names_the_loss_that_is_excluded(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    steps = [answered(task, "domain_text", 0.047, 0.042, "no_worse", 0.06)]
    judged = dataclasses.replace(comparison, worth=0.015, tasks=[dataclasses.replace(task, steps=steps)])
    english, _, chinese = in_markdown(judged).partition("\n---\n")
    row = rows(english, "Primary questions")[0]
    assert row[2:6] == ["**no gain shown; a loss of 1.5 or more excluded**", "+4.7", "+0.5 to +8.9", "0.060"]
    assert rows(chinese, "主要问题")[0][2] == "**未证实提升；排除了 1.5 分及以上的下降**"


def test_a_question_without_a_verdict_has_no_p(comparison: Comparison) -> None:
    english = in_markdown(comparison).partition("\n---\n")[0]
    assert {cells[5] for cells in rows(english, "Primary questions")} == {"–"}
