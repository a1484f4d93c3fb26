"""A canary goes through everything that leaves a process, and appears nowhere."""

import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from adaptbert.runtime.mlflow import open_run
from adaptbert.runtime.redaction import redacted
from tests.runtime.test_stage import RECORDED
from tests.support.imports import ROOT
from tests.support.project import free_port

CANARY = "K@narien/vogel 1"
ENCODED = "K%40narien%2Fvogel%201"
ADDRESS = f"http://user:{ENCODED}@127.0.0.1"
SHOWN = ("narien", "vogel", b64encode(f"user:{CANARY}".encode()).decode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no answer from http://user:secret@host:5000/api", "no answer from http://***@host:5000/api"),
        ("postgresql+psycopg2://user:se@cret@host/db", "postgresql+psycopg2://***@host/db"),
        ("http://user:sec/ret@host/api", "http://***@host/api"),
        ("https://token@host", "https://***@host"),
        ("https:/user:secret@host/a.csv: no such file", "https:/***@host/a.csv: no such file"),
        ("GET /api?run=1&token=secret&step=2 failed", "GET /api?run=1&token=***&step=2 failed"),
        ("url: /x?X-Amz-Signature=secret", "url: /x?X-Amz-Signature=***"),
        ("Invalid token hf_abcdefghijklmnopqrstuvwx.", "Invalid token ***."),
        ("key AKIAIOSFODNN7EXAMPLE is unknown", "key *** is unknown"),
        ("http://host:5000/a?run=1 to sqlite:////srv/mlflow.db", ""),
        ("mail to a@b.example, tokens=5 in all", ""),
    ],
)
def test_what_looks_like_a_credential(text: str, expected: str) -> None:
    """Nothing for a text that stays as it is."""
    assert redacted(text, {}) == (expected or text)


@pytest.mark.parametrize(
    "variables",
    [
        {"MLFLOW_TRACKING_URI": f"http://user:{ENCODED}@host:5000"},
        {"SOME_STORE": f"see http://user:{CANARY.replace(' ', '')}@host"},
        {"MLFLOW_TRACKING_URI": f"http://user:{CANARY}@host:5000"},
        {"MLFLOW_TRACKING_URI": f"http://host:5000?api_token={ENCODED}"},
        {"MLFLOW_TRACKING_PASSWORD": CANARY},
        *({name: CANARY} for name in ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "PREFECT_API_AUTH_STRING")),
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_what_this_process_has(variables: dict[str, str]) -> None:
    """However a library quotes it."""
    (value,) = variables.values()
    forms = [CANARY, ENCODED] if CANARY in value or ENCODED in value else [CANARY.replace(" ", "")]
    for form in forms:
        assert redacted(f"401 for {form}, giving up", variables) == "401 for ***, giving up"
    if "@host" in value and ENCODED in value:
        assert redacted(f"Basic {SHOWN[2]}", variables) == "Basic ***"


def test_a_stage_whose_server_is_dead_and_that_raises(project: Path) -> None:
    command = [sys.executable, "-c", RECORDED, "--base", "small", "--corpus", "broken", "--out", "out"]
    env = {**os.environ, "MLFLOW_TRACKING_URI": f"{ADDRESS}:{free_port()}", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
    ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120)
    printed = ran.stdout + ran.stderr
    assert "warning: MLflow failed (" in printed
    assert ("Traceback" in printed, ran.returncode) == (True, 1)
    assert not [form for form in SHOWN if form in printed]
    assert not holding(project)


def test_the_record(project: Path, mlflow_tables: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of libraries become tags and params; the data base and the artifacts are searched whole."""
    (project / "mlflow.db").write_bytes(mlflow_tables)
    monkeypatch.setenv("HF_TOKEN", CANARY)
    with open_run("finetune", {"task": "section"}, {"path": f"{ADDRESS}/rows.csv"}, Path("params.yaml")) as run:
        run.set_tags({"diverged": f"{ADDRESS} said no to {CANARY}"})
    assert b"http://***@127.0.0.1 said no to ***" in (project / "mlflow.db").read_bytes()
    assert not holding(project)


@pytest.mark.slow
def test_the_flow_whose_server_is_dead(project: Path) -> None:
    """One line, and no traceback of Prefect's."""
    (project / ".dvc").mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_API_URL": f"{ADDRESS}:{free_port()}/api"}
    command = [sys.executable, "-m", "flows.recipe"]
    ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=240)
    printed = ran.stdout + ran.stderr
    assert ran.returncode == 75, printed
    assert "error: the Prefect server does not answer (" in printed
    assert "Traceback" not in printed
    assert not [form for form in SHOWN if form in printed]


def holding(folder: Path) -> list[Path]:
    """Files in which a form of the canary stands."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if any(form.encode() in path.read_bytes() for form in SHOWN)]
