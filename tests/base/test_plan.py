"""Names of params.yaml and the rungs and cells that they stand for."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from adaptbert.config.plan import Plan, expand
from adaptbert.config.schema.bases import Climb

ARMS: dict[str, dict[str, Any]] = {
    "scratch": {"pretrain": "none"},
    "general": {},
    "general_long": {"domain_transfer": "general"},
    "domain": {"domain_transfer": "domain"},
    "task": {"task_transfer": "own"},
    "domain_task": {"domain_transfer": "domain", "task_transfer": "own"},
}


def ladder(draws: int = 1, starts: tuple[str, ...] = ("small",), **changes: Any) -> LadderConfig:
    values = {"draws": draws, "starts": {start: {} for start in starts}, "arms": ARMS} | changes
    return LadderConfig.model_validate(values)


def expanded(draws: int = 1, blocks: Mapping[str, list[str]] | None = None, **changes: Any) -> Plan:
    config = ladder(draws, **changes)
    return expand(config, ["section", "mention"], blocks or {}, dict.fromkeys(config.starts, "words.txt"))


def test_one_start_and_one_draw() -> None:
    tables = expanded()
    assert list(tables.pretrain) == list(tables.tokenizer) == list(tables.tokenize) == ["small"]
    assert list(tables.domain_transfer) == ["general-small-1", "domain-small-1"]
    assert list(tables.task_transfer) == [
        "section-small-1",
        "section-domain-small-1",
        "mention-small-1",
        "mention-domain-small-1",
    ]
    assert {key: cell.rung for key, cell in tables.finetune.items() if cell.task == "section"} == {
        "section-scratch-small": "scratch/small",
        "section-general-small": "pretrain/small",
        "section-general_long-small-1": "domain_transfer/general-small-1",
        "section-domain-small-1": "domain_transfer/domain-small-1",
        "section-task-small-1": "task_transfer/section-small-1",
        "section-domain_task-small-1": "task_transfer/section-domain-small-1",
    }
    assert tables.task_transfer["section-domain-small-1"].rung == "domain_transfer/domain-small-1"
    assert tables.domain_transfer["domain-small-1"].rung == "pretrain/small"


def test_one_draw_more_adds_and_changes_nothing() -> None:
    two, three = (expanded(draws=draws).model_dump() for draws in (2, 3))
    for stage, entries in two.items():
        assert {key: three[stage][key] for key in entries} == entries
        assert {key.rpartition("-")[2] for key in three[stage].keys() - entries} <= {"3"}
    rung = expanded(draws=3).task_transfer["section-domain-small-3"].rung
    assert rung == "domain_transfer/domain-small-3", "of its own draw"


def test_arms_with_one_climb_share_their_rungs() -> None:
    """And another name of an arm trains no rung again."""
    renamed = {"weibo" if name == "domain" else name: arm for name, arm in ARMS.items()}
    tables, again = expanded(), expanded(arms=renamed)
    assert again.domain_transfer == tables.domain_transfer
    assert again.task_transfer == tables.task_transfer
    assert again.finetune["section-weibo-small-1"].rung == tables.finetune["section-domain-small-1"].rung


def test_several_corpora_are_trained_one_after_the_other() -> None:
    arms = {
        "both": {"domain_transfer": ["general", "domain"]},
        "raw": {"pretrain": "none", "domain_transfer": "domain"},
    }
    tables = expanded(arms=arms)
    assert {key: rung.rung for key, rung in tables.domain_transfer.items()} == {
        "general-small-1": "pretrain/small",
        "general-domain-small-1": "domain_transfer/general-small-1",
        "none-domain-small-1": "scratch/small",
    }


def test_tasks_and_starts_of_an_arm_and_arms_of_a_task() -> None:
    arms = ARMS | {"task": {"task_transfer": "own", "tasks": ["mention"]}, "general": {"starts": ["large"]}}
    tables = expanded(starts=("small", "large"), arms=arms, tasks={"mention": {"arms": ["task"], "starts": ["small"]}})
    assert [key for key in tables.finetune if key.startswith("mention-")] == ["mention-task-small-1"]
    assert "section-general-large" in tables.finetune
    assert "section-general-small" not in tables.finetune
    assert not [key for key in tables.finetune if key.startswith("section-task-")]


def test_an_entry_names_the_blocks_that_there_are() -> None:
    blocks = {"domain_transfer": ["all", "small", "domain"], "finetune": ["all", "mention", "domain_task"]}
    tables = expanded(blocks=blocks)
    rung = tables.domain_transfer["domain-small-1"]
    assert (rung.of_start, rung.of_corpus) == ("small", "domain")
    assert tables.domain_transfer["general-small-1"].of_corpus == "all"
    cell = tables.finetune["mention-domain_task-small-1"]
    assert (cell.of_start, cell.of_task, cell.of_arm) == ("all", "mention", "domain_task")
    assert tables.pretrain["small"].of_start == "all"


@pytest.mark.parametrize(
    "changes",
    [
        {"arms": ARMS | {"general": {"starts": ["huge"]}}},
        {"tasks": {"section": {"starts": ["huge"]}}},
        {"draws": 0},
    ],
)
def test_a_name_that_is_not_there_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ladder(**changes)


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).filter(lambda name: name not in RESERVED)
CLIMBS = st.builds(
    lambda none, corpora, own: {"pretrain": none, "domain_transfer": corpora, "task_transfer": own},
    st.sampled_from([None, "none"]),
    st.lists(NAMES, max_size=3),
    st.sampled_from([None, "own"]),
)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(NAMES, CLIMBS, min_size=1, max_size=4),
    st.lists(NAMES, min_size=1, max_size=3, unique=True),
    st.lists(NAMES, max_size=3, unique=True),
    st.integers(1, 3),
)
def test_whatever_the_names_are(
    arms: dict[str, dict[str, Any]], starts: list[str], tasks: list[str], draws: int
) -> None:
    """Every rung that another starts from is there, keys are unique, and a rung has the climb of its arm."""
    config = ladder(draws, tuple(starts), arms=arms)
    tables = expand(config, tasks, {}, dict.fromkeys(config.starts, "words.txt"))
    rungs = tables.starts_of_rungs()
    assert all(below is None or below in rungs for below in rungs.values())
    cells = 0
    for cell in tables.finetune.values():
        climb = config.arms[cell.arm].climb
        assert tables.climb(cell.rung) == climb
        assert (
            cell.rung.split("-")[-2 if cell.draw else -1].removeprefix("scratch/").removeprefix("pretrain/")
            == cell.start
        )
        cells += 1
    trained = [arm for arm in config.arms.values() if arm.climb not in (Climb(), Climb(is_random=True))]
    each = draws * len(trained) + len(config.arms) - len(trained)
    assert cells == each * len(starts) * len(tasks)
