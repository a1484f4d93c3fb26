"""ladder.yaml: what is written is read, and an older one is told apart from the names of params.yaml."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from adaptbert.base.expansion import MOST_BYTES, Expansion, read
from adaptbert.errors import BadParams
from adaptbert.runtime.params import expanded_ladder

FILE = Path("params.yaml")
LADDER: dict[str, Any] = {
    "draws": 2,
    "starts": {"small": {"init": "scratch"}},
    "arms": {"general": {}, "domain": {"domain_transfer": "domain"}, "task": {"task_transfer": "own"}},
}


def document(**changes: Any) -> dict[str, Any]:
    sections = {name: {"all": {}} for name in expanded_ladder.SECTIONS}
    return {"ladder": LADDER, "collect_task": {"section": {}}, **sections} | changes


@pytest.fixture
def written(tmp_path: Path) -> Path:
    expanded_ladder.write(expanded_ladder.expanded(document(), FILE), tmp_path / "ladder.yaml")
    return tmp_path / "ladder.yaml"


def test_what_is_written_is_read(written: Path) -> None:
    assert read(written) == expanded_ladder.expanded(document(), FILE)
    expanded_ladder.check(document(), FILE, written)


def test_an_entry_is_a_line(written: Path) -> None:
    lines = written.read_text().splitlines()
    assert lines[:3] == [*expanded_ladder.HEADER.splitlines(), "stages:"]
    assert (
        "    section-domain-small-2: {start: small, of_start: all, draw: 2, from: domain_transfer/domain-small-2, "
        "task: section, arm: domain, of_task: all, of_arm: all}" in lines
    )


def test_a_ladder_without_a_step_is_written_and_read(tmp_path: Path) -> None:
    ladder = LADDER | {"arms": {"general": {}}}
    today = expanded_ladder.expanded(document(ladder=ladder), FILE)
    expanded_ladder.write(today, tmp_path / "ladder.yaml")
    assert read(tmp_path / "ladder.yaml") == today
    assert "  domain_transfer: {}" in (tmp_path / "ladder.yaml").read_text()


def test_only_names_reach_it(written: Path) -> None:
    """Values stay in params.yaml: another one leaves the file as it is."""
    finetune = {"all": {"epochs": 4, "seeds": [1, 2, 3]}}
    assert expanded_ladder.text(expanded_ladder.expanded(document(finetune=finetune), FILE)) == written.read_text()
    loaded = YAML(typ="safe").load(written.read_text())
    assert set(loaded) == {"stages"}
    assert list(loaded["stages"]) == list(Expansion.model_fields)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"ladder": LADDER | {"draws": 3}},
            "missing: domain_transfer@domain-small-3; missing: task_transfer@section-small-3; missing: "
            "measure@domain-small-3, measure@section-small-3; missing: finetune@section-domain-small-3, "
            "finetune@section-task-small-3",
        ),
        ({"ladder": LADDER | {"draws": 1}}, "to be removed: domain_transfer@domain-small-2; to be removed: "),
        (
            {"collect_task": {"section": {}, "mention": {}}},
            "missing: finetune@mention-general-small, finetune@mention-domain-small-1, finetune@mention-domain-small-2 "
            "and 2 more",
        ),
        ({"finetune": {"all": {}, "domain": {}}}, "different: finetune@section-domain-small-1, finetune@section-"),
        ({"finetune": {"all": {}, "small": {}}}, "different: finetune@section-general-small, "),
    ],
)
def test_an_older_file_is_refused(written: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParams) as refused:
        expanded_ladder.check(document(**changes), FILE, written)
    assert str(refused.value).startswith(f"AB-210 {written}: older than params.yaml: ")
    assert words in str(refused.value)
    assert "run `adaptbert ladder`" in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "stages"),
    [
        ({"arms": dict(reversed(LADDER["arms"].items()))}, "finetune"),
        ({"starts": {"large": {}, "small": {}}}, ", ".join(Expansion.model_fields)),
    ],
)
def test_another_order_is_refused(tmp_path: Path, changes: dict[str, Any], stages: str) -> None:
    """The report has starts and arms in the order of params.yaml."""
    ladder = LADDER | {"starts": {"small": {}, "large": {}}}
    expanded_ladder.write(expanded_ladder.expanded(document(ladder=ladder), FILE), tmp_path / "ladder.yaml")
    with pytest.raises(BadParams) as refused:
        expanded_ladder.check(document(ladder=ladder | changes), FILE, tmp_path / "ladder.yaml")
    assert f": older than params.yaml: in another order: {stages}\n" in str(refused.value)
    assert "run `adaptbert ladder`" in str(refused.value)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "stages: 3\n",
        "a: [",
        "stages: {pretrain: {a: {b: c}}}\n",
        "\udcff",
        "stages: !!bool x\n",
        f"stages: {'[' * 2000}{']' * 2000}\n",
        # DVC would read it as a variable of dvc.yaml, and make stages of a `collect` here.
        'stages: {}\ncollect: {"../../inside": {}}\n',
    ],
)
def test_another_file_is_refused(written: Path, content: str) -> None:
    written.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadParams, match=r"AB-210 .*not a file of `adaptbert ladder`"):
        expanded_ladder.check(document(), FILE, written)


def test_a_file_that_is_too_large_is_not_read(written: Path) -> None:
    with written.open("a") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(BadParams, match=r"AB-210 .*larger than 10 MB"):
        expanded_ladder.check(document(), FILE, written)


def test_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadParams, match=r"AB-210 .*the file is missing"):
        expanded_ladder.check(document(), FILE, tmp_path / "ladder.yaml")
