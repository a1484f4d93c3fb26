"""Which preset a params.yaml is, where the code stood, and how a run is called."""

import subprocess
from pathlib import Path

import pytest

from adaptbert.project import presets
from adaptbert.runtime.origin import OWN, origin, preset_name, run_name, tracking_uri

NAMES = sorted(path.stem for path in presets.FOLDER.glob("*.yaml"))


@pytest.fixture
def params(tmp_path: Path) -> Path:
    return tmp_path / "params.yaml"


def test_every_preset_is_known_by_its_name(params: Path) -> None:
    for name in NAMES:
        params.write_text(presets.text(name, None), encoding="utf-8")
        assert preset_name(params) == name


@pytest.mark.parametrize("folder", ['"/srv/text', '"../shared', "data/moved"])
def test_data_may_lie_elsewhere(folder: str, params: Path) -> None:
    quote = '"' if folder.startswith('"') else ""
    lines = presets.text("weibo", None).splitlines()
    named = [": data/own/" in line for line in lines]
    moved = [line.replace("data/own", folder) + quote * there for line, there in zip(lines, named, strict=True)]
    assert moved != lines
    params.write_text("\n".join(moved), encoding="utf-8")
    assert preset_name(params) == "weibo"


def test_comments_are_not_looked_at_and_values_are(params: Path, tmp_path: Path) -> None:
    text = presets.text("smoke", None)
    params.write_text("# mine\n\n" + text.replace("  epochs: 2\n", "  epochs: 2  # enough\n"), encoding="utf-8")
    assert preset_name(params) == "smoke"
    assert preset_name(params, tmp_path / "nowhere") == OWN, "without presets"
    params.write_text(text.replace("epochs: 2", "epochs: 3", 1), encoding="utf-8")
    assert preset_name(params) == OWN


@pytest.mark.parametrize(
    ("inside_of", "expected"),
    [("below/deeper", "below/deeper"), (".dvc/tmp/exps/standalone/tmpabc", "."), ("a/.dvc/tmp/exps/celery/run1", "a")],
)
def test_the_store_is_the_project_s_also_from_an_experiment_s_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside_of: str, expected: str
) -> None:
    (tmp_path / inside_of).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / inside_of)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert tracking_uri() == f"sqlite:///{(tmp_path / expected).resolve()}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://elsewhere:5000")
    assert tracking_uri() == "http://elsewhere:5000"


def test_where_the_code_stood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "git.commit" not in origin("compare"), "not a repository"
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "test")
        monkeypatch.setenv(f"{name}_EMAIL", "test")
    (tmp_path / "file").write_text("a")
    for command in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "a"]):
        subprocess.run(["git", *command], check=True)
    clean = origin("compare")
    assert (len(clean["git.commit"]), clean["git.dirty"]) == (40, "false")
    (tmp_path / "file").write_text("b")
    monkeypatch.setenv("DVC_STAGE", "compare")
    changed = origin("compare")
    assert (changed["git.commit"], changed["git.dirty"]) == (clean["git.commit"], "true")
    note = changed["mlflow.note.content"]
    assert note.startswith("Stage `compare` at commit ")
    assert "that are not committed. To run it again: `dvc repro --force --single-item compare`" in note


CELL = {"task": "section", "arm": "domain_task", "base": "small", "replicate": "1"}


@pytest.mark.parametrize(
    ("stage", "labels", "dvc_stage", "expected"),
    [
        ("finetune", CELL, "finetune@section-domain_task-small-1", "domain_task section small-1"),
        ("finetune", CELL | {"replicate": "0"}, "finetune@section-domain_task-small", "domain_task section small"),
        ("task_transfer", {}, "task_transfer@section-domain-small-1", "task_transfer section-domain-small-1"),
        ("domain_transfer", {"corpus": "domain", "base": "small"}, "", "domain_transfer domain small"),
        ("compare", {}, "compare", "compare"),
    ],
)
def test_names_of_runs(
    stage: str, labels: dict[str, str], dvc_stage: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_STAGE", dvc_stage)
    assert run_name(stage, labels) == expected
