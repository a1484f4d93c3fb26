"""What is named in params.yaml, and the checkpoints and cells that it stands for."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.config.plan import Plan, expand, seed_of_replicate
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import ARMS as KNOWN
from adaptbert.config.schema.bases import Climb
from adaptbert.config.schema.section import RESERVED
from tests.support.rules import DEMO, errors

ARMS = {name: KNOWN[name] for name in DEMO["arms"]}
AGAIN = {"domain_again": {"again": "domain"}, "both_again": {"again": "domain_task"}}
SMALL, TASK = DEMO["bases"]["small"], DEMO["tasks"]["section"]
CHANGED = ("pretrain", "domain_transfer", "task_transfer", "measure", "finetune", "tokenizer", "tokenize")


def expanded(replicates: int = 1, bases: tuple[str, ...] = ("small",), **changes: Any) -> Plan:
    values = {"compare": {"replicates": replicates}, "bases": dict.fromkeys(bases, SMALL)}
    return expand(Recipe({**DEMO, **values, **changes}))


def test_one_base_and_one_replicate() -> None:
    tables = expanded()
    assert list(tables.pretrain) == list(tables.tokenizer) == list(tables.tokenize) == ["small"]
    assert list(tables.domain_transfer) == ["general-small-1", "domain-small-1"]
    assert list(tables.task_transfer) == [
        "section-small-1",
        "section-domain-small-1",
        "mention-small-1",
        "mention-domain-small-1",
    ]
    assert {key: cell.checkpoint for key, cell in tables.finetune.items() if cell.task == "section"} == {
        "section-scratch-small": "scratch/small",
        "section-general-small": "pretrain/small",
        "section-general_long-small-1": "domain_transfer/general-small-1",
        "section-domain-small-1": "domain_transfer/domain-small-1",
        "section-task-small-1": "task_transfer/section-small-1",
        "section-domain_task-small-1": "task_transfer/section-domain-small-1",
    }
    assert tables.task_transfer["section-domain-small-1"].checkpoint == "domain_transfer/domain-small-1"
    assert tables.domain_transfer["domain-small-1"].checkpoint == "pretrain/small"


def test_one_replicate_more_adds_and_changes_nothing() -> None:
    two, three = (expanded(replicates).model_dump() for replicates in (2, 3))
    for stage in CHANGED:
        entries = two[stage]
        assert {key: three[stage][key] for key in entries} == entries
        assert {key.rpartition("-")[2] for key in three[stage].keys() - entries} <= {"3"}
    checkpoint = expanded(3).task_transfer["section-domain-small-3"].checkpoint
    assert checkpoint == "domain_transfer/domain-small-3", "of its own replicate"


def test_arms_with_the_same_steps_share_their_checkpoints() -> None:
    """And another name of an arm trains none again."""
    renamed = {"weibo" if name == "domain" else name: arm for name, arm in ARMS.items()}
    tables, again = expanded(), expanded(arms=renamed)
    assert again.domain_transfer == tables.domain_transfer
    assert again.task_transfer == tables.task_transfer
    assert again.finetune["section-weibo-small-1"].checkpoint == tables.finetune["section-domain-small-1"].checkpoint


def test_several_corpora_are_trained_one_after_the_other() -> None:
    arms = {
        "both": {"domain_transfer": ["general", "domain"]},
        "raw": {"pretrain": "none", "domain_transfer": "domain"},
    }
    tables = expanded(arms=arms)
    assert {key: each.checkpoint for key, each in tables.domain_transfer.items()} == {
        "general-small-1": "pretrain/small",
        "general-domain-small-1": "domain_transfer/general-small-1",
        "none-domain-small-1": "scratch/small",
    }


def test_tasks_and_bases_of_an_arm() -> None:
    arms = ARMS | {"task": {"task_transfer": "own", "tasks": ["mention"]}, "general": {"bases": ["large"]}}
    tables = expanded(bases=("small", "large"), arms=arms)
    assert "mention-task-small-1" in tables.finetune
    assert not [key for key in tables.finetune if key.startswith("section-task-")]
    assert "section-general-large" in tables.finetune
    assert "section-general-small" not in tables.finetune


def test_an_entry_has_the_overrides_that_it_differs_by() -> None:
    """So that DVC runs it again, and no other, when one of them changes."""
    more = {"dropout": 0.2}
    overrides = {
        "small": {"pretrain": more, "finetune": more},
        "domain": {"domain_transfer": more},
        "mention": {"finetune": {"epochs": 6}},
        "domain_task": {"finetune": {"dropout": 0.3}},
    }
    tables = expanded(overrides=overrides)
    found = {
        f"{stage}@{key}": entry.values["overrides"]
        for stage in CHANGED
        for key, entry in getattr(tables, stage).items()
        if "overrides" in entry.values
    }
    assert found.pop("pretrain@small") == {"small": more}
    assert found.pop("domain_transfer@domain-small-1") == {"domain": more}
    assert found.pop("finetune@mention-domain_task-small-1") == {
        "small": more,
        "mention": {"epochs": 6},
        "domain_task": {"dropout": 0.3},
    }
    assert {key.partition("@")[0] for key in found} == {"finetune"}
    assert all(values["small"] == more for values in found.values())
    assert tables.finetune["mention-domain_task-small-1"].has_own_values
    assert not tables.finetune["mention-domain-small-1"].has_own_values


@pytest.mark.parametrize(
    ("changes", "touched"),
    [
        ({"seed": 2}, {"pretrain", "domain_transfer", "task_transfer", "measure"}),
        ({"measure": {"max_tokens": 10}}, {"pretrain", "domain_transfer", "task_transfer", "measure"}),
        ({"tokenizer": {"vocabulary_size": 500}}, {"tokenizer"}),
        ({"tokenize": {"max_length": 64}}, {"tokenize"}),
        ({"validate": {"min_characters": 1}}, {"validation"}),
        ({"finetune": {"epochs": 1}}, set()),
        ({"pretrain": {"tokens": 5}, "domain_transfer": {}, "task_transfer": {}}, set()),
        ({"corpora": DEMO["corpora"] | {"domain": {"path": "other.txt"}}}, {"collect"}),
    ],
)
def test_values_are_in_the_entries_of_the_stages_that_read_them(changes: dict[str, Any], touched: set[str]) -> None:
    """And those of sections of params.yaml that DVC compares itself are in none."""
    before, after = expanded().model_dump(), expanded(**changes).model_dump()
    assert {stage for stage in before if before[stage] != after[stage]} == touched
    assert all({*before[stage]} == {*after[stage]} for stage in before)


# --- an arm once more


@pytest.mark.parametrize("replicates", [1, 3])
def test_an_arm_once_more_has_the_replicates_after_those_of_the_first(replicates: int) -> None:
    before, after = expanded(replicates), expanded(replicates, arms=ARMS | AGAIN)
    assert {key: cell for key, cell in after.finetune.items() if not cell.arm.endswith("again")} == before.finetune
    later = range(replicates + 1, 2 * replicates + 1)
    more = {f"domain-small-{replicate}" for replicate in later}
    assert after.domain_transfer.keys() - before.domain_transfer.keys() == more
    assert {key: cell.checkpoint for key, cell in after.finetune.items() if cell.arm == "domain_again"} == {
        f"{task}-domain_again-small-{replicate}": f"domain_transfer/domain-small-{replicate}"
        for task in ("section", "mention")
        for replicate in later
    }
    first = {seed_of_replicate(1, replicate) for replicate in range(1, replicates + 1)}
    for replicate in later:
        own = after.task_transfer[f"section-domain-small-{replicate}"]
        assert (own.checkpoint, own.replicate) == (f"domain_transfer/domain-small-{replicate}", replicate)
        assert seed_of_replicate(1, replicate) not in first


@pytest.mark.parametrize(
    ("arms", "tasks"),
    [
        ({"domain": {"domain_transfer": "domain", "tasks": ["section"]}}, ["section"]),
        ({"domain_again": {"again": "domain", "tasks": ["mention"]}}, ["mention"]),
    ],
)
def test_its_tasks_are_those_of_the_first_unless_it_names_its_own(arms: dict[str, Any], tasks: list[str]) -> None:
    tables = expanded(arms=ARMS | {"domain_again": {"again": "domain"}} | arms)
    assert [cell.task for cell in tables.finetune.values() if cell.arm == "domain_again"] == tasks


@pytest.mark.parametrize(
    ("arm", "place", "expected"),
    [
        ({"again": "domian"}, "arms", "more.again names 'domian', which is no other arm"),
        ({"again": "more"}, "arms", "more.again names 'more', which is no other arm"),
        ({"again": "general"}, "arms", "more.again names 'general', which has no step that is trained for each"),
        ({"again": "domain_again"}, "arms", "more.again names 'domain_again', which repeats another arm itself"),
        ({"again": "domain", "task_transfer": "own"}, "arms.more", "'again' beside what an arm is trained on"),
    ],
)
def test_what_cannot_be_repeated(arm: dict[str, Any], place: str, expected: str) -> None:
    (line,) = errors(arms=ARMS | {"more": arm, "domain_again": {"again": "domain"}})
    assert line.startswith(f"AB-111 params.yaml: {place}: {expected}")


# --- whatever the names are

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).filter(lambda name: name not in RESERVED)
STEPS = st.builds(
    lambda none, corpora, own: {"pretrain": none, "domain_transfer": corpora, "task_transfer": own},
    st.sampled_from([None, "none"]),
    st.lists(NAMES, max_size=3),
    st.sampled_from([None, "own"]),
)


@settings(max_examples=100)
@given(
    st.dictionaries(NAMES, STEPS, min_size=1, max_size=4),
    st.lists(NAMES, min_size=1, max_size=3, unique=True),
    st.lists(NAMES, max_size=3, unique=True),
    st.integers(1, 3),
)
def test_every_checkpoint_is_there(
    arms: dict[str, dict[str, Any]], bases: list[str], tasks: list[str], replicates: int
) -> None:
    """That another starts from; keys are unique, and a checkpoint has the steps of its arm."""
    recipe = Recipe(
        {
            **DEMO,
            "bases": dict.fromkeys(bases, SMALL),
            "tasks": dict.fromkeys(tasks, TASK),
            "arms": arms,
            "compare": {"replicates": replicates},
        }
    )
    tables = expand(recipe)
    parents = tables.parents()
    assert all(below is None or below in parents for below in parents.values())
    assert len({*tables.shown().values()}) == len(parents)
    for cell in tables.finetune.values():
        assert tables.climb(cell.checkpoint) == recipe.arms[cell.arm].climb
        key = cell.checkpoint.rpartition("/")[2].split("-")
        assert key[-2 if cell.replicate else -1] == cell.base
    trained = [arm for arm in recipe.arms.values() if arm.climb not in (Climb(), Climb(is_random=True))]
    each = replicates * len(trained) + len(arms) - len(trained)
    assert len(tables.finetune) == each * len(bases) * len(tasks)
