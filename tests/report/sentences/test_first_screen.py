"""What stands before the answers: leaks, gaps, failures, the price."""

import dataclasses
from typing import get_args

import pytest

from adaptbert.comparison.records import Comparison, Needed
from adaptbert.comparison.rungs import Cost
from adaptbert.report import overview
from adaptbert.report.markdown import in_markdown
from adaptbert.report.page import render
from adaptbert.report.sentences import captions, first_screen, repetition
from adaptbert.statistics.designs import Design
from adaptbert.statistics.verdicts import GAINS, Verdict
from tests.support.judged_steps import answered
from tests.support.known import known
from tests.support.page_reader import same_numbers


def test_the_page_begins_with_leaks_gaps_failures_and_the_price(comparison: Comparison) -> None:
    facts = first_screen.facts(comparison)
    assert [fact.en for fact in facts[:-1]] == [
        "No training text was found that equals or contains a dev or test text."
    ]
    sources = [
        dataclasses.replace(source, rejected={"duplicate": 800, "dev_or_test_text": 1_012})
        if source.name == "domain"
        else dataclasses.replace(source, rejected={"in_test": 3} if source.name == "section" else {})
        for source in comparison.sources
    ]
    first, second = comparison.tasks
    arms = [dataclasses.replace(arm, degenerate=[(1, 1)] if arm.name == "task" else []) for arm in first.arms]
    bare = [
        dataclasses.replace(arm, scores={}, by_draw={}, interval=None) if arm.name == "scratch" else arm
        for arm in second.arms
    ]
    second = dataclasses.replace(second, arms=bare)
    troubled = dataclasses.replace(
        comparison,
        tasks=[dataclasses.replace(first, arms=arms), second],
        sources=sources,
        spent=Cost(12_300_000, 456.78),
    )
    facts = first_screen.facts(troubled)
    assert [fact.en for fact in facts] == [
        "1,015 rows with dev or test text were left out of training: domain 1,012 and section 3.",
        "Planned and without a result: mention-scratch.",
        "section: Seeds that predict one class only, included in the mean: task (1 of 3).",
        "All training of the arms on this page, of their rungs and in fine-tuning: 12.3 M tokens, 457 TFLOP. Other "
        "training is not counted; hours are in MLflow.",
    ]
    page = render(troubled)
    head = page[page.index("<header>") : page.index("</header>")]
    for fact in facts:
        assert same_numbers(fact)
        assert fact.en in head
        assert fact.zh in head


def test_what_adding_draws_after_a_verdict_does_to_the_level_stands_once(repeated: Comparison) -> None:
    """Where a question is undecided and a design would settle it."""

    def needing(needed: Needed | None) -> Comparison:
        tasks = [
            dataclasses.replace(task, steps=[dataclasses.replace(step, needed=needed) for step in task.steps])
            for task in repeated.tasks
        ]
        return dataclasses.replace(repeated, tasks=tasks, confidence=0.9)

    advised = needing(Needed(Design(6, 8, 1234.5), None))
    said = known(repetition.looking_again(advised))
    assert "five looks at growing draws err in 11 to 13 of 100 simulated studies, not in 5" in said.en
    assert "raise `compare.confidence` to 1 − 0.1/looks before the second look" in said.en
    assert "`compare.confidence` 提高到 1 − 0.1/次数" in said.zh
    assert in_markdown(advised).count(said.en) == in_markdown(advised).count(said.zh) == 1
    assert render(advised).count("errs more often than the level says") == 1
    for other in (None, Needed(None, None), Needed(None, 4_321)):
        assert repetition.looking_again(needing(other)) is None, "no draws or seeds are advised"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("majority", "most frequent label"),
        ("word_majority", "most frequent tag of each word"),
        ("question_overlap", "sentence most similar to the question"),
    ],
)
def test_a_verdict_between_arms_that_learned_nothing_is_marked(name: str, shown: str, comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert task.baselines["majority"].mean < min(arm.interval.mean for arm in task.arms if arm.interval is not None)
    assert first_screen.nothing_learned(task) is None

    scores = {arm.name: arm.interval.mean for arm in task.arms if arm.interval is not None}
    primary = {name for step in task.steps if step.primary for name in (step.arm, step.other)}

    def beside(mean: float) -> str | None:
        trivial = dataclasses.replace(task.baselines["majority"], mean=mean)
        better = dataclasses.replace(trivial, mean=1.0)
        baselines = {"tfidf_logistic": better, name: trivial}
        fact = first_screen.nothing_learned(dataclasses.replace(task, baselines=baselines))
        return None if fact is None else fact.en

    assert beside(min(scores[name] for name in primary) - 1e-6) is None
    said = known(beside(max(scores.values())))
    assert all(name in said for name in primary)
    assert said.endswith(
        f"do no better than the baseline “{shown}”. A verdict between arms that learned nothing says nothing of the "
        "step."
    )


def test_the_heading_claims_no_help_where_none_is_shown(comparison: Comparison) -> None:
    for verdict in get_args(Verdict):
        steps = [answered(comparison.tasks[0], "domain_text", 0.047, 0.02, verdict)]
        task = dataclasses.replace(comparison.tasks[0], steps=steps)
        one = dataclasses.replace(comparison, tasks=[task, comparison.tasks[1]])
        said = overview.heading(one).en
        once = "No verdict yet: each step was trained once"
        shown = once if verdict == "one_draw" else "No step is shown to help"
        assert said == ("Which steps helped?" if verdict in GAINS else shown)
        page, text = render(one), in_markdown(one)
        assert page.count(f'<h1><span lang="en">{said}</span>') == 1
        assert f'<title data-zh="adaptbert：{overview.heading(one).zh}">adaptbert: {said[0].lower()}' in page
        assert text.startswith(f"# {said}\n")


def test_own_text_is_not_called_a_demonstration(comparison: Comparison) -> None:
    for name, begins in (("general", "The text of general comes with Python and installed "), ("", None)):
        own = [dataclasses.replace(source, demonstration=source.name == name) for source in comparison.sources]
        caption = captions.demonstration(dataclasses.replace(comparison, sources=own))
        assert caption is None if begins is None else known(caption).en.startswith(begins)


def test_a_page_without_tasks(comparison: Comparison) -> None:
    bare = dataclasses.replace(comparison, tasks=[])
    page = render(bare)
    assert "No task was fine-tuned, so no step was compared." in page
    assert 'class="card"' not in page
