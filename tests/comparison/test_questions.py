"""Steps follow what weights were trained on, not what the arms are called."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from adaptbert.comparison.questions import (
    QUESTIONS,
    ROLES,
    Advice,
    advice,
    pairs,
    role,
    uncompared,
    without_variants,
)
from adaptbert.comparison.records import Task
from adaptbert.config.schema.bases import Climb
from adaptbert.report import overview
from adaptbert.report.page import render
from adaptbert.report.sentences import captions
from adaptbert.report.sentences import steps as sentences
from adaptbert.report.sentences import tasks as task_sentences
from adaptbert.report.sentences.advice import would_show
from adaptbert.report.text_table import comparison_table
from adaptbert.statistics.verdicts import Verdict
from tests.support.known import known
from tests.support.simulated import ARMS, Simulated, compared, rearmed, simulate

SCRATCH, GENERAL = Climb(is_random=True), Climb()
LONG, NEWS, LAW = (Climb(corpora=(corpus,)) for corpus in ("general", "news", "law"))


def with_task_text(climb: Climb) -> Climb:
    return replace(climb, with_task_text=True)


def compared_arms(**arms: Climb) -> dict[str, tuple[str, str]]:
    return {pair.name: (pair.arm, pair.other) for pair in pairs(arms)}


def section(made: Simulated, **arms: tuple[str, dict[str, str]]) -> Task:
    return compared(rearmed(made, arms)).tasks[0]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    return simulate(tmp_path_factory.mktemp("recipe"), tasks=["section"])


@pytest.mark.parametrize(
    ("climb", "expected"),
    [
        (SCRATCH, "scratch"),
        (GENERAL, "general"),
        (LONG, "general_long"),
        (NEWS, "domain"),
        (Climb(corpora=("general", "news")), "domain"),
        (with_task_text(GENERAL), "task"),
        (with_task_text(LAW), "domain_task"),
        (with_task_text(SCRATCH), "scratch_task"),
        (with_task_text(LONG), "general_long_task"),
    ],
)
def test_a_role_is_what_the_weights_were_trained_on(climb: Climb, expected: str) -> None:
    assert role(climb) == expected
    assert expected in ROLES


def test_domain_transfer_of_random_weights_has_no_role_and_is_in_no_question() -> None:
    odd = Climb(is_random=True, corpora=("news",))
    assert role(odd) is None
    assert compared_arms(odd=odd, scratch=SCRATCH, general=GENERAL, domain=NEWS).keys() == {
        "pretrain",
        "domain_transfer",
        "climb",
    }


def test_every_question_is_answered_where_its_roles_exist() -> None:
    arms = {
        "scratch": SCRATCH,
        "general": GENERAL,
        "general_long": LONG,
        "domain": NEWS,
        "task": with_task_text(GENERAL),
        "domain_task": with_task_text(NEWS),
        "scratch_task": with_task_text(SCRATCH),
        "general_long_task": with_task_text(LONG),
    }
    assert compared_arms(**arms) == QUESTIONS
    assert list(compared_arms(**arms)) == list(QUESTIONS)


def test_an_arm_that_is_fine_tuned_otherwise_is_in_no_step() -> None:
    """A frozen encoder beside a trained one would be called a gain of pre-training."""
    arms = {"scratch": SCRATCH, "general": GENERAL, "probe": GENERAL, "domain": LAW}
    assert [pair.name for pair in pairs(without_variants(arms, {"probe"}))] == ["pretrain", "domain_transfer", "climb"]
    assert [pair.name for pair in pairs(without_variants(arms, {"probe", "general"}))] == ["climb"]
    assert pairs(without_variants({"scratch": SCRATCH, "probe": GENERAL}, {"probe"})) == []


def test_a_false_name_makes_no_step() -> None:
    assert compared_arms(domain=GENERAL, general=GENERAL) == {}
    assert compared_arms(domain=GENERAL, scratch=SCRATCH) == {"pretrain/domain": ("domain", "scratch")}


def test_two_domain_corpora_are_two_steps_each_beside_its_own_arms() -> None:
    steps = compared_arms(
        base=GENERAL,
        general_long=LONG,
        domain=LAW,
        news=NEWS,
        domain_task=with_task_text(LAW),
        news_task=with_task_text(NEWS),
    )
    assert steps == {
        "more_training": ("general_long", "base"),
        "domain_transfer": ("domain", "base"),
        "domain_transfer/news": ("news", "base"),
        "domain_text": ("domain", "general_long"),
        "domain_text/news": ("news", "general_long"),
        "task_transfer_after_domain": ("domain_task", "domain"),
        "task_transfer_after_domain/news_task": ("news_task", "news"),
    }
    assert compared_arms(domain_task=with_task_text(LAW), news=NEWS) == {}, "another domain text"


def test_steps_of_two_corpora_reach_the_metrics_and_the_page_in_words(made: Simulated) -> None:
    arms = {name: (name, ARMS[name]) for name in ("general", "general_long", "domain")}
    arms["news"] = ("task", {"domain_transfer": "news"})
    comparison = compared(rearmed(made, arms))
    steps = {step.name: step for step in comparison.tasks[0].steps}
    assert [step for step in steps if step.startswith("domain")] == [
        "domain_transfer",
        "domain_transfer/news",
        "domain_text",
        "domain_text/news",
    ]
    of_news = steps["domain_transfer/news"]
    assert (of_news.variant, of_news.arm, of_news.other) == ("news", "news", "general")
    assert of_news.difference != steps["domain_transfer"].difference
    page = render(comparison)
    assert "Domain transfer (news)" in page
    assert "general, then domain transfer (domain_transfer/news)" in page


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        ({"domain": NEWS}, Advice("general", ["domain"], ["domain_transfer"])),
        ({"general": GENERAL}, Advice("scratch", ["general"], ["pretrain"])),
        (
            {"scratch": SCRATCH, "domain_task": with_task_text(LAW)},
            Advice("domain", ["scratch", "domain_task"], ["climb", "task_transfer_after_domain"]),
        ),
        ({"task": with_task_text(GENERAL)}, Advice("general", ["task"], ["task_transfer"])),
    ],
)
def test_the_arm_that_would_make_most_comparisons(arms: dict[str, Climb], expected: Advice) -> None:
    assert uncompared(arms) == list(arms)
    assert advice(arms, list(arms)) == expected


def test_an_arm_that_other_tasks_have_is_not_to_be_added_but_to_be_given() -> None:
    there = advice({"task": with_task_text(GENERAL)}, ["task"], {"base": GENERAL, "task": with_task_text(GENERAL)})
    assert there == Advice("general", ["task"], ["task_transfer"], there="base")
    assert would_show(known(there)).en == (
        "To measure task transfer, give this task the arm `base` of the others, to compare with task."
    )


def test_the_ladder_says_which_arms_other_tasks_have(tmp_path: Path) -> None:
    both = simulate(tmp_path)
    here = {
        key: cell
        for key, cell in both.ladder.finetune.items()
        if cell.task == "mention" or cell.arm in ("task", "scratch")
    }
    of_section, of_mention = compared(replace(both, ladder=both.ladder.model_copy(update={"finetune": here}))).tasks
    assert [more.there for more in of_section.advice] == ["general"]
    assert of_mention.advice == []


@pytest.mark.parametrize("arm", ARMS)
def test_a_single_arm_has_no_gain_and_advice_for_a_second_one(made: Simulated, arm: str) -> None:
    comparison = compared(rearmed(made, {arm: (arm, ARMS[arm])}))
    (task,) = comparison.tasks
    assert task.steps == []
    sentence = task_sentences.uncompared(task)
    assert sentence.en.startswith("No step was compared. To measure ")
    assert f" to compare with {arm}." in sentence.en
    assert task_sentences.best(task, 0.95).en.startswith(f"The only arm with a result is {arm};")
    assert "✓" not in captions.arms(task, 0.95).en, "it was not chosen"
    assert [text.en for text in overview.verdict(comparison)] == ["No step was compared on any task."]
    assert "no step was compared" in comparison_table(comparison)
    page = render(comparison).partition("</style>")[2]
    assert "No step was compared." in page
    assert not any(f"chip verdict-{verdict}" in page for verdict in get_args(Verdict))
    for absent in (
        'class="matrix"',
        'id="differences-section"',
        "Gains and losses are adjusted",
        "smallest gain worth having",
    ):
        assert absent not in page


def test_an_arm_outside_of_all_steps_is_named_beside_them(made: Simulated) -> None:
    arms = {name: (name, ARMS[name]) for name in ("general", "domain", "domain_task")}
    assert section(made, **arms).advice == []
    task = section(made, **arms | {"domain_task": ("task", {"domain_transfer": "law", "task_transfer": "own"})})
    assert [step.name for step in task.steps] == ["domain_transfer"]
    assert task_sentences.uncompared(task).en == (
        "No primary question is asked on this task. domain_task is compared with no other arm. To measure task "
        "transfer after domain, add the arm `domain: {domain_transfer: <corpus>}` to compare with domain_task."
    )


def test_a_pair_that_params_name_is_a_step_like_others(tmp_path: Path) -> None:
    """Task transfer with one text or with the other."""
    made = simulate(tmp_path, tasks=["section"])
    arms = {name: (name, ARMS[name]) for name in ("general", "domain", "domain_task")}
    arms["ours"] = ("task", {"domain_transfer": "law", "task_transfer": "own"})
    questions = {"which_text": ("ours", "domain_task"), "of_no_task": ("ours", "absent")}
    comparison = compared(rearmed(made, arms), questions=questions)
    (task,) = comparison.tasks
    assert [step.name for step in task.steps] == ["domain_transfer", "task_transfer_after_domain", "which_text"]
    step = known(task.step("which_text"))
    assert (step.arm, step.other, step.verdict, step.replicates) == ("ours", "domain_task", "descriptive", 1)
    assert known(step.difference).low is not None
    assert not step.primary
    assert overview.matrix(comparison)[-1].arms == ["ours − domain_task"], "below the questions of every project"
    page = render(comparison)
    assert '<b><span lang="en">which_text</span>' in page[page.index('id="task-section"') :]
    assert "compared with no other arm" not in page, "ours is, in a question of its own"


def test_a_named_pair_of_one_rung_needs_no_draws(tmp_path: Path) -> None:
    """A frozen encoder beside a trained one: they differ in fine-tuning alone, so seeds and rows suffice."""
    probe = rearmed(simulate(tmp_path, tasks=["section"]), {"general": ("domain", {}), "probe": ("scratch", {})})
    cells = {
        key: cell.model_copy(update={"values": {"overrides": {"probe": {}}} if cell.arm == "probe" else {}})
        for key, cell in probe.ladder.finetune.items()
    }
    variant = replace(probe, ladder=probe.ladder.model_copy(update={"finetune": cells}))
    comparison = compared(variant, questions={"thawed": ("general", "probe")}, primary=["thawed"])
    (step,) = comparison.tasks[0].steps
    assert (step.name, step.replicates, step.verdict) == ("thawed", None, "worth_it")
    text = sentences.step(step, comparison.tasks[0], 0.95, comparison.worth)
    assert (
        "`overrides.probe.finetune` in params.yaml. One run of it takes: general 0.400 TFLOP and probe 0.400 TFLOP."
        in text.en
    )
    assert "draw" not in text.en
    assert "(fine-tuned with values of its own: probe)" in comparison_table(comparison)
    assert comparison.tasks[0].advice == []
