"""adaptbert doctor: what it says of a machine."""

import re
from pathlib import Path

import pytest

from adaptbert.project import doctor
from adaptbert.project.doctor import Finding
from tests.support.commands import run
from tests.support.processors import ON_CPU, SLOW, processor


@pytest.mark.parametrize(
    ("finding", "verdict", "remedy"),
    [
        (doctor.room(10 * 2**30), "ok", ""),
        (doctor.room(2 * 2**30), "warn", "dvc cache dir"),
        (doctor.room(2**20), "FAIL", "free some"),
        (doctor.record("sqlite:////srv/mlflow.db"), "ok", ""),
        (doctor.record("https://user:secret@example.org"), "ok", ""),
        (doctor.record("./mlruns"), "FAIL", "unset MLFLOW_TRACKING_URI"),
        (doctor.record("file:///srv/mlruns"), "FAIL", "unset MLFLOW_TRACKING_URI"),
    ],
)
def test_findings(finding: Finding, verdict: str, remedy: str) -> None:
    assert (finding.verdict, remedy in finding.remedy) == (verdict, True), finding
    assert "secret" not in finding.observed


def test_doctor_fails_where_the_recipe_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "./mlruns")
    done = run("doctor")
    assert done.exit_code == 1
    assert done.output.count("│ FAIL │") == 2, "no repository, a store that MLflow refuses"
    assert re.fullmatch(r"FAIL 2, warn \d of 5: the last column says what to do", done.output.splitlines()[-1])
    assert not list(tmp_path.iterdir())


@ON_CPU
def test_doctor_says_what_precision_auto_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    processor(monkeypatch, SLOW)
    assert [*doctor.device()][-1].observed.startswith("auto takes 32-true: float32 3.3 times as fast as bf16 here")
