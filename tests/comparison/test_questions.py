"""Steps follow what weights were trained on, not what the arms are called."""

from dataclasses import replace
from pathlib import Path

import pytest

from adaptbert.comparison.questions import (
    QUESTIONS,
    ROLES,
    Advice,
    Pair,
    advice,
    advice_of,
    pairs,
    role,
    uncompared,
    without_variants,
)
from adaptbert.config.schema.bases import TrainedOn
from tests.support.known import known
from tests.support.simulated import ARMS, compared, rearmed, simulate

SCRATCH, GENERAL = TrainedOn(is_random=True), TrainedOn()
LONG, NEWS, LAW = (TrainedOn(corpora=(corpus,)) for corpus in ("general", "news", "law"))


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
    assert compared == QUESTIONS
    assert list(compared) == list(QUESTIONS)


def test_an_arm_that_is_fine_tuned_otherwise_is_in_no_step() -> None:
    """One that is trained for one epoch, beside one that is trained for ten, would be called a loss."""
    arms = {"scratch": SCRATCH, "general": GENERAL, "probe": GENERAL, "domain": LAW}
    compared = [[pair.name for pair in pairs(without_variants(arms, own))] for own in ({"probe"}, {"probe", "general"})]
    assert compared == [["pretrain", "domain_transfer", "climb"], ["climb"]]


def test_a_false_name_makes_no_step() -> None:
    assert compared_arms(domain=GENERAL, general=GENERAL) == {}
    assert pairs({"domain": GENERAL, "scratch": SCRATCH}) == [Pair("pretrain", "domain", "scratch", variant="domain")]


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
def test_the_arm_that_would_make_most_comparisons(arms: dict[str, TrainedOn], expected: Advice) -> None:
    assert uncompared(arms) == list(arms)
    assert advice(arms, list(arms)) == expected


def test_an_arm_that_other_tasks_have_is_not_to_be_added_but_to_be_given(tmp_path: Path) -> None:
    own = {"task": with_task_text(GENERAL)}
    there = advice(own, ["task"], {"base": GENERAL, **own})
    assert there == Advice("general", ["task"], ["task_transfer"], there="base")
    both = simulate(tmp_path)
    here = {
        key: entry
        for key, entry in both.plan.finetune.items()
        if entry.task == "mention" or entry.arm in ("task", "scratch")
    }
    of_section, of_mention = compared(replace(both, plan=both.plan.model_copy(update={"finetune": here}))).tasks
    assert [more.there for more in of_section.advice] == ["general"]
    assert of_mention.advice == []


@pytest.mark.parametrize("arm", EVERY)
def test_a_single_arm_is_in_no_question_and_there_is_advice_for_a_second_one(arm: str) -> None:
    assert compared_arms(**{arm: EVERY[arm]}) == {}
    (more,) = advice_of({arm: EVERY[arm]}, set(), [], {})
    assert more.beside == [arm]


def test_arms_outside_of_all_questions_get_advice() -> None:
    """But for those in a question that params.yaml names, and where the arm that would help is there and fine-tuned
    otherwise."""
    arms = {"general": GENERAL, "domain": NEWS, "law_task": with_task_text(LAW)}
    assert advice_of(arms | {"law": LAW}, set(), [], {}) == []
    assert advice_of(arms, set(), [], {}) == [Advice("domain", ["law_task"], ["task_transfer_after_domain"])]
    assert advice_of(arms, {"domain"}, [], {}) == []
    assert advice_of(arms, set(), [Pair("own", "law_task", "general")], {}) == []


def test_a_pair_that_params_name_is_a_step_like_others(tmp_path: Path) -> None:
    """Task transfer with one text or with the other."""
    arms = {name: (name, ARMS[name]) for name in ("general", "domain", "domain_task")}
    arms["ours"] = ("task", {"domain_transfer": "law", "task_transfer": "own"})
    questions = {"which_text": ("ours", "domain_task"), "of_no_task": ("ours", "absent")}
    (task,) = compared(rearmed(simulate(tmp_path, tasks=["section"]), arms), questions=questions).tasks
    assert [step.name for step in task.steps] == ["domain_transfer", "task_transfer_after_domain", "which_text"]
    step = known(task.step("which_text"))
    assert (step.arm, step.other, step.variant) == ("ours", "domain_task", None)
    assert (step.verdict, step.replicates, step.primary) == ("descriptive", 1, False)
    assert known(step.difference).low is not None
    assert task.advice == [], "ours is compared, in a question of its own"


def test_a_named_pair_of_one_checkpoint_needs_no_replicates(tmp_path: Path) -> None:
    """A frozen encoder beside a trained one: they differ in fine-tuning alone, so seeds and rows suffice."""
    probe = rearmed(simulate(tmp_path, tasks=["section"]), {"general": ("domain", {}), "probe": ("scratch", {})})
    entries = {
        key: entry.model_copy(update={"values": {"overrides": {"probe": {}}} if entry.arm == "probe" else {}})
        for key, entry in probe.plan.finetune.items()
    }
    variant = replace(probe, plan=probe.plan.model_copy(update={"finetune": entries}))
    (task,) = compared(variant, questions={"thawed": ("general", "probe")}, primary=["thawed"]).tasks
    (step,) = task.steps
    assert (step.name, step.replicates, step.verdict, step.own_values) == ("thawed", None, "worth_it", ["probe"])
    assert [arm.run_tflop for arm in task.arms] == [pytest.approx(0.4)] * 2
    assert task.advice == []
