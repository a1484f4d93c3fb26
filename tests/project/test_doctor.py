"""adaptbert doctor: what it says of a machine."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from adaptbert.model.device import Speeds
from adaptbert.project import doctor
from adaptbert.project.doctor import Finding
from tests.support.commands import run
from tests.support.processors import FAST, ON_CPU, SLOW, processor


def test_doctor_finds_this_machine_good() -> None:
    """The suite runs where the recipe would: nothing may be wrong but room and device."""
    findings = list(doctor.examine())
    assert [finding for finding in findings if finding.verdict == "FAIL" and finding.what != "disk"] == []
    seen = {finding.what for finding in findings}
    assert {"python", "packages", "disk", "MLflow", "device", "precision", "DVC repository", "write to ./"} <= seen


@pytest.mark.parametrize(
    ("finding", "verdict", "remedy"),
    [
        (doctor.python("3.11.7", ">=3.11,<3.14"), "ok", ""),
        (doctor.python("3.14.0", ">=3.11,<3.14"), "FAIL", "Python >=3.11,<3.14"),
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


def test_packages_that_do_not_fit_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"fastapi": "0.153.0", "torch": "2.13.0+cpu", "pytorch-lightning": None}
    monkeypatch.setattr(doctor, "_installed", versions.get)
    required = [Requirement(line) for line in ("fastapi>=0.139,<0.151", "torch>=2.11", "pytorch-lightning>=2.6.6")]
    assert [each[:3] for each in doctor.packages(required)] == [
        ("FAIL", "fastapi", "0.153.0"),
        ("FAIL", "pytorch-lightning", "not installed"),
    ]
    assert [each.verdict for each in doctor.packages(required[1:2])] == ["ok"]


def test_doctor_fails_where_the_recipe_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "./mlruns")
    done = run("doctor")
    assert done.exit_code == 1
    assert done.output.count("│ FAIL │") == 2, "no repository, a store that MLflow refuses"
    assert re.fullmatch(r"FAIL 2, warn \d of \d+: the last column says what to do", done.output.splitlines()[-1])
    assert not list(tmp_path.iterdir())


def test_doctor_sees_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Root may write everywhere, and tests often run as root.
    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    (finding,) = doctor.writable(iter([tmp_path]))
    assert (finding.verdict, finding.observed) == ("FAIL", "Permission denied")


@ON_CPU
@pytest.mark.parametrize(
    ("measurement", "text"),
    [
        (FAST, "auto takes bf16-mixed: bf16 2.0 times as fast as"),
        (SLOW, "auto takes 32-true: float32 3.3 times as fast as bf16 here"),
    ],
)
def test_doctor_says_what_precision_auto_takes(monkeypatch: pytest.MonkeyPatch, measurement: Speeds, text: str) -> None:
    processor(monkeypatch, measurement)
    assert [*doctor.device()][-1].observed.startswith(text)
