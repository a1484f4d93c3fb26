"""Steps follow what the rungs are, not what the arms are called."""

from pathlib import Path

import pytest

from adaptbert.base.ladder import LadderConfig
from adaptbert.comparison.assemble import compare_all
from adaptbert.comparison.metrics_json import summary
from adaptbert.comparison.questions import QUESTIONS, ROLES, Advice, advice, pairs, role, uncompared
from adaptbert.comparison.records import Comparison, Task
from adaptbert.comparison.report import step_sentences as sentences
from adaptbert.comparison.report import terms as words
from adaptbert.comparison.report.page import render
from tests.support.simulated import ARMS, Simulated, rearmed, simulate

TASK_RUNGS = {
    "section-scratch": {"task": "section", "from": "scratch"},
    "section-general": {"task": "section", "from": "pretrain"},
    "section-long": {"task": "section", "from": "domain_transfer/general"},
    "section-news": {"task": "section", "from": "domain_transfer/news"},
    "section-law": {"task": "section", "from": "domain_transfer/law"},
    "mention-general": {"task": "mention", "from": "pretrain"},
}


def ladder(**arms: str) -> LadderConfig:
    """One task, whose arms start from these rungs."""
    cells = {f"section-{arm}": {"task": "section", "arm": arm, "from": rung} for arm, rung in arms.items()}
    corpora = ["general", "news", "law"]
    return LadderConfig.model_validate({"domain_transfer": corpora, "task_transfer": TASK_RUNGS, "finetune": cells})


def compared_arms(**arms: str) -> dict[str, tuple[str, str]]:
    return {pair.step: (pair.arm, pair.other) for pair in pairs(ladder(**arms), "section")}


def compared(made: Simulated) -> Comparison:
    return compare_all(made.ladder, made.outputs, confidence=0.95, baseline_seed=1)


def section(made: Simulated, **arms: tuple[str, str]) -> Task:
    return compared(rearmed(made, arms)).tasks[0]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    return simulate(tmp_path_factory.mktemp("recipe"), tasks=["section"])


@pytest.mark.parametrize(
    ("rung", "expected"),
    [
        ("scratch", "scratch"),
        ("pretrain", "general"),
        ("domain_transfer/general", "general_long"),
        ("domain_transfer/news", "domain"),
        ("task_transfer/section-general", "task"),
        ("task_transfer/section-law", "domain_task"),
        ("task_transfer/section-scratch", "scratch_task"),
        ("task_transfer/section-long", "general_long_task"),
    ],
)
def test_a_role_is_what_the_rung_is(rung: str, expected: str) -> None:
    assert role(rung, ladder().starts()[rung]) == expected
    assert expected in ROLES
    assert expected in words.ARMS


def test_every_question_has_words_and_is_answered_where_its_roles_exist() -> None:
    assert set(QUESTIONS) == set(words.STEPS)
    arms = {
        "scratch": "scratch",
        "general": "pretrain",
        "general_long": "domain_transfer/general",
        "domain": "domain_transfer/news",
        "task": "task_transfer/section-general",
        "domain_task": "task_transfer/section-news",
        "scratch_task": "task_transfer/section-scratch",
        "general_long_task": "task_transfer/section-long",
    }
    assert compared_arms(**arms) == QUESTIONS
    assert list(compared_arms(**arms)) == list(QUESTIONS)


def test_a_false_name_makes_no_step() -> None:
    assert compared_arms(domain="pretrain", general="pretrain") == {}
    assert compared_arms(domain="pretrain", scratch="scratch") == {"pretrain/domain": ("domain", "scratch")}


def test_two_domain_corpora_are_two_steps_each_beside_its_own_arms() -> None:
    steps = compared_arms(
        base="pretrain",
        general_long="domain_transfer/general",
        domain="domain_transfer/law",
        news="domain_transfer/news",
        domain_task="task_transfer/section-law",
        news_task="task_transfer/section-news",
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
    assert compared_arms(domain_task="task_transfer/section-law", news="domain_transfer/news") == {}, (
        "another domain text"
    )


def test_steps_of_two_corpora_reach_the_metrics_and_the_page_in_words(made: Simulated) -> None:
    arms = {
        "general": ("general", "pretrain"),
        "general_long": ("general_long", "domain_transfer/general"),
        "domain": ("domain", "domain_transfer/domain"),
        "news": ("task", "domain_transfer/news"),
    }
    comparison = compared(rearmed(made, arms))
    steps = summary(comparison)["section"]["steps"]
    assert [step for step in steps if step.startswith("domain")] == [
        "domain_transfer",
        "domain_transfer/news",
        "domain_text",
        "domain_text/news",
    ]
    assert steps["domain_transfer/news"]["of"] == ["news", "general"]
    assert steps["domain_transfer/news"]["difference"] != steps["domain_transfer"]["difference"]
    page = render(comparison)
    assert "Domain transfer (news)" in page
    assert "领域迁移（news）" in page
    assert "general, then domain transfer (domain_transfer/news)" in page
    lifts = [lift.en.partition(" changes")[0] for lift in sentences.lift(comparison.tasks[0], 0.95)]
    assert lifts == ["Domain transfer", "Domain transfer (news)"]


def test_renamed_arms_are_compared_by_their_rungs(made: Simulated) -> None:
    task = section(made, base=("general", "pretrain"), ours=("domain", "domain_transfer/domain"))
    assert [(step.name, step.arm, step.other) for step in task.steps] == [("domain_transfer/ours", "ours", "base")]
    assert task.advice == []


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        ({"domain": "domain_transfer/news"}, Advice("pretrain", "general", ["domain"], ["domain_transfer"])),
        ({"general": "pretrain"}, Advice("scratch", "scratch", ["general"], ["pretrain"])),
        (
            {"scratch": "scratch", "domain_task": "task_transfer/section-law"},
            Advice(
                "domain_transfer/law", "domain", ["scratch", "domain_task"], ["climb", "task_transfer_after_domain"]
            ),
        ),
        ({"task": "task_transfer/section-general"}, Advice("pretrain", "general", ["task"], ["task_transfer"])),
    ],
)
def test_the_rung_that_would_make_most_comparisons(arms: dict[str, str], expected: Advice) -> None:
    assert uncompared(ladder(**arms), "section") == list(arms)
    assert advice(ladder(**arms), "section", list(arms)) == expected


@pytest.mark.parametrize("arm", ARMS)
def test_a_single_arm_has_no_gain_and_advice_for_a_second_one(made: Simulated, arm: str) -> None:
    task = section(made, **{arm: (arm, ARMS[arm].format(task="section"))})
    assert task.steps == []
    sentence = sentences.without_gain(task)
    assert sentence.en.startswith("No step was compared. To measure ")
    assert f" to compare with {arm}." in sentence.en
    assert sentence.zh.startswith("没有比较任何一步。")
    page = render(compared(rearmed(made, {arm: (arm, ARMS[arm].format(task="section"))})))
    assert "No step was compared." in page
    assert "brought a gain" not in page


def test_an_arm_outside_of_all_steps_is_named_beside_them(made: Simulated) -> None:
    arms = {"general": ("general", "pretrain"), "domain": ("domain", "domain_transfer/domain")}
    lonely = {"domain_task": ("task", "task_transfer/section-law")}
    start = {"section-law": {"task": "section", "from": "domain_transfer/law"}}
    recipe = rearmed(made, {**arms, "domain_task": ("domain_task", "task_transfer/section-domain")})
    assert compared(recipe).tasks[0].advice == []
    config = recipe.ladder.model_dump(by_alias=True)
    config["domain_transfer"].append("law")
    config["task_transfer"] |= start
    config["finetune"]["section-domain_task"]["from"] = lonely["domain_task"][1]
    task = compared(Simulated(made.root, LadderConfig.model_validate(config))).tasks[0]
    assert [step.name for step in task.steps] == ["domain_transfer"]
    assert sentences.without_gain(task).en.endswith(
        "domain_task is compared with no other arm. To measure task transfer after domain, add an arm from "
        "`domain_transfer/law` (domain) to compare with domain_task."
    )


def test_steps_that_all_gained_are_named(made: Simulated, tmp_path: Path) -> None:
    sure = simulate(tmp_path, tasks=["section"], seeds=range(1, 9), accuracy={"general": 0.4, "domain": 0.8})
    task = section(sure, general=("general", "pretrain"), domain=("domain", "domain_transfer/domain"))
    assert sentences.without_gain(task).en == "A gain was shown for each step that was compared: domain transfer."
