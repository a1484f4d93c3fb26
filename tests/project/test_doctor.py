"""adaptbert doctor: what it says of a machine."""

import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from adaptbert.cli import app
from adaptbert.model.precision import BF16, Speeds
from adaptbert.project import doctor
from adaptbert.project.doctor import Finding, Verdict
from tests.support.processors import FAST, ON_CPU, SLOW, processor


def test_doctor_finds_this_machine_good() -> None:
    """The suite runs where the recipe would: nothing may be wrong but room and device."""
    findings = list(doctor.examine())
    bad = [finding for finding in findings if finding.verdict is Verdict.FAIL and finding.what != "disk"]
    assert bad == []
    seen = {finding.what for finding in findings}
    assert {"python", "torch", "fastapi", "disk", "MLflow", "device", "DVC repository", "write to ./"} <= seen
    assert "ruff" not in seen, "extras are not needed to run"


@pytest.mark.parametrize(
    ("finding", "verdict", "remedy"),
    [
        (doctor.python("3.11.7", ">=3.11,<3.14"), Verdict.OK, ""),
        (doctor.python("3.14.0", ">=3.11,<3.14"), Verdict.FAIL, "Python >=3.11,<3.14"),
        (doctor.package(Requirement("fastapi>=0.139,<0.151"), "0.149.0"), Verdict.OK, ""),
        (
            doctor.package(Requirement("fastapi>=0.139,<0.151"), "0.153.0"),
            Verdict.FAIL,
            "pip install -c constraints.txt",
        ),
        (doctor.package(Requirement("pytorch-lightning>=2.6.6"), "2.6.3"), Verdict.FAIL, ">=2.6.6"),
        (doctor.package(Requirement("torch>=2.11"), None), Verdict.FAIL, "pip install"),
        (doctor.package(Requirement("torch>=2.11"), "2.13.0+cpu"), Verdict.OK, ""),
        (doctor.one_lightning("2.6.6"), Verdict.WARN, "pip uninstall lightning"),
        (doctor.one_lightning(None), Verdict.OK, ""),
        (doctor.room(10 * 2**30), Verdict.OK, ""),
        (doctor.room(2 * 2**30), Verdict.WARN, "dvc cache dir"),
        (doctor.room(2**20), Verdict.FAIL, "free some"),
        (doctor.record("sqlite:////srv/mlflow.db"), Verdict.OK, ""),
        (doctor.record("https://user:secret@example.org"), Verdict.OK, ""),
        (doctor.record("./mlruns"), Verdict.FAIL, "unset MLFLOW_TRACKING_URI"),
        (doctor.record("file:///srv/mlruns"), Verdict.FAIL, "unset MLFLOW_TRACKING_URI"),
    ],
)
def test_findings(finding: Finding, verdict: Verdict, remedy: str) -> None:
    assert (finding.verdict, remedy in finding.remedy) == (verdict, True), finding
    assert "secret" not in finding.observed


def test_doctor_looks_at_the_environment() -> None:
    telemetry, hub = doctor.environment({"DO_NOT_TRACK": "false", "HF_HUB_OFFLINE": "1"})
    assert (telemetry.verdict, telemetry.observed) == (Verdict.WARN, "you set DO_NOT_TRACK")
    assert hub.observed == "offline (HF_HUB_OFFLINE)"
    telemetry, hub = doctor.environment({})
    assert (telemetry.verdict, hub.observed) == (Verdict.OK, "used where params.yaml names it")


def test_doctor_fails_where_the_recipe_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "./mlruns")
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert done.output.count("│ FAIL │") == 2, "no repository, a store that MLflow refuses"
    assert re.fullmatch(r"FAIL 2, warn \d of \d+: the last column says what to do", done.output.splitlines()[-1])
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="modes")
def test_doctor_sees_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Root may write everywhere, and tests often run as root.
    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    (finding,) = doctor.writable(iter([tmp_path]))
    assert (finding.verdict, finding.observed) == (Verdict.FAIL, "Permission denied")


@ON_CPU
@pytest.mark.parametrize(
    ("measurement", "flags", "fixed", "verdict", "text", "remedy"),
    [
        (FAST, "fpu avx512_bf16", [], Verdict.OK, "here (200 and 100 GFLOP/s on one core)", ""),
        (FAST, "fpu avx2", [], Verdict.OK, "on one core), though the system lists no instructions for bf16", ""),
        (FAST, None, ["pretrain.precision"], Verdict.OK, "auto takes bf16-mixed: bf16 2.0 times as fast as", ""),
        (SLOW, "fpu avx2", [], Verdict.OK, "auto takes 32-true: float32 3.3 times as fast as bf16 here", ""),
        (SLOW, "fpu bf16", [], Verdict.OK, "on one core), though the system lists instructions for bf16", ""),
        (
            SLOW,
            None,
            ["pretrain.precision", "finetune.section.precision"],
            Verdict.WARN,
            "here (30 and 100 GFLOP/s on one core)",
            "write auto: params.yaml fixes bf16-mixed in pretrain.precision, finetune.section.precision",
        ),
    ],
)
def test_doctor_says_what_precision_auto_takes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    measurement: Speeds,
    flags: str | None,
    fixed: list[str],
    verdict: Verdict,
    text: str,
    remedy: str,
) -> None:
    processor(monkeypatch, measurement)
    monkeypatch.setattr(doctor, "CPU_FLAGS", tmp_path / "cpuinfo")
    for variable in doctor.ISA_LIMITS:
        monkeypatch.delenv(variable, raising=False)
    if flags is not None:
        (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n", encoding="utf-8")
    finding = doctor.precision(fixed)
    assert (finding.verdict, finding.remedy) == (verdict, remedy)
    assert finding.observed.endswith(text) or finding.observed.startswith(text)


def test_doctor_reads_which_precisions_are_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "params.yaml"
    assert doctor.fixed(file, BF16) == [], "none yet"
    file.write_text("pretrain: {precision: auto}\nfinetune: {a: {precision: bf16-mixed}}\n", encoding="utf-8")
    assert doctor.fixed(file, BF16) == ["finetune.a.precision"]
    file.write_text("pretrain: [", encoding="utf-8")
    assert doctor.fixed(file, BF16) == [], "`check` tells what is wrong with it"
