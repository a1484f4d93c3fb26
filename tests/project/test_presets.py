"""Every preset is a whole, valid params.yaml, and the demo is the one that is committed."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from adaptbert.errors import BadParams
from adaptbert.finetuning.tasks.shapes import SHAPES
from adaptbert.project import named_files, presets
from adaptbert.runtime.params import expanded_ladder
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all
from tests.support.imports import ROOT

PUBLIC = ["general", "general_long", "domain", "task", "domain_task"]
WHOLE = ["scratch", *PUBLIC]
LADDERS = {
    "biomed": (["small"], 2, WHOLE, 10, 10),
    "demo": (["small"], 2, WHOLE, 14, 20),
    "en-public": (["uncased", "cased"], 3, PUBLIC, 28, 26),
    "gpu-base": (["bert"], 3, WHOLE, 14, 14),
    "smoke": (["small"], 1, ["scratch", "domain", "domain_task"], 4, 4),
    "tapt-only": (["bert"], 3, ["general", "task"], 5, 4),
    "weibo": (["small"], 2, WHOLE, 10, 10),
    "zh-public": (["bert", "macbert"], 3, PUBLIC, 28, 26),
}
"""Preset -> its starts, draws, arms; rungs, with those of scratch and pretrain; cells. What a preset costs grows with
them, and a reader sees it here; ladder.yaml shows all names of the demo."""
OF_THE_USER = {"biomed": 5, "en-public": 5, "gpu-base": 5, "tapt-only": 3, "weibo": 5, "zh-public": 5}
"""Preset -> how many files of the user's it names."""


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_names() -> None:
    assert presets.names() == list(LADDERS)


@pytest.mark.parametrize("name", LADDERS)
def test_valid(name: str) -> None:
    path = ROOT / "presets" / f"{name}.yaml"
    check_all(params.read(path), path)


@pytest.mark.parametrize("name", LADDERS)
def test_starts_arms_and_draws(name: str) -> None:
    path = ROOT / "presets" / f"{name}.yaml"
    document = params.read(path)
    ladder, tables = document["ladder"], expanded_ladder.expanded(document, path)
    counts = len(tables.starts_of_rungs()), len(tables.finetune)
    assert (list(ladder["starts"]), ladder["draws"], list(ladder["arms"]), *counts) == LADDERS[name]


def test_the_committed_ladder_is_that_of_the_committed_params() -> None:
    expanded_ladder.check(params.read(ROOT / "params.yaml"), ROOT / "params.yaml")


@pytest.mark.parametrize("name", LADDERS)
def test_values_stand_in_a_block_only_where_they_differ(name: str) -> None:
    """And the options of a task type in that of its task, so that a task of another type can be added."""
    document = params.read(ROOT / "presets" / f"{name}.yaml")
    for section in expanded_ladder.SECTIONS:
        values = params.flatten(document[section])
        every = {key.removeprefix("all."): value for key, value in values.items() if key.startswith("all.")}
        for key, value in values.items():
            block, _, inside = key.partition(".")
            assert block == "all" or every.get(inside, not value) != value, f"{section}.{key}"
    assert not document["finetune"]["all"].keys() & SHAPES.keys()


@pytest.mark.parametrize("name", LADDERS)
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


@pytest.mark.parametrize("name", OF_THE_USER)
def test_the_folder_of_the_user_takes_the_place_of_data_own(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "文本"
    folder.mkdir()
    text = presets.text(name, folder, in_place=True)
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    document = params.read(path)
    check_all(document, path)
    assert not [value for value in params.flatten(document).values() if "data/own" in str(value)]
    assert document["collect_task"][next(iter(document["collect_task"]))]["train"].startswith(f"{folder}/")
    assert len(named_files.check(document, path)) == OF_THE_USER[name]
    presets.check_replaceable(path)  # still known as the preset


@pytest.mark.parametrize("name", OF_THE_USER)
def test_only_paths_change_and_the_text_around_them_stays(name: str, tmp_path: Path) -> None:
    """Comments, and what DVC reads. A folder may hold what YAML would read otherwise."""
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
    assert sum(value != preset[key] for key, value in moved.items()) == len(changed) == OF_THE_USER[name]


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


@pytest.mark.parametrize(
    "file",
    [*(ROOT / "presets").glob("*.yaml"), *(ROOT / "benchmarks/real_sets").glob("*.yaml")],
    ids=lambda path: path.stem,
)
def test_every_preset_leaves_the_precision_to_the_machine(file: Path) -> None:
    values = params.flatten(params.read(file))
    assert {value for key, value in values.items() if key.endswith("precision")} == {"auto"}
