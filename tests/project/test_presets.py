"""Every preset is a whole, valid, short params.yaml, and the demo is the one that is committed; `adaptbert use`."""

import subprocess
from pathlib import Path

import pytest

from adaptbert.config import load, plan_file
from adaptbert.config.plan import read
from adaptbert.config.recipe import Recipe
from adaptbert.project import editing, own_data, rules
from tests.support.commands import DEMO, run
from tests.support.imports import ROOT

NAMES = sorted(path.stem for path in (ROOT / "presets").glob("*.yaml"))
MOST_LINES = {"params": 45, **dict.fromkeys(NAMES, 40)}
PARAMS = Path("params.yaml")


def recipe(name: str) -> Recipe:
    return Recipe(load.read(ROOT / f"presets/{name}.yaml"))


def test_the_help_names_all() -> None:
    assert {name for name in NAMES if name not in " ".join(run("use", "--help").output.split())} == set()


@pytest.mark.parametrize("name", NAMES)
def test_valid_and_its_files_are_those_of_the_user_or_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the user lie in data/own, which git ignores; a script makes those of the demonstration."""
    monkeypatch.chdir(ROOT)
    rules.check(recipe(name))
    lacking = [str(error) for _, error in own_data.check(recipe(name))]
    assert [line for line in lacking if "data/own/" not in line and "python -m examples.docstrings" not in line] == []


@pytest.mark.parametrize("name", MOST_LINES)
def test_a_person_writes_few_lines(name: str) -> None:
    path = ROOT / ("params.yaml" if name == "params" else f"presets/{name}.yaml")
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES[name]


def test_the_committed_files_are_those_of_the_demonstration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    plan_file.check(Recipe(load.read(PARAMS)), plan_file.stages())
    if (shown := editing.committed(PARAMS)) is None:
        pytest.skip("not a git repository")
    assert shown.decode() == DEMO, "cp params.yaml presets/demo.yaml (or the other way round)"


# ---- adaptbert use

SMOKE = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")
EDITED = DEMO.replace("seed: 1 ", "seed: 7 ")


def test_use_writes_the_preset(project: Path) -> None:
    before = {*project.iterdir()}
    done = run("use", "smoke")
    is_now = "params.yaml is now the preset 'smoke', and plan.json has its checkpoints and cells\n"
    assert (done.exit_code, done.output) == (0, is_now + "now run: adaptbert check\n")
    assert PARAMS.read_text(encoding="utf-8") == SMOKE
    assert list(read(project / "plan.json").domain_transfer) == ["domain-small-1"]
    assert {*project.iterdir()} == before


def test_use_says_what_is_missing(project: Path) -> None:
    done = run("use", "weibo")
    first = (
        "AB-050 params.yaml: corpora.general.path: data/own/zh_general.jsonl.gz: no such file\n  put it there, or wr"
    )
    assert (done.exit_code, done.output.count("still missing: ")) == (0, 5)
    assert f"\nstill missing: {first}" in done.output


def test_use_lets_dvc_record_what_lies_in_data_own(project: Path) -> None:
    """Once, however often it runs."""
    own_data.OWN.mkdir()
    for name in ("posts.csv", ".hidden"):
        (own_data.OWN / name).write_text("text\na\n")
    assert "recorded by DVC: data/own/posts.csv\n" in run("use", "weibo").output
    assert "recorded by DVC" not in run("use", "weibo", "--force").output
    assert sorted(path.name for path in own_data.OWN.glob("*.dvc")) == ["posts.csv.dvc"]


def test_use_refuses_an_unknown_preset_and_leaves_the_file(project: Path) -> None:
    before = {*project.iterdir()}
    done = run("use", "wiebo")
    message = "AB-099 presets: no preset 'wiebo' (did you mean 'weibo'?)\n  known: biomed, demo,"
    assert (done.exit_code, message in done.stderr) == (78, True), done.stderr
    assert (PARAMS.read_text(encoding="utf-8"), {*project.iterdir()}) == (DEMO, before)


def test_use_keeps_unknown_edits_unless_they_are_committed_or_forced(project: Path) -> None:
    PARAMS.write_text(EDITED, encoding="utf-8")
    done = run("use", "smoke")
    assert (done.exit_code, PARAMS.read_text(encoding="utf-8")) == (78, EDITED)
    assert "holds changes that are neither committed nor a preset\n  commit it" in done.stderr
    assert run("use", "smoke", "--force").exit_code == 0
    assert PARAMS.read_text(encoding="utf-8") == SMOKE
    PARAMS.write_text(EDITED, encoding="utf-8")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["add", "params.yaml"], [*identity, "commit", "-q", "-m", "mine"]):
        subprocess.run(["git", *command], check=True)
    assert run("use", "smoke").exit_code == 0


def test_use_outside_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("use", "demo")
    assert (done.exit_code, "run adaptbert in the folder of the project" in done.stderr) == (78, True)
