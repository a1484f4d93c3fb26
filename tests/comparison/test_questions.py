"""Questions follow what weights were trained on, not what the arms are called."""

from dataclasses import replace
from pathlib import Path

import pytest

from adaptbert.comparison.questions import ROLES, Advice, Pair, advice, answered, asked, pairs, role
from adaptbert.config.schema.bases import TrainedOn
from adaptbert.config.schema.comparison import ORDER, Compare
from tests.support.known import answer_to, known
from tests.support.simulated import ARMS, compared, rearmed, simulate

SCRATCH, GENERAL = TrainedOn(is_random=True), TrainedOn()
LONG, NEWS, LAW, POSTS = (TrainedOn(corpora=(corpus,)) for corpus in ("general", "news", "law", "posts"))
OF_ROLES = {
    "scratch": SCRATCH,
    "general": GENERAL,
    "general_long": LONG,
    "domain": NEWS,
    "task": replace(GENERAL, with_task_text=True),
    "domain_task": replace(NEWS, with_task_text=True),
    "scratch_task": replace(SCRATCH, with_task_text=True),
    "general_long_task": replace(LONG, with_task_text=True),
}
TRAINED_ON = OF_ROLES | {
    "law": LAW,
    "news": NEWS,
    "posts": POSTS,
    "both": TrainedOn(corpora=("law", "news")),
    "law_task": replace(LAW, with_task_text=True),
    "news_task": replace(NEWS, with_task_text=True),
    "odd": TrainedOn(is_random=True, corpora=("news",)),
}


def arms_of(names: str) -> dict[str, TrainedOn]:
    """`base:general` is an arm `base` that was trained as `general`."""
    return {name: TRAINED_ON[as_name or name] for name, _, as_name in (each.partition(":") for each in names.split())}


def test_a_role_is_what_the_weights_were_trained_on() -> None:
    assert {name: role(trained_on) for name, trained_on in OF_ROLES.items()} == {name: name for name in ROLES}
    assert (role(TRAINED_ON["both"]), role(TRAINED_ON["odd"])) == ("domain", None)


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        # Every question is answered where its roles exist, and an odd arm is in none.
        (
            " ".join(["odd", *OF_ROLES]),
            "recipe=domain_task-general domain_transfer=domain-general task_transfer=domain_task-domain"
            " task_transfer/task=task-general task_transfer/general_long_task=general_long_task-general_long"
            " task_transfer/scratch_task=scratch_task-scratch domain_text=domain-general_long pretrain=general-scratch"
            " more_training=general_long-general",
        ),
        # What is there of the recipe is the recipe, and two arms answer one question.
        ("general domain", "recipe=domain-general"),
        ("general task", "recipe=task-general"),
        (
            "general domain domain_task",
            "recipe=domain_task-general domain_transfer=domain-general task_transfer=domain_task-domain",
        ),
        (
            "general general_long domain",
            "recipe=domain-general domain_text=domain-general_long more_training=general_long-general",
        ),
        # Beside random weights only where nothing else was fine-tuned directly.
        ("scratch general", "pretrain=general-scratch"),
        ("scratch scratch_task", "recipe=scratch_task-scratch"),
        ("scratch domain domain_task", "recipe=domain_task-scratch task_transfer=domain_task-domain"),
        ("scratch general scratch_task", "recipe=scratch_task-scratch pretrain=general-scratch"),
        ("scratch general task", "recipe=task-general pretrain=general-scratch"),
        # Of several domain corpora the first one is the recipe, unless an arm is called by its role; each is compared
        # with its own arms.
        ("general law news", "recipe=law-general recipe/news=news-general"),
        ("general law news domain:posts", "recipe=domain-general recipe/law=law-general recipe/news=news-general"),
        (
            "general law news news_task",
            "recipe=news_task-general domain_transfer=law-general domain_transfer/news=news-general"
            " task_transfer=news_task-news",
        ),
        (
            "base:general general_long news domain:law news_task domain_task:law_task",
            "recipe=domain_task-base recipe/news_task=news_task-base domain_transfer=domain-base"
            " domain_transfer/news=news-base task_transfer=domain_task-domain task_transfer/news_task=news_task-news"
            " domain_text=domain-general_long domain_text/news=news-general_long more_training=general_long-base",
        ),
        ("domain_task:law_task news", ""),
        ("both base:general", "recipe=both-base"),
        # A false name makes no question.
        ("domain:general general", ""),
        ("domain:general scratch", "pretrain=domain-scratch"),
        ("", ""),
    ],
)
def test_which_questions_arms_answer(arms: str, expected: str) -> None:
    assert [f"{pair.name}={pair.arm}-{pair.other}" for pair in pairs(arms_of(arms))] == expected.split()


def test_the_order_decides_what_two_arms_are_asked_and_what_is_tested() -> None:
    """A question that no arm answers leaves its place to the next, and one that is named twice is tested once."""
    arms, corpora = arms_of("general domain domain_task"), arms_of("general law news")
    assert [pair.name for pair in asked(pairs(arms), ORDER)] == ["recipe", "domain_transfer", "task_transfer"]
    order = ["domain_text", "task_transfer", "recipe", "task_transfer"]
    assert [pair.name for pair in asked(pairs(arms, order), order)] == ["task_transfer", "recipe"]
    only = arms_of("general domain")
    assert pairs(only, ["domain_transfer"]) == [Pair("domain_transfer", "domain", "general")]
    assert asked(pairs(corpora), ["recipe/news"]) == [Pair("recipe", "news", "general", variant="news")]
    assert asked(pairs(only), []) == asked([], ORDER) == []


def test_an_arm_that_is_fine_tuned_otherwise_is_in_no_question() -> None:
    """One that is trained for one epoch, beside one that is trained for ten, would be called a loss."""
    arms = arms_of("scratch general probe:general domain:law")
    compared = [answered(arms, own, Compare()) for own in ({"probe"}, {"probe", "general"})]
    assert compared == [
        [Pair("recipe", "domain", "general"), Pair("pretrain", "general", "scratch")],
        [Pair("recipe", "domain", "scratch")],
    ]


@pytest.mark.parametrize(
    ("arms", "every", "expected"),
    [
        ("domain", "", Advice("general", "domain_transfer")),
        ("general", "", Advice("scratch", "pretrain")),
        ("domain:law long_task:general_long_task", "", Advice("general", "domain_transfer")),
        ("task", "", Advice("general", "task_transfer")),
        # An arm that other tasks have is not to be added, but to be given.
        ("task", "base:general task", Advice("general", "task_transfer", there="base")),
    ],
)
def test_the_arm_that_would_be_compared(arms: str, every: str, expected: Advice) -> None:
    own = arms_of(arms)
    assert pairs(own) == []
    assert advice(own, next(iter(own)), arms_of(every)) == expected


@pytest.mark.parametrize("arm", OF_ROLES)
def test_a_single_arm_is_in_no_question_and_there_is_advice_for_a_second_one(arm: str) -> None:
    assert pairs(arms_of(arm)) == []
    assert advice(arms_of(arm), arm) is not None


def test_a_pair_that_params_name_is_a_question_like_others(tmp_path: Path) -> None:
    """Task transfer with one text or with the other."""
    arms = {name: (name, ARMS[name]) for name in ("general", "domain", "domain_task")}
    arms["ours"] = ("task", {"domain_transfer": "law", "task_transfer": "own"})
    questions = {"which_text": ("ours", "domain_task"), "of_no_task": ("ours", "absent")}
    (task,) = compared(rearmed(simulate(tmp_path, tasks=["section"]), arms), questions=questions).tasks
    tested = ["recipe", "domain_transfer", "task_transfer"]
    assert [each.name for each in task.answers] == [*tested, "recipe/ours", "which_text"]
    assert [each.name for each in task.answers if each.why == "once"] == tested
    answer = answer_to(task, "which_text")
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
