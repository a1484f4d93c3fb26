"""adaptbert use, as a user calls it; tests/project/test_own_data.py has what it copies."""

import subprocess
from pathlib import Path

import pytest

from adaptbert.config.plan import read
from tests.support.commands import DEMO, run
from tests.support.imports import ROOT
from tests.support.messages import messages_in

IS_NOW = "params.yaml is now the preset '{}', and plan.json has its checkpoints and cells\n"
PARAMS = Path("params.yaml")
SMOKE = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")
EDITED = DEMO.replace("seed: 1 ", "seed: 7 ")


def test_use_writes_the_preset(project: Path) -> None:
    before = {*project.iterdir()}
    done = run("use", "smoke")
    assert (done.exit_code, done.output) == (0, IS_NOW.format("smoke") + "now run: adaptbert check\n")
    assert PARAMS.read_text(encoding="utf-8") == SMOKE
    assert list(read(project / "plan.json").domain_transfer) == ["domain-small-1"]
    assert {*project.iterdir()} == before


def test_use_without_a_folder_says_what_is_missing(project: Path) -> None:
    done = run("use", "weibo")
    assert done.exit_code == 0
    assert messages_in(done.output)[1] == (
        "still missing: AB-050 params.yaml: corpora.general.path: data/own/zh_general.jsonl.gz: no such file\n  "
        "put it there, or write where it is"
    )
    assert done.output.count("still missing") == 5


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["wiebo"], 78, "AB-099 presets: no preset 'wiebo' (did you mean 'weibo'?)\n  known:"),
        (
            ["smoke", "--data", "my files"],
            78,
            "preset 'smoke' brings its own text\n  leave --data out, or the preset, to bring the files alone: "
            "adaptbert use --data 'my files'",
        ),
        (
            ["weibo", "--data", "my files/a.jsonl.gz"],
            65,
            "AB-050 --data my files/a.jsonl.gz: is a file, not a folder\n  name the folder that holds your files; "
            "--data 'my files' takes all that lie there",
        ),
        ([], 78, "AB-099 presets: neither a preset nor --data was named\n  known presets: bio"),
    ],
)
def test_use_refuses_and_leaves_the_file(project: Path, arguments: list[str], code: int, message: str) -> None:
    (project / "my files").mkdir()
    (project / "my files/a.jsonl.gz").touch()
    before = {*project.iterdir()}
    done = run("use", *arguments)
    assert (done.exit_code, message in done.stderr) == (code, True), done.stderr
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
