"""A store that is slow, silent, busy or gone costs a stage seconds and one line. The servers are real, small ones."""

import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from adaptbert.runtime.mlflow import EXPERIMENT, Run, open_run
from tests.support.project import free_port, wait_until
from tests.support.stores import environment, runs, statuses

LINE = "warning: MLflow did not answer ("
SLACK = 15.0


class Server(BaseHTTPRequestHandler):
    """What a client of MLflow needs to hear to record a run."""

    protocol_version = "HTTP/1.1"
    artifacts = ""

    def answer(self) -> None:
        info = {"run_id": uuid4().hex, "experiment_id": "1", "status": "RUNNING", "lifecycle_stage": "active"}
        info["artifact_uri"] = self.artifacts
        experiment = {"experiment_id": "1", "name": EXPERIMENT, "lifecycle_stage": "active"}
        self.send(200, {"experiment": experiment, "run": {"info": info, "data": {}}, "runs": []})

    def send(self, status: int, values: object, **headers: str) -> None:
        body = json.dumps(values).encode()
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.answer()

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


Answer = Callable[[Any], None]


def dying() -> Answer:
    """It gives eight answers."""
    left = iter(range(8))
    return lambda server: server.connection.close() if next(left, None) is None else Server.answer(server)


BAD: dict[str, Callable[[], Answer | None]] = {
    "refused": lambda: None,
    "deaf": lambda: lambda server: time.sleep(3600),
    "broken": lambda: lambda server: server.send(500, {"error_code": "INTERNAL_ERROR", "message": "out of order"}),
    "limited": lambda: lambda server: server.send(429, {"message": "later"}, Retry_After="180"),
    "dying": dying,
}


@contextmanager
def serving(answer: Answer | None = Server.answer) -> Iterator[str]:
    """The address; nobody listens there where there is no answer."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: object) -> None:
            pass

    with Quiet(("127.0.0.1", 0), type("Kind", (Server,), {"answer": answer})) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port if answer else free_port()}"
        finally:
            server.shutdown()


def stage(seconds: float, name: str = "finetune") -> float:
    """A stage with two seeds and no work; how long it took."""
    began = time.monotonic()
    with open_run(name, {"task": "section"}, {"a": 1}, Path("params.yaml"), seconds) as run:
        for seed in (1, 2):
            with run.child(f"seed {seed}", {}) as child:
                child.log_metrics({"loss": 1.0}, 1)
        run.log_artifact(Path("params.yaml"))
    return time.monotonic() - began


def made(run: Run) -> None:
    """Wait until every call so far is made."""
    done = threading.Event()
    run._call(lambda _: done.set())
    assert done.wait(60)


def begun(body: str, stage: str) -> "subprocess.Popen[str]":
    """A process with a run in which `body` is executed; it has printed `begun`, and then waits for a line."""
    code = (
        "from pathlib import Path; from adaptbert.runtime.mlflow import open_run\n"
        "from tests.runtime.test_mlflow_failures import made\n"
        f"with open_run({stage!r}, {{}}, {{}}, Path('params.yaml'), 10.0) as run:\n{body}"
    )
    pipe, command = subprocess.PIPE, [sys.executable, "-c", code]
    process = subprocess.Popen(command, env=environment(), stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert next(iter(process.stdout or [])) == "begun\n"
    return process


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(Server, "artifacts", (tmp_path / "artifacts").as_uri())
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    return tmp_path


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_server_costs_limited_time_and_one_line(
    inside: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    """And the stages that begin in the next minutes none at all, unless they have another store."""
    with serving(BAD[kind]()) as uri, serving() as another:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        assert stage(1.0) < 1.0 + SLACK
        (line,) = capfd.readouterr().err.splitlines()
        assert line.startswith(LINE)
        assert line.endswith("); the stage goes on without tracking")

        assert stage(5.0, "compare") < 2.5
        (line,) = capfd.readouterr().err.splitlines()
        assert line.startswith("warning: no tracking until ")
        assert "; to try again now: rm .work/mlflow/" in line

        monkeypatch.setenv("MLFLOW_TRACKING_URI", another)
        stage(20.0)
        assert capfd.readouterr().err == ""

        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        Path(line.rpartition(" rm ")[2]).unlink()
        assert stage(0.5) < 0.5 + SLACK
        assert capfd.readouterr().err.startswith(LINE), "the store was tried"


def test_training_does_not_wait_for_a_slow_server(
    inside: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Calls are made while the stage works, however long that takes; only its end waits for a limited time."""
    may_answer = threading.Event()
    may_answer.set()
    answered: list[str] = []

    def held(server: Server) -> None:
        may_answer.wait(60)
        answered.append(server.path)
        Server.answer(server)

    with serving(held) as uri:
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


@pytest.mark.parametrize("kind", ["refused", "deaf"])
def test_a_process_ends_with_its_stage_and_prints_one_line(inside: Path, kind: str) -> None:
    """DVC waits for the process, also when a call hangs; what MLflow and urllib3 would print is left out."""
    code = (
        "import logging, sys, time; from pathlib import Path; from adaptbert.runtime.mlflow import open_run\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout)\n"  # as in every stage
        "import mlflow; began = time.monotonic()\n"
        "with open_run('finetune', {}, {}, Path('params.yaml'), 4.0) as run: run.log_metrics({'a': 1.0})\n"
        "print(time.monotonic() - began, time.time())"
    )
    with serving(BAD[kind]()) as uri:
        command, env = [sys.executable, "-c", code], environment(MLFLOW_TRACKING_URI=uri)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    seconds, ended = map(float, done.stdout.split())
    assert seconds < 4.0 + SLACK
    assert time.time() - ended < SLACK
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert done.stderr.startswith(LINE)


def test_a_folder_in_the_place_of_the_file(inside: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Not the hundred seconds of MLflow, which counts on a store that comes back."""
    (inside / "mlflow.db").mkdir()
    stage(20.0)
    assert capfd.readouterr().err == f"{LINE}mlflow.db is no file); the stage goes on without tracking\n"


@pytest.mark.slow
def test_stages_that_begin_together_in_a_new_project(inside: Path) -> None:
    """The tables take longer than a stage may wait; one stage makes them and no tracking stops."""
    code = (
        "import sys; from pathlib import Path; from adaptbert.runtime.mlflow import open_run\n"
        "with open_run(sys.argv[1], {}, {}, Path('params.yaml'), 12.0) as run: run.set_tags({'a': 'b'})\n"
    )
    names = ["collect a", "collect b", "collect c"]
    together = [
        subprocess.Popen([sys.executable, "-c", code, name], cwd=inside, env=environment(), stderr=subprocess.PIPE)
        for name in names
    ]
    assert [process.communicate(timeout=240)[1] for process in together] == [b"", b"", b""]
    assert statuses(inside) == dict.fromkeys(names, "FINISHED")
    assert [run.data.tags.get("stage") for run in runs(inside)].count("recipe") == 1


# A run whose process was killed, or lost the store, does not stay RUNNING: the next stage marks it as incomplete.


def test_a_locked_file_and_the_run_left_open_there(inside: Path, mlflow_tables: bytes) -> None:
    """Another process holds the project's mlflow.db in the middle of a run; the next stage ends the run."""
    (inside / "mlflow.db").write_bytes(mlflow_tables)
    body = (
        "    with run.child('seed 1', {}) as child:\n"
        "        child.go_on(Path('work')); made(run); print('begun', flush=True); input()\n"
    )
    process = begun(body, "finetune")
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


WAITING = "    made(run); print('begun', flush=True); input()\n"


def test_the_run_of_a_killed_process_is_ended_and_that_of_a_live_one_is_not(inside: Path, mlflow_tables: bytes) -> None:
    (inside / "mlflow.db").write_bytes(mlflow_tables)
    killed, living = begun(WAITING, "killed"), begun(WAITING, "living")
    killed.kill()
    killed.communicate()
    assert statuses(inside) == {"killed": "RUNNING", "living": "RUNNING"}
    stage(20.0, "compare")
    assert {"killed": "KILLED", "living": "RUNNING"}.items() <= statuses(inside).items()
    living.communicate("\n", timeout=60)
    assert statuses(inside)["living"] == "FINISHED"
