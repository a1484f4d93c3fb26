"""A store that is slow, silent, busy or gone costs a stage seconds and one line. The servers are real, small ones."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from adaptbert.runtime.tracking.run import Run, open_run
from tests.support.project import free_port, wait_until
from tests.support.stores import (
    LINE,
    SLACK,
    Broken,
    Deaf,
    Dying,
    Limited,
    Server,
    Slow,
    environment,
    mlflow_server,
    run_python,
    runs,
    serving,
    stage,
    statuses,
)


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(Server, "artifacts", (tmp_path / "artifacts").as_uri())
    monkeypatch.setattr(Dying, "left", 8)
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    return tmp_path


@pytest.mark.parametrize(
    "kind", [None, Deaf, Broken, Limited, Slow, Dying], ids=lambda kind: kind.__name__ if kind else "Refused"
)
def test_a_bad_server_costs_limited_time_and_one_line(
    inside: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    kind: type[Server] | None,
) -> None:
    """And the stages that begin in the next minutes none at all."""
    seconds = 1.0
    with serving(kind or Server) as uri:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri if kind else f"http://127.0.0.1:{free_port()}")
        assert stage(seconds) < seconds + SLACK
        (line,) = capfd.readouterr().err.splitlines()
        assert line.startswith(LINE)
        assert line.endswith("); the stage goes on without tracking")

        assert stage(5.0, "compare") < 2.5
        (line,) = capfd.readouterr().err.splitlines()
        assert line.startswith("warning: no tracking until ")
        assert "; to try again now: rm .work/mlflow/" in line

        Path(line.rpartition(" rm ")[2]).unlink()
        assert stage(0.5) < 0.5 + SLACK
        assert capfd.readouterr().err.startswith(LINE), "the store was tried"


def made(run: Run) -> None:
    """Wait until every call so far is made."""
    done = threading.Event()
    run._call(lambda _: done.set())
    assert done.wait(60)


def test_another_store_is_used_meanwhile(
    inside: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{free_port()}")
    stage(0.1)
    with serving(Server) as uri:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        capfd.readouterr()
        stage(20.0)
        assert capfd.readouterr().err == ""


def test_training_does_not_wait_for_a_slow_server(
    inside: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Calls are made while the stage works, however long that takes; only its end waits for a limited time."""
    may_answer = threading.Event()
    may_answer.set()
    answered: list[str] = []

    class Held(Server):
        def answer(self) -> None:
            may_answer.wait(60)
            answered.append(self.path)
            super().answer()

    with serving(Held) as uri:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        with open_run("pretrain", {}, {}, Path("params.yaml"), 3.0) as run:
            made(run)
            may_answer.clear()
            before = len(answered)
            for step in range(30):
                run.log_metrics({"loss": 1.0}, step)
                run.flush()
            assert len(answered) <= before + 1, "thirty calls came back before the server answered any of them"
            time.sleep(3.5)
            may_answer.set()
            wait_until(lambda: len(answered) >= before + 30, 60)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", [None, Deaf], ids=["Refused", "Deaf"])
def test_a_process_ends_with_its_stage_and_prints_one_line(inside: Path, kind: type[Server] | None) -> None:
    """DVC waits for the process, also when a call hangs; what MLflow and urllib3 would print is left out."""
    code = (
        "import logging, sys, time; from pathlib import Path; from adaptbert.runtime.tracking.run import open_run\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout)\n"  # as in every stage
        "import mlflow; began = time.monotonic()\n"
        "with open_run('finetune', {}, {}, Path('params.yaml'), 4.0) as run: run.log_metrics({'a': 1.0})\n"
        "print(time.monotonic() - began, time.time())"
    )
    with serving(kind or Server) as uri:
        done = run_python(code, MLFLOW_TRACKING_URI=uri if kind else f"http://127.0.0.1:{free_port()}")
    seconds, ended = map(float, done.stdout.split())
    assert seconds < 4.0 + SLACK
    assert time.time() - ended < SLACK
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert done.stderr.startswith(LINE)


@pytest.mark.slow
def test_stages_that_begin_together_in_a_new_project(inside: Path) -> None:
    """The tables take longer than a stage may wait; one stage makes them and no tracking stops."""
    code = (
        "import sys; from pathlib import Path; from adaptbert.runtime.tracking.run import open_run\n"
        "with open_run(sys.argv[1], {}, {}, Path('params.yaml'), 12.0) as run: run.set_tags({'a': 'b'})\n"
    )
    names = ["collect a", "collect b", "collect c"]
    started = [
        subprocess.Popen([sys.executable, "-c", code, name], cwd=inside, env=environment(), stderr=subprocess.PIPE)
        for name in names
    ]
    assert [process.communicate(timeout=240)[1] for process in started] == [b"", b"", b""]
    assert statuses(inside) == dict.fromkeys(names, "FINISHED")
    assert [run.data.tags.get("stage") for run in runs(inside)].count("recipe") == 1


# ---- a run whose process was killed, or lost the store, does not stay RUNNING: the next stage marks it as incomplete


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
        "from pathlib import Path; from adaptbert.runtime.tracking.run import open_run\n"
        "from tests.runtime.tracking.test_record import made\n"
        "with open_run('finetune', {}, {}, Path('params.yaml'), 10.0) as run:\n"
        "    run.log_metrics({'a': 1.0})\n"
        "    with run.child('seed 1', {}) as child:\n"
        "        child.go_on(Path('work'))\n"
        "        made(run)\n"
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
    ended = [run.info for run in runs(inside) if run.data.tags.get("record") == "incomplete"]
    assert {info.run_name: info.status for info in ended} == {"finetune": "KILLED", "seed 1": "KILLED"}
    assert all(info.end_time is not None for info in ended)
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
        "from tests.runtime.tracking.test_record import made\n"
        "with open_run(sys.argv[1], {}, {}, Path('params.yaml')) as run:\n"
        "    made(run)\n"
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
        "from tests.runtime.tracking.test_record import made\n"
        "with open_run('finetune', {}, {}, Path('params.yaml'), 20.0) as run:\n"
        "    run.log_metrics({'a': 1.0}); run.set_tags({'a': 'b'}); made(run)\n"
        "    print('begun', flush=True); input()\n"
        "    run.set_tags({'c': 'd'})\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
        with mlflow_server(inside, port) as server:
            process = started(code, MLFLOW_TRACKING_URI=f"http://127.0.0.1:{port}")
            os.killpg(server.pid, signal.SIGKILL)
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
