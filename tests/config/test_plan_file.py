"""plan.json: what is written is read, and an older one is told apart from params.yaml and the code."""

import json
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import plan_file
from adaptbert.config.plan import MOST_BYTES, Plan, expand, read
from adaptbert.config.recipe import Recipe
from adaptbert.errors import BadParams
from tests.support.rules import DEMO

TASK = {"type": "text-classification", "train": "a b.csv", "dev": "dev.csv", "test": "test.csv"}
ARMS = ["general", "domain", "task"]
USUAL: dict[str, Any] = {
    "bases": DEMO["bases"],
    "corpora": {"general": {"path": "general.txt"}, "domain": {"path": "domain.txt"}},
    "tasks": {"section": TASK},
    "arms": ARMS,
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
    assert '   "domain": {"path": "domain.txt", "values": {"path": "domain.txt"}}},' in lines
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
            {"compare": {"replicates": 1}, "tasks": {"mention": TASK}},
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
    orders = {"arms": ARMS, "bases": {"small": small, "large": small}}
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
