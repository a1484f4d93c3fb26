"""A run whose process was killed, or lost the store, does not stay RUNNING: the next stage marks it as incomplete."""

import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adaptbert.runtime.tracking.run import open_run
from tests.support.project import free_port
from tests.support.stores import LINE, SLACK, environment, mlflow_server, runs, stage, statuses


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    return tmp_path


def started(code: str, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
    """A process that runs this, up to the line `begun`; then it waits for a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environment(**variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert next(iter(process.stdout or [])) == "begun\n"
    return process


def test_a_locked_file_and_the_run_left_open_there(inside: Path, mlflow_tables: bytes) -> None:
    """Another process holds the project's mlflow.db in the middle of a run; the next stage ends the run."""
    (inside / "mlflow.db").write_bytes(mlflow_tables)
    code = (
        "import sqlite3; from pathlib import Path; from adaptbert.runtime.tracking.run import open_run\n"
        "with open_run('finetune', {}, {}, Path('params.yaml'), 10.0) as run:\n"
        "    run.log_metrics({'a': 1.0})\n"
        "    with run.child('seed 1', {}) as child:\n"
        "        child.go_on(Path('work'))\n"
        "        run._recorder.wait()\n"
        "        print('begun', flush=True)\n"
        "        input()\n"
    )
    process = started(code)
    began = time.monotonic()
    with sqlite3.connect(inside / "mlflow.db") as locked:
        locked.execute("BEGIN EXCLUSIVE")
        _, errors = process.communicate("\n", timeout=60)
        locked.rollback()
    locked.close()
    assert time.monotonic() - began < 10.0 + SLACK
    assert process.returncode == 0
    assert errors == f"{LINE}its calls took more than 10 seconds); the stage goes on without tracking\n"
    assert statuses(inside) == {"finetune": "RUNNING", "seed 1": "RUNNING"}

    next(inside.glob(".work/mlflow/*/down")).unlink()
    stage(20.0, "compare")
    ended = {run.info.run_name: run for run in runs(inside) if run.info.run_name in ("finetune", "seed 1")}
    assert {name: run.info.status for name, run in ended.items()} == {"finetune": "KILLED", "seed 1": "KILLED"}
    assert all(run.data.tags["record"] == "incomplete" for run in ended.values())
    assert all(run.info.end_time is not None for run in ended.values())
    assert not list(inside.glob(".work/mlflow/*/*.run")), "ended once"

    with open_run("finetune", {}, {}, Path("params.yaml"), 20.0) as run, run.child("seed 1", {}) as child:
        child.go_on(Path("work"))
    (resumed,) = [run for run in runs(inside) if "resumed" in run.data.tags]
    assert (resumed.info.status, resumed.data.tags["record"]) == ("FINISHED", "incomplete"), "points may be missing"


@pytest.mark.slow
def test_the_run_of_a_killed_process_is_ended_and_a_living_one_is_left(inside: Path, mlflow_tables: bytes) -> None:
    (inside / "mlflow.db").write_bytes(mlflow_tables)
    code = (
        "import sys; from pathlib import Path; from adaptbert.runtime.tracking.run import open_run\n"
        "with open_run(sys.argv[1], {}, {}, Path('params.yaml')) as run:\n"
        "    run.set_tags({'a': 'b'})\n"
        "    print('begun', flush=True)\n"
        "    input()\n"
    )
    killed, living = started(code, "killed"), started(code, "living")
    killed.kill()
    killed.communicate()
    assert statuses(inside) == {"killed": "RUNNING", "living": "RUNNING"}
    stage(20.0, "compare")
    assert {"killed": "KILLED", "living": "RUNNING"}.items() <= statuses(inside).items()
    living.communicate("\n", timeout=60)
    assert statuses(inside)["living"] == "FINISHED"


@pytest.mark.slow
def test_a_server_that_comes_back(inside: Path, mlflow_tables: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """MLflow's own server, killed in the middle of a run of another process and started again."""
    (inside / "mlflow.db").write_bytes(mlflow_tables)
    port = free_port()
    code = (
        "from pathlib import Path; from adaptbert.runtime.tracking.run import open_run\n"
        "with open_run('finetune', {}, {}, Path('params.yaml'), 20.0) as run:\n"
        "    run.log_metrics({'a': 1.0}); run.set_tags({'a': 'b'}); run._recorder.wait()\n"
        "    print('begun', flush=True); input()\n"
        "    run.set_tags({'c': 'd'})\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
        with mlflow_server(inside, port) as server:
            process = started(code, MLFLOW_TRACKING_URI=f"http://127.0.0.1:{port}")
            server()
            _, errors = process.communicate("\n", timeout=60)
            assert errors.startswith(LINE)
        next(inside.glob(".work/mlflow/*/down")).unlink()
        with mlflow_server(inside, port):
            stage(20.0, "compare")
    assert capfd.readouterr().err == ""
    (incomplete,) = [run for run in runs(inside) if run.info.run_name == "finetune"]
    assert (incomplete.info.status, incomplete.data.tags["record"]) == ("KILLED", "incomplete")
    assert statuses(inside) == {
        "finetune": "KILLED",
        "compare section": "FINISHED",
        "seed 1": "FINISHED",
        "seed 2": "FINISHED",
    }
