"""Where the store lies, where the code stood, and how a run is called; test_mlflow.py has the name of a recipe."""

import subprocess
from pathlib import Path

import pytest

from adaptbert.runtime.origin import origin, run_name, tracking_uri


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
