"""Questions follow what weights were trained on, not what the arms are called."""

from dataclasses import replace
from pathlib import Path

import pytest

from adaptbert.comparison.questions import (
    QUESTIONS,
    ROLES,
    Advice,
    Pair,
    advice,
    asked,
    pairs,
    role,
    uncompared,
    without_variants,
)
from adaptbert.config.schema.bases import TrainedOn
from adaptbert.config.schema.comparison import ORDER
from tests.support.known import known
from tests.support.simulated import ARMS, compared, rearmed, simulate

SCRATCH, GENERAL = TrainedOn(is_random=True), TrainedOn()
LONG, NEWS, LAW, POSTS = (TrainedOn(corpora=(corpus,)) for corpus in ("general", "news", "law", "posts"))


def with_task_text(trained_on: TrainedOn) -> TrainedOn:
    return replace(trained_on, with_task_text=True)


def compared_arms(**arms: TrainedOn) -> dict[str, tuple[str, str]]:
    return {pair.name: (pair.arm, pair.other) for pair in pairs(arms)}


EVERY = {
    "scratch": SCRATCH,
    "general": GENERAL,
    "general_long": LONG,
    "domain": NEWS,
    "task": with_task_text(GENERAL),
    "domain_task": with_task_text(NEWS),
    "scratch_task": with_task_text(SCRATCH),
    "general_long_task": with_task_text(LONG),
}
"""Of each role an arm."""


def test_a_role_is_what_the_weights_were_trained_on() -> None:
    assert {name: role(trained_on) for name, trained_on in EVERY.items()} == {name: name for name in ROLES}
    assert role(TrainedOn(corpora=("general", "news"))) == "domain"


def test_every_question_is_answered_where_its_roles_exist_and_an_odd_arm_is_in_none() -> None:
    odd = TrainedOn(is_random=True, corpora=("news",))
    assert role(odd) is None
    compared = compared_arms(odd=odd, **EVERY)
    assert [name for name in compared if "/" not in name] == list(QUESTIONS)
    assert all(pair in QUESTIONS[name.partition("/")[0]] for name, pair in compared.items())
    assert compared["recipe"] == ("domain_task", "general")
    of_task_text = {name: other for name, (_, other) in compared.items() if name.startswith("task_transfer")}
    assert of_task_text == {
        "task_transfer": "domain",
        "task_transfer/task": "general",
        "task_transfer/general_long_task": "general_long",
        "task_transfer/scratch_task": "scratch",
    }


def arms_of(roles: str) -> dict[str, TrainedOn]:
    return {name: EVERY[name] for name in roles.split()}


LAW_AND_NEWS = {"general": GENERAL, "law": LAW, "news": NEWS}


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        # What is there of the recipe is the recipe, and two arms answer one question.
        (arms_of("general domain"), {"recipe": "domain general"}),
        (arms_of("general task"), {"recipe": "task general"}),
        (
            arms_of("general domain domain_task"),
            {
                "recipe": "domain_task general",
                "domain_transfer": "domain general",
                "task_transfer": "domain_task domain",
            },
        ),
        (
            arms_of("general general_long domain"),
            {"recipe": "domain general", "domain_text": "domain general_long", "more_training": "general_long general"},
        ),
        # Beside random weights only where nothing else was fine-tuned directly.
        (arms_of("scratch general"), {"pretrain": "general scratch"}),
        (arms_of("scratch scratch_task"), {"recipe": "scratch_task scratch"}),
        (
            arms_of("scratch domain domain_task"),
            {"recipe": "domain_task scratch", "task_transfer": "domain_task domain"},
        ),
        (
            arms_of("scratch general scratch_task"),
            {"recipe": "scratch_task scratch", "pretrain": "general scratch"},
        ),
        (arms_of("scratch general task"), {"recipe": "task general", "pretrain": "general scratch"}),
        # Of several domain corpora the first one is the recipe, unless an arm is called by its role.
        (LAW_AND_NEWS, {"recipe": "law general", "recipe/news": "news general"}),
        (
            LAW_AND_NEWS | {"domain": POSTS},
            {"recipe": "domain general", "recipe/law": "law general", "recipe/news": "news general"},
        ),
        (
            LAW_AND_NEWS | {"news_task": with_task_text(NEWS)},
            {
                "recipe": "news_task general",
                "domain_transfer": "law general",
                "domain_transfer/news": "news general",
                "task_transfer": "news_task news",
            },
        ),
        ({"both": TrainedOn(corpora=("law", "news")), "base": GENERAL}, {"recipe": "both base"}),
        (arms_of("domain"), {}),
        ({}, {}),
    ],
)
def test_which_questions_arms_answer(arms: dict[str, TrainedOn], expected: dict[str, str]) -> None:
    assert {name: " ".join(pair) for name, pair in compared_arms(**arms).items()} == expected


def test_the_order_decides_what_two_arms_are_asked_and_what_is_tested() -> None:
    """A question that no arm answers leaves its place to the next, and one that is named twice is tested once."""
    arms = arms_of("general domain domain_task")
    assert [pair.name for pair in asked(pairs(arms), ORDER)] == ["recipe", "domain_transfer", "task_transfer"]
    order = ["domain_text", "task_transfer", "recipe", "task_transfer"]
    assert [pair.name for pair in asked(pairs(arms, order), order)] == ["task_transfer", "recipe"]
    only = arms_of("general domain")
    assert pairs(only, ["domain_transfer"]) == [Pair("domain_transfer", "domain", "general")]
    assert asked(pairs(LAW_AND_NEWS), ["recipe/news"]) == [Pair("recipe", "news", "general", variant="news")]
    assert asked(pairs(only), []) == asked([], ORDER) == []


def test_an_arm_that_is_fine_tuned_otherwise_is_in_no_question() -> None:
    """One that is trained for one epoch, beside one that is trained for ten, would be called a loss."""
    arms = {"scratch": SCRATCH, "general": GENERAL, "probe": GENERAL, "domain": LAW}
    compared = [pairs(without_variants(arms, own)) for own in ({"probe"}, {"probe", "general"})]
    assert compared == [
        [Pair("recipe", "domain", "general"), Pair("pretrain", "general", "scratch")],
        [Pair("recipe", "domain", "scratch")],
    ]


def test_a_false_name_makes_no_question() -> None:
    assert compared_arms(domain=GENERAL, general=GENERAL) == {}
    assert pairs({"domain": GENERAL, "scratch": SCRATCH}) == [Pair("pretrain", "domain", "scratch")]


def test_two_domain_corpora_are_two_questions_each_beside_its_own_arms() -> None:
    compared = compared_arms(
        base=GENERAL,
        general_long=LONG,
        news=NEWS,
        domain=LAW,
        news_task=with_task_text(NEWS),
        domain_task=with_task_text(LAW),
    )
    assert compared == {
        "recipe": ("domain_task", "base"),
        "recipe/news_task": ("news_task", "base"),
        "domain_transfer": ("domain", "base"),
        "domain_transfer/news": ("news", "base"),
        "task_transfer": ("domain_task", "domain"),
        "task_transfer/news_task": ("news_task", "news"),
        "domain_text": ("domain", "general_long"),
        "domain_text/news": ("news", "general_long"),
        "more_training": ("general_long", "base"),
    }
    assert compared_arms(domain_task=with_task_text(LAW), news=NEWS) == {}, "another domain text"


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        ({"domain": NEWS}, Advice("general", "domain_transfer")),
        ({"general": GENERAL}, Advice("scratch", "pretrain")),
        ({"domain": LAW, "long_task": with_task_text(LONG)}, Advice("general", "domain_transfer")),
        ({"task": with_task_text(GENERAL)}, Advice("general", "task_transfer")),
    ],
)
def test_the_arm_that_would_be_compared(arms: dict[str, TrainedOn], expected: Advice) -> None:
    assert uncompared(arms) == list(arms)
    assert advice(arms, next(iter(arms))) == expected


def test_an_arm_that_other_tasks_have_is_not_to_be_added_but_to_be_given() -> None:
    own = {"task": with_task_text(GENERAL)}
    assert advice(own, "task", {"base": GENERAL, **own}) == Advice("general", "task_transfer", there="base")


@pytest.mark.parametrize("arm", EVERY)
def test_a_single_arm_is_in_no_question_and_there_is_advice_for_a_second_one(arm: str) -> None:
    assert compared_arms(**{arm: EVERY[arm]}) == {}
    assert advice({arm: EVERY[arm]}, arm) is not None


def test_a_pair_that_params_name_is_a_question_like_others(tmp_path: Path) -> None:
    """Task transfer with one text or with the other."""
    arms = {name: (name, ARMS[name]) for name in ("general", "domain", "domain_task")}
    arms["ours"] = ("task", {"domain_transfer": "law", "task_transfer": "own"})
    questions = {"which_text": ("ours", "domain_task"), "of_no_task": ("ours", "absent")}
    (task,) = compared(rearmed(simulate(tmp_path, tasks=["section"]), arms), questions=questions).tasks
    tested = ["recipe", "domain_transfer", "task_transfer"]
    assert [each.name for each in task.answers] == [*tested, "recipe/ours", "which_text"]
    assert [each.name for each in task.answers if each.why == "once"] == tested
    answer = known(task.answer("which_text"))
    assert (answer.arm, answer.other, answer.variant) == ("ours", "domain_task", None)
    assert (answer.verdict, answer.why, answer.replicates, answer.place) == ("not_tested", "described", 1, None)
    assert known(answer.difference).low is not None


def test_a_named_pair_of_one_checkpoint_needs_no_replicates(tmp_path: Path) -> None:
    """A frozen encoder beside a trained one: they differ in fine-tuning alone, so seeds and rows suffice."""
    probe = rearmed(simulate(tmp_path, tasks=["section"]), {"general": ("domain", {}), "probe": ("scratch", {})})
    entries = {
        key: entry.model_copy(update={"values": {"overrides": {"probe": {}}} if entry.arm == "probe" else {}})
        for key, entry in probe.plan.finetune.items()
    }
    variant = replace(probe, plan=probe.plan.model_copy(update={"finetune": entries}))
    (task,) = compared(variant, questions={"thawed": ("general", "probe")}, order=["thawed"]).tasks
    (answer,) = task.answers
    assert task.first == answer
    assert (answer.name, answer.replicates) == ("thawed", None)
    assert [arm.has_own_values for arm in task.sides(answer)] == [False, True]
    assert (answer.verdict, answer.at_least) == ("gain", True)
    assert [arm.run_tflop for arm in task.arms] == [pytest.approx(0.4)] * 2
