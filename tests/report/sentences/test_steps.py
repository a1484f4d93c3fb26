"""Sentences on steps say what the figures carry and what was repeated, and no more."""

import dataclasses
import re
from typing import get_args

import pytest

from adaptbert.comparison.records import Comparison, Detectable, Needed, Step, Task
from adaptbert.report import terms as words
from adaptbert.report.sentences import steps as sentences
from adaptbert.report.terms import Words
from adaptbert.statistics.designs import Design
from adaptbert.statistics.multiplicity import ADJUSTMENT
from adaptbert.statistics.verdicts import Verdict
from tests.support.judged_steps import answered
from tests.support.page_reader import same_numbers

WORTH = 0.01


def said(step: Step, task: Task) -> Words:
    """With the same numbers in both languages."""
    text = sentences.step(step, task, 0.95, WORTH)
    assert same_numbers(text)
    return text


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_a_sentence_has_size_interval_and_what_was_repeated(comparison: Comparison, verdict: Verdict) -> None:
    """The verdict stands beside it."""
    task = comparison.tasks[0]
    draws = 1 if verdict == "one_draw" else 3
    p = None if verdict in ("one_draw", "descriptive") else 0.012
    text = said(answered(task, "domain_text", 0.06, 0.01, verdict, p, draws), task)
    repeated = f"{draws} draw{'s' * (draws > 1)}, 3 seeds, 300 test rows with 235 different texts"
    adjusted = "" if p is None else f"; {ADJUSTMENT}-adjusted p = 0.012"
    assert text.en.startswith(f"+6.0 points (95 % interval +5.0 to +7.0; {repeated}{adjusted}).")
    assert text.zh.startswith(
        f"+6.0 分（95% 区间 +5.0 到 +7.0；独立训练 {draws} 次、3 个种子、300 行测试数据（235 种不同文本）"
    )
    assert ("four of five studies" in text.en) == (verdict in ("undecided", "no_worse"))


def test_an_undecided_question_says_what_it_could_have_shown(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    text = said(answered(task, "task_transfer_after_domain", -0.004, 0.02, "undecided", 1.0), task)
    assert (
        "With these draws, seeds and rows, four of five studies show a true difference of 3.0 points (2.4 to 4.0, "
        "because the spread itself is an estimate); a smaller one may exist."
    ) in text.en
    assert "真实差别达到 3.0 分时，五次研究有四次能证实" in text.zh


def test_a_difference_beyond_the_range_of_scores_is_not_known_and_is_no_number(comparison: Comparison) -> None:
    """Three seeds leave the upper end of what could have been shown far out."""
    task = comparison.tasks[0]
    step = answered(task, "task_transfer_after_domain", -0.004, 0.02, "undecided", 1.0)
    vague = said(dataclasses.replace(step, detectable=Detectable(0.078, 0.04, 1.116)), task)
    assert "a true difference of 7.8 points (at least 4.0, the upper end is not known, because" in vague.en
    assert "（至少 4.0，上端未知，因为" in vague.zh
    hopeless = said(dataclasses.replace(step, detectable=Detectable(1.2, 0.6, 15.0)), task)
    assert "no difference that is possible would be shown in four of five studies" in hopeless.en
    for text in (vague, hopeless):
        assert not re.search(r"111\.6|120\.0|1500\.0", text.en + text.zh)


NEEDS = {
    "design": (
        Needed(Design(6, 8, 1234.5), None),
        "The cheapest design that shows a true gain of 1.0 points in four of five studies has 6 draws and 8 seeds: "
        "1,234 TFLOP more. If the true gain is smaller, that design may settle nothing.",
        "6 次独立训练、8 个种子：再用 1,234 TFLOP。真实提升若更小，这样的设计也可能得不出结论。",
    ),
    "rows": (
        Needed(None, 4_321),
        "To show a true gain of 1.0 points in four of five studies, it takes more than 4,321 test rows, however often "
        "the rungs are trained.",
        "都需要超过 4,321 行测试数据",
    ),
    "nothing": (
        Needed(None, None),
        "No number of draws and seeds within reason would show a true gain of 1.0 points in four of five studies.",
        "在合理的训练次数和种子数之内，没有设计能在五次研究中有四次证实 1.0 分的真实提升。",
    ),
}


@pytest.mark.parametrize("need", NEEDS)
def test_an_undecided_question_says_what_would_settle_it(comparison: Comparison, need: str) -> None:
    task = comparison.tasks[0]
    needed, en, zh = NEEDS[need]
    step = answered(task, "task_transfer_after_domain", -0.004, 0.02, "undecided", 1.0)
    text = said(dataclasses.replace(step, needed=needed), task)
    assert en in text.en
    assert zh in text.zh
    for silent in ("no_difference", "gain", "descriptive"):
        decided = dataclasses.replace(step, needed=needed, verdict=silent)
        assert en not in said(decided, task).en


def test_numbers_are_written_alike_everywhere() -> None:
    assert words.change(-0.0004) == words.change(0.0004) == "0.0"
    assert (words.change(0.012), words.change(-0.012)) == ("+1.2", "−1.2")
    assert (words.p_value(0.0004), words.p_value(0.0123)) == ("< 0.001", "= 0.012")
    assert (words.millions(250_000), words.millions(36_000_000)) == ("0.250", "36.0")
    assert (words.millions(-2_048), words.millions(0)) == ("−0.00205", "0")
