"""Every preset is a whole, valid params.yaml, and the demo is the one that is committed."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from adaptbert.errors import BadParams
from adaptbert.project import named_files, presets
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.stage import check_all
from tests.support.imports import ROOT

NAMES = sorted(path.stem for path in (ROOT / "presets").glob("*.yaml"))


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_names() -> None:
    assert presets.names() == NAMES == ["biomed", "demo", "gpu-base", "smoke", "weibo"]


@pytest.mark.parametrize("name", NAMES)
def test_valid(name: str) -> None:
    path = ROOT / "presets" / f"{name}.yaml"
    check_all(params.read(path), path)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "smoke"])
def test_every_arm_of_every_task(name: str) -> None:
    """The whole recipe, with its control; `smoke` alone leaves arms out, to end in about a minute."""
    cells = params.read(ROOT / "presets" / f"{name}.yaml")["ladder"]["finetune"].values()
    arms = ["scratch", "general", "general_long", "domain", "task", "domain_task"]
    for task in {cell["task"] for cell in cells}:
        assert [cell["arm"] for cell in cells if cell["task"] == task] == arms


@pytest.mark.parametrize("name", NAMES)
def test_files_of_the_project_exist(name: str) -> None:
    """Those of the user lie in data/own, which git ignores."""
    missing = named_files.check(params.read(ROOT / "presets" / f"{name}.yaml"), ROOT / "params.yaml")
    assert [str(error) for error in missing if "data/own/" not in str(error)] == []


def test_demo_is_the_committed_params_file() -> None:
    shown = subprocess.run(["git", "show", "HEAD:./params.yaml"], cwd=ROOT, capture_output=True)
    if shown.returncode:
        pytest.skip("not a git repository")
    demo = (ROOT / "presets/demo.yaml").read_bytes()
    assert shown.stdout == demo, "cp params.yaml presets/demo.yaml (or the other way round)"


@pytest.mark.parametrize("name", ["weibo", "biomed", "gpu-base"])
def test_the_folder_of_the_user_takes_the_place_of_data_own(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "文本"
    folder.mkdir()
    text = presets.text(name, folder, in_place=True)
    assert "data/own" not in text
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    document = params.read(path)
    check_all(document, path)
    assert document["collect"]["general"]["path"].startswith(f"{folder}/")
    assert len(named_files.check(document, path)) == 5
    presets.check_replaceable(path)  # still known as the preset


@pytest.mark.parametrize("name", ["weibo", "biomed", "gpu-base"])
def test_only_paths_change_and_the_text_around_them_stays(name: str, tmp_path: Path) -> None:
    """Comments, the columns of the ladder, and what DVC reads. A folder may hold what YAML would read otherwise."""
    folder = tmp_path / 'a: "b" # c'
    folder.mkdir()
    before = presets.text(name, None).splitlines()
    after = presets.text(name, folder, in_place=True).splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert [old.partition("data/own")[0] for old, _ in changed] == [new.partition('"')[0] for _, new in changed]
    path = tmp_path / "params.yaml"
    path.write_text("\n".join(after), encoding="utf-8")
    moved, preset = (params.flatten(params.read(file)) for file in (path, ROOT / "presets" / f"{name}.yaml"))
    assert moved == {
        key: value.replace("data/own", str(folder)) if isinstance(value, str) else value
        for key, value in preset.items()
    }
    assert sum(value != preset[key] for key, value in moved.items()) == len(changed) == 5


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("seed: 1", "seed: 2"),
        lambda text: text.replace("# posts", "# my posts"),
        lambda text: text.replace("/zh_domain", "/elsewhere/zh_domain"),
        lambda text: text[:900],
        lambda text: text + "mine: 1\n",
    ],
    ids=["value", "comment", "folder", "cut", "more"],
)
def test_a_moved_preset_that_was_edited_is_the_users(tmp_path: Path, edit: Callable[[str], str]) -> None:
    path = tmp_path / "params.yaml"
    text = presets.text("weibo", tmp_path, in_place=True)
    assert edit(text) != text
    path.write_text(edit(text), encoding="utf-8")
    with pytest.raises(BadParams, match=r"AB-111 .*: holds changes that are neither committed nor a preset"):
        presets.check_replaceable(path)
