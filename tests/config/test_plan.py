"""plan.json: the checkpoints and cells that params.yaml stands for; what is written is read, and an older file told."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.config import plan_file
from adaptbert.config.plan import MOST_BYTES, Plan, read
from adaptbert.config.plan_file import expand
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import ARMS as KNOWN
from adaptbert.config.schema.bases import Climb
from adaptbert.config.schema.section import RESERVED
from adaptbert.errors import BadParams
from tests.support.rules import DEMO

ARMS = {name: KNOWN[name] for name in DEMO["arms"]}
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


# --- the file

SET = {"type": "text-classification", "train": "a b.csv", "dev": "dev.csv", "test": "test.csv"}
FEW = ["general", "domain", "task"]
USUAL: dict[str, Any] = {
    "bases": DEMO["bases"],
    "corpora": {"general": {"path": "general.txt"}, "domain": {"path": "domain.txt"}},
    "tasks": {"section": SET},
    "arms": FEW,
    "pretrain": {"tokens": 100},
}


def recipe(**changes: Any) -> Recipe:
    return Recipe({**USUAL, **changes})


@pytest.fixture
def written(tmp_path: Path) -> Path:
    plan_file.write(expand(recipe()), tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_what_is_written_is_read(written: Path) -> None:
    assert read(written) == expand(recipe())
    plan_file.check(recipe(), path=written)


def test_an_entry_is_a_line(written: Path) -> None:
    lines = written.read_text().splitlines()
    assert lines[0] == '{"plan": {'
    assert '   "domain": {"path": "domain.txt", "values": {"source": "files", "path": "domain.txt"}}},' in lines
    assert (
        '   "section-domain-small-2": {"base": "small", "replicate": 2, "from": "domain_transfer/domain-small-2", '
        '"task": "section", "arm": "domain", "values": {}},' in lines
    )


def test_a_plan_without_a_step_is_written_and_read(tmp_path: Path) -> None:
    """DVC looks for every table."""
    today = plan_file.plan(recipe(arms=["general"]))
    plan_file.write(today, tmp_path / "plan.json")
    assert read(tmp_path / "plan.json") == today
    assert '  "domain_transfer": {},' in (tmp_path / "plan.json").read_text()
    loaded = json.loads((tmp_path / "plan.json").read_text())
    assert list(loaded) == ["plan"]
    assert {*loaded["plan"]} == {*Plan.model_fields, "validate"} - {"validation"}


def test_values_that_dvc_compares_in_params_yaml_do_not_reach_it(written: Path) -> None:
    """Another one leaves the file as it is, so that `dvc exp run -S` needs no new plan."""
    others = {section: {"dropout": 0.3} for section in ("domain_transfer", "task_transfer", "finetune")}
    others["pretrain"] = {"tokens": 5}
    assert plan_file.text(expand(recipe(**others))) == written.read_text()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"compare": {"replicates": 3}},
            "missing: domain_transfer@domain-small-3, task_transfer@section-small-3, measure@domain-small-3 and 3 m",
        ),
        (
            {"compare": {"replicates": 1}, "tasks": {"mention": SET}},
            "missing: collect_task@mention, task_transfer@mention-small-1, measure@mention-small-1 and 3 more; "
            "to be removed: collect_task@section, domain_transfer@domain-small-2, ",
        ),
        ({"corpora": USUAL["corpora"] | {"domain": {"path": "other.txt"}}}, "different: collect@domain\n"),
        (
            {"overrides": {"domain": {"finetune": {"epochs": 1}}}},
            "different: finetune@section-domain-small-1, finetune",
        ),
        ({"overrides": {"small": {"finetune": {"epochs": 1}}}}, "different: finetune@section-general-small, "),
        ({"tokenize": {"max_length": 64}}, "different: tokenize@small\n"),
        ({"validate": {"min_characters": 0}}, "different: validate\n"),
        ({"seed": 2}, "different: pretrain@small, domain_transfer@domain-small-1, "),
    ],
)
def test_an_older_file_is_refused(written: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParams) as refused:
        plan_file.check(recipe(**changes), path=written)
    assert str(refused.value).startswith(f"AB-210 {written}: older than params.yaml: ")
    assert words in str(refused.value)
    assert "run `adaptbert plan`" in str(refused.value)


@pytest.mark.parametrize(
    ("key", "stages"),
    [
        ("arms", "finetune"),
        ("bases", "tokenizer, tokenize, pretrain, domain_transfer, task_transfer, measure, finetune"),
    ],
)
def test_another_order_is_refused(tmp_path: Path, key: str, stages: str) -> None:
    """The report has bases and arms in the order of params.yaml."""
    small = DEMO["bases"]["small"]
    orders = {"arms": FEW, "bases": {"small": small, "large": small}}
    plan_file.write(expand(recipe(**orders)), tmp_path / "plan.json")
    turned = [*reversed(orders[key])]
    changes = {**orders, key: turned if key == "arms" else dict.fromkeys(turned, small)}
    with pytest.raises(BadParams) as refused:
        plan_file.check(recipe(**changes), path=tmp_path / "plan.json")
    assert f": older than params.yaml: in another order: {stages}\n" in str(refused.value)


@pytest.mark.parametrize(
    "content",
    [
        "",
        '{"plan": 3}',
        '{"plan": [',
        '{"plan": {"pretrain": {"a": {"b": "c"}}}}',
        "\udcff",
        f'{{"plan": {"[" * 100_000}',
        # DVC would read it as a variable of dvc.yaml.
        '{"plan": {}, "collect": {"../../inside": {}}}',
    ],
)
def test_another_file_is_refused(written: Path, content: str) -> None:
    written.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadParams, match=r"AB-210 .*not a file of `adaptbert plan`"):
        plan_file.check(recipe(), path=written)


def test_a_file_that_is_too_large_is_not_read(written: Path) -> None:
    with written.open("a") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(BadParams, match=r"AB-210 .*larger than 30 MB"):
        plan_file.check(recipe(), path=written)


def test_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadParams, match=r"AB-210 .*the file is missing"):
        plan_file.check(recipe(), path=tmp_path / "plan.json")


def test_a_plan_of_other_code_is_refused(tmp_path: Path) -> None:
    """Only where it is asked for: the first stage looks at all code, a stage that trains at its own."""
    path = tmp_path / "plan.json"
    today = plan_file.plan(recipe())
    plan_file.write(today, path)
    plan_file.check(recipe(), plan_file.stages(), path)
    plan_file.write(today.model_copy(update={"code": today.code | {"finetune": "0" * 16}}), path)
    plan_file.check(recipe(), ["pretrain"], path)
    with pytest.raises(BadParams, match=r"AB-210 .*older than the code of finetune\n  run `adaptbert plan`"):
        plan_file.check(recipe(), plan_file.stages(), path)
