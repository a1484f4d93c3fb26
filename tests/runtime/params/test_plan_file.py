"""plan.json: what is written is read, and an older one is told apart from the names of params.yaml."""

import json
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import plan_file
from adaptbert.config.plan import MOST_BYTES, Plan, read
from adaptbert.errors import BadParams

FILE = Path("params.yaml")
LADDER: dict[str, Any] = {
    "draws": 2,
    "starts": {"small": {"init": "scratch"}},
    "arms": {"general": {}, "domain": {"domain_transfer": "domain"}, "task": {"task_transfer": "own"}},
}
SET = {"train": "a b.csv", "dev": "dev.csv", "test": "test.csv"}


def document(**changes: Any) -> dict[str, Any]:
    sections = {name: {"all": {}} for name in plan_file.SECTIONS}
    collected = {"collect": {"domain": {"path": "domain.txt"}}, "collect_task": {"section": SET}}
    return {"ladder": LADDER, **collected, **sections} | changes


@pytest.fixture
def written(tmp_path: Path) -> Path:
    plan_file.write(plan_file.names(document(), FILE), tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_what_is_written_is_read(written: Path) -> None:
    assert read(written) == plan_file.names(document(), FILE)
    plan_file.check(document(), FILE, path=written)


def test_an_entry_is_a_line(written: Path) -> None:
    lines = written.read_text().splitlines()
    assert lines[:2] == ['{"plan": {', '  "code": {},']
    assert '   "domain": {"path": "domain.txt"}},' in lines
    assert (
        '   "section-domain-small-2": {"start": "small", "of_start": "all", "draw": 2, "from": '
        '"domain_transfer/domain-small-2", "task": "section", "arm": "domain", "of_task": "all", "of_arm": "all"},'
        in lines
    )


def test_a_ladder_without_a_step_is_written_and_read(tmp_path: Path) -> None:
    ladder = LADDER | {"arms": {"general": {}}}
    today = plan_file.names(document(ladder=ladder), FILE)
    plan_file.write(today, tmp_path / "plan.json")
    assert read(tmp_path / "plan.json") == today
    assert '  "domain_transfer": {},' in (tmp_path / "plan.json").read_text()


def test_only_names_reach_it(written: Path) -> None:
    """Values stay in params.yaml: another one leaves the file as it is."""
    finetune = {"all": {"epochs": 4, "seeds": [1, 2, 3]}}
    assert plan_file.text(plan_file.names(document(finetune=finetune), FILE)) == written.read_text()
    loaded = json.loads(written.read_text())
    assert set(loaded) == {"plan"}
    assert list(loaded["plan"]) == list(Plan.model_fields)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"ladder": LADDER | {"draws": 3}},
            "missing: domain_transfer@domain-small-3, task_transfer@section-small-3, measure@domain-small-3 and 3 m",
        ),
        (
            {"ladder": LADDER | {"draws": 1}, "collect_task": {"mention": SET}},
            "missing: collect_task@mention, task_transfer@mention-small-1, measure@mention-small-1 and 3 more; "
            "to be removed: collect_task@section, domain_transfer@domain-small-2, ",
        ),
        ({"collect": {"domain": {"path": "other.txt"}}}, "different: collect@domain\n"),
        ({"finetune": {"all": {}, "domain": {}}}, "different: finetune@section-domain-small-1, finetune@section-"),
        ({"finetune": {"all": {}, "small": {}}}, "different: finetune@section-general-small, "),
    ],
)
def test_an_older_file_is_refused(written: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParams) as refused:
        plan_file.check(document(**changes), FILE, path=written)
    assert str(refused.value).startswith(f"AB-210 {written}: older than params.yaml: ")
    assert words in str(refused.value)
    assert "run `adaptbert plan`" in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "stages"),
    [
        ({"arms": dict(reversed(LADDER["arms"].items()))}, "finetune"),
        ({"starts": {"large": {}, "small": {}}}, ", ".join([*Plan.model_fields][3:])),
    ],
)
def test_another_order_is_refused(tmp_path: Path, changes: dict[str, Any], stages: str) -> None:
    """The report has starts and arms in the order of params.yaml."""
    ladder = LADDER | {"starts": {"small": {}, "large": {}}}
    plan_file.write(plan_file.names(document(ladder=ladder), FILE), tmp_path / "plan.json")
    with pytest.raises(BadParams) as refused:
        plan_file.check(document(ladder=ladder | changes), FILE, path=tmp_path / "plan.json")
    assert f": older than params.yaml: in another order: {stages}\n" in str(refused.value)
    assert "run `adaptbert plan`" in str(refused.value)


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
        plan_file.check(document(), FILE, path=written)


def test_a_file_that_is_too_large_is_not_read(written: Path) -> None:
    with written.open("a") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(BadParams, match=r"AB-210 .*larger than 10 MB"):
        plan_file.check(document(), FILE, path=written)


def test_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadParams, match=r"AB-210 .*the file is missing"):
        plan_file.check(document(), FILE, path=tmp_path / "plan.json")


def test_a_plan_of_other_code_is_refused(tmp_path: Path) -> None:
    """Only where it is asked for: the first stage looks at all code, a stage that trains at its own."""
    path = tmp_path / "plan.json"
    today = plan_file.plan(document(), FILE)
    plan_file.write(today, path)
    plan_file.check(document(), FILE, plan_file.stages(), path)
    plan_file.write(today.model_copy(update={"code": today.code | {"finetune": "0" * 16}}), path)
    plan_file.check(document(), FILE, ["pretrain"], path)
    with pytest.raises(BadParams, match=r"AB-210 .*older than the code of finetune\n  run `adaptbert plan`"):
        plan_file.check(document(), FILE, plan_file.stages(), path)
