"""A store that is slow, silent, busy or gone costs a stage seconds and one line. The servers are real, small ones."""

import json
import os
import random
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import requests

from adaptbert.runtime.mlflow import EXPERIMENT, SECONDS, Run, Store, open_run
from tests.support.project import free_port, wait_until
from tests.support.stores import client, environment, runs, statuses

LINE = "warning: MLflow failed ("
ENOUGH = 250.0
"""Seconds for any machine to make all calls in."""


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
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port if answer else free_port()}"
        finally:
            server.shutdown()


def stage(seconds: float = ENOUGH, name: str = "finetune") -> None:
    """A stage with two seeds and no work."""
    with open_run(name, {"task": "section"}, {"a": 1}, Path("params.yaml"), seconds) as run:
        for seed in (1, 2):
            with run.child(f"seed {seed}", {}) as child:
                child.log_metrics({"loss": 1.0}, 1)
        run.log_artifact(Path("params.yaml"))


def made(run: Run) -> None:
    """Wait until every call so far is made."""
    done = threading.Event()
    run._call(lambda _: done.set())
    assert done.wait(ENOUGH)


def begun(body: str, stage: str, seconds: float = ENOUGH) -> "subprocess.Popen[str]":
    """A process with a run in which `body` is executed; it has printed `begun`, and then waits for a line."""
    code = (
        "from pathlib import Path; from adaptbert.runtime.mlflow import open_run\n"
        "from tests.runtime.test_mlflow_failures import made\n"
        f"with open_run({stage!r}, {{}}, {{}}, Path('params.yaml'), {seconds}) as run:\n{body}"
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


@dataclass
class Spent:
    """On what this process spends time because of MLflow, whatever the clock says.

    Attributes:
        waits: how long it is ready to wait for the thread that calls it.
        here: calls of the store that it makes itself.
    """

    waits: list[float | None]
    here: list[str]


@pytest.fixture
def spent(monkeypatch: pytest.MonkeyPatch) -> Spent:
    seen, join, send = Spent([], []), threading.Thread.join, requests.Session.send

    def joined(thread: threading.Thread, timeout: float | None = None) -> None:
        if thread.name == "mlflow":
            seen.waits.append(timeout)
        join(thread, timeout)

    def sent(session: requests.Session, request: Any, **options: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            seen.here.append(request.url)
        return send(session, request, **options)

    monkeypatch.setattr(threading.Thread, "join", joined)
    monkeypatch.setattr(requests.Session, "send", sent)
    return seen


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_server_costs_limited_time_and_one_line(
    inside: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], kind: str, spent: Spent
) -> None:
    """At the end of the stage; those that begin in the next minutes none at all, unless they have another store."""
    with serving(BAD[kind]()) as uri, serving() as another:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        stage(0.4)
        assert spent.waits in ([], [0.4])
        spent.waits.clear()
        (line,) = capfd.readouterr().err.splitlines()
        assert line.startswith(LINE)
        assert line.endswith("); the stage goes on without tracking")

        stage(name="compare")
        assert spent.waits == []
        (line,) = capfd.readouterr().err.splitlines()
        assert line.startswith("warning: no tracking until ")
        assert "; to try again now: rm .work/mlflow/" in line

        monkeypatch.setenv("MLFLOW_TRACKING_URI", another)
        stage()
        assert capfd.readouterr().err == ""
        spent.waits.clear()

        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        Path(line.rpartition(" rm ")[2]).unlink()
        stage(0.3)
        assert capfd.readouterr().err.startswith(LINE), "the store was tried"
        assert spent.waits in ([], [0.3])
        assert spent.here == []


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
        with open_run("pretrain", {}, {}, Path("params.yaml"), 0.5) as run:
            made(run)
            may_answer.clear()
            before = len(answered)
            for step in range(30):
                run.log_metrics({"loss": 1.0}, step)
                run.flush()
            assert len(answered) <= before + 1, "thirty calls came back before the server answered any of them"
            time.sleep(1.0)
            run.store._seconds = ENOUGH
            may_answer.set()
            wait_until(lambda: len(answered) >= before + 30, 60)
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_a_healthy_server_whose_first_answer_takes_six_seconds(
    inside: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Within the limits of every stage."""
    pauses, answered = iter([6.0]), list[str]()

    def slow(server: Server) -> None:
        time.sleep(next(pauses, 0.0))
        answered.append(server.path)
        Server.answer(server)

    with serving(slow) as uri:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        stage(SECONDS)
    assert capfd.readouterr().err == ""
    assert answered[-1].endswith("runs/update"), "the end of the run"


@pytest.mark.parametrize("kind", ["refused", "deaf"])
def test_a_process_ends_with_its_stage_and_prints_one_line(inside: Path, kind: str) -> None:
    """DVC waits for the process, also when a call hangs, here for an hour; what MLflow and urllib3 would print is left
    out."""
    code = (
        "import logging, sys; from pathlib import Path; from adaptbert.runtime.mlflow import open_run\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout)\n"  # as in every stage
        "with open_run('finetune', {}, {}, Path('params.yaml'), 2.5) as run: run.log_metrics({'a': 1.0})\n"
    )
    with serving(BAD[kind]()) as uri:
        command, env = [sys.executable, "-c", code], environment(MLFLOW_TRACKING_URI=uri)
        env["MLFLOW_HTTP_REQUEST_TIMEOUT"] = "3600"
        for _ in range(1 + (kind == "refused")):  # the second is another command, so that the server is tried again
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=ENOUGH, process_group=0)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, "", 1), done.stderr
            assert done.stderr.startswith(LINE)


def test_a_folder_in_the_place_of_the_file(inside: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Not the hundred seconds of MLflow, which counts on a store that comes back."""
    (inside / "mlflow.db").mkdir()
    stage()
    assert capfd.readouterr().err == f"{LINE}mlflow.db is no file); the stage goes on without tracking\n"


def together(folder: Path, *names: str) -> None:
    """Stages that begin at the same time, each in a process of its own; all of them are tracked."""
    code = (
        "import sys; from pathlib import Path; from adaptbert.runtime.mlflow import open_run\n"
        "with open_run(sys.argv[1], {}, {}, Path('params.yaml'), 120.0) as run: run.log_metrics({'loss': 0.5})\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, name], cwd=folder, env=environment(), stderr=subprocess.PIPE)
        for name in names
    ]
    assert [process.communicate(timeout=ENOUGH)[1] for process in processes] == [b""] * len(names)
    there = {run.data.tags.get("stage"): run for run in runs(folder)}
    assert {name: (there[name].info.status, there[name].data.metrics["loss"]) for name in names} == dict.fromkeys(
        names, ("FINISHED", 0.5)
    )
    recipes = [run for run in runs(folder) if run.data.tags.get("stage") == "recipe"]
    assert [(run.info.status, run.data.params) for run in recipes] == [("SCHEDULED", {"seed": "1"})]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_kills_while_a_new_project_gets_its_store(inside: Path) -> None:
    """Ten, over the seconds that MLflow takes for its tables, one after the other: none leaves anything that the stages
    after it cannot go on with."""
    began = time.monotonic()
    (inside / "whole").mkdir()
    shutil.copy(inside / "params.yaml", inside / "whole")
    together(inside / "whole", "collect a", "collect b", "collect c")
    moments = sorted(random.Random(50).uniform(0.2, 1) * (time.monotonic() - began) / 2 for _ in range(10))
    body = "from pathlib import Path; from tests.runtime import test_mlflow_failures as each; each.stage(name='killed')"
    for moment in moments:
        process = subprocess.Popen([sys.executable, "-c", body], cwd=inside, env=environment())
        time.sleep(moment)
        process.kill()
        process.wait()
    together(inside, "collect a", "collect b", "collect c")
    assert "RUNNING" not in statuses(inside).values()
    assert {path.name for path in inside.glob("*mlflow*")} == {"mlflow.db"}


def older(file: Path) -> None:
    """As a process leaves a store that was killed while it made the tables in it, some time ago."""
    with sqlite3.connect(file) as store:
        store.execute("UPDATE alembic_version SET version_num = '7ac759974ad8'")
    store.close()
    os.utime(file, (0, 0))


@pytest.mark.parametrize("used", [False, True])
def test_half_made_tables_stay(
    inside: Path, mlflow_tables: bytes, capfd: pytest.CaptureFixture[str], used: bool
) -> None:
    """Whatever a user has in them. The message has the way out, which loses nothing."""
    (inside / "mlflow.db").write_bytes(mlflow_tables)
    if used:
        stage()
    older(inside / "mlflow.db")
    before = (inside / "mlflow.db").read_bytes()
    stage()
    (line,) = capfd.readouterr().err.splitlines()
    assert re.search(r"; its rows stay there, and after `(.*)` a new one is made\); the stage goes on", line)
    assert (inside / "mlflow.db").read_bytes() == before
    subprocess.run(shlex.split(line.split("`")[1]), check=True)
    assert [path.name for path in inside.glob("mlflow.db*")] == ["mlflow.db.old"]


def test_a_run_of_a_recipe_that_was_not_filled(
    inside: Path, mlflow_tables: bytes, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its process was killed between two calls; the next stage fills it."""
    (inside / "mlflow.db").write_bytes(mlflow_tables)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "log", lambda *_: 1 / 0)
        stage()
    stage()
    (recipe,) = [run for run in runs(inside) if run.data.tags.get("stage") == "recipe"]
    assert (recipe.info.status, recipe.data.params) == ("SCHEDULED", {"seed": "1"})
    assert capfd.readouterr().err == f"{LINE}division by zero); the stage goes on without tracking\n"


def test_an_experiment_that_was_deleted(inside: Path, mlflow_tables: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """The message has the command that brings it back."""
    (inside / "mlflow.db").write_bytes(mlflow_tables)
    stage()
    client(inside).delete_experiment(client(inside).get_experiment_by_name(EXPERIMENT).experiment_id)
    stage()
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(
        f"{LINE}its experiment {EXPERIMENT} was deleted; to have it back: MLFLOW_TRACKING_URI=sqlite"
    )
    command = line.partition("have it back: ")[2].removesuffix("); the stage goes on without tracking")
    env = environment(PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    subprocess.run(["bash", "-c", command], env=env, check=True)
    stage(name="compare")
    assert capfd.readouterr().err == ""
    assert statuses(inside)["compare section"] == "FINISHED"


@pytest.mark.parametrize(("name", "is_fit"), [("a b#100% 中文", True), ("what?", False), ("a%2Fb", False)])
def test_the_path_of_a_project(
    inside: Path, mlflow_tables: bytes, name: str, is_fit: bool,
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """A file in it, or none and a line that says why; nowhere else, and not after minutes."""
    folder = inside / "projects" / name
    folder.mkdir(parents=True)
    shutil.copy(inside / "params.yaml", folder)
    monkeypatch.chdir(folder)
    if is_fit:
        Path("mlflow.db").write_bytes(mlflow_tables)
    stage()
    assert [path.name for path in folder.parent.iterdir()] == [name]
    assert Path("mlflow.db").exists() == is_fit
    if is_fit:
        assert statuses(folder)["finetune section"] == "FINISHED"
        assert len([*folder.glob("mlartifacts/*/artifacts/params.yaml")]) == 2, "of the stage and of the recipe"
    expected = "" if is_fit else f"{LINE}the path {folder}/mlflow.db has a ? or a % code, which means something else"
    assert capfd.readouterr().err.startswith(expected)


# A run whose process was killed, or lost the store, does not stay RUNNING: the next stage marks it as incomplete.


def test_a_locked_file_and_the_run_left_open_there(inside: Path, mlflow_tables: bytes) -> None:
    """Another process holds the project's mlflow.db in the middle of a run, and for longer than that process lives; the
    next stage ends the run."""
    (inside / "mlflow.db").write_bytes(mlflow_tables)
    body = (
        "    with run.child('seed 1', {}) as child:\n"
        "        child.go_on(Path('work')); made(run); print('begun', flush=True); input()\n"
    )
    process = begun(body, "finetune", 3.0)
    with sqlite3.connect(inside / "mlflow.db") as locked:
        locked.execute("BEGIN EXCLUSIVE")
        _, errors = process.communicate("\n", timeout=ENOUGH)
        locked.rollback()
    locked.close()
    assert process.returncode == 0
    assert errors == f"{LINE}its calls took more than 3 seconds); the stage goes on without tracking\n"
    assert statuses(inside) == {"finetune": "RUNNING", "seed 1": "RUNNING"}

    assert not list(inside.glob(".work/mlflow/*/down")), "no pause: a file that is not locked any more takes all"
    stage(name="compare")
    ended = [run.info for run in runs(inside) if run.data.tags.get("record") == "incomplete"]
    assert {info.run_name: info.status for info in ended} == {"finetune": "KILLED", "seed 1": "KILLED"}
    assert all(info.end_time is not None for info in ended)
    assert not list(inside.glob(".work/mlflow/*/*.run")), "ended once"

    with open_run("finetune", {}, {}, Path("params.yaml"), ENOUGH) as run, run.child("seed 1", {}) as child:
        child.go_on(Path("work"))
    (resumed,) = [run for run in runs(inside) if "resumed" in run.data.tags]
    assert (resumed.info.status, resumed.data.tags["record"]) == ("FINISHED", "incomplete"), "points may be missing"


WAITING = "    made(run); print('begun', flush=True); input()\n"


def test_the_run_of_a_killed_process_is_ended_and_that_of_a_live_one_is_not(inside: Path, mlflow_tables: bytes) -> None:
    (inside / "mlflow.db").write_bytes(mlflow_tables)
    with open_run("living", {}, {}, Path("params.yaml"), ENOUGH) as run:
        made(run)
        killed = begun(WAITING, "killed")
        killed.kill()
        killed.communicate()
        assert statuses(inside) == {"killed": "RUNNING", "living": "RUNNING"}
        stage(name="compare")
        assert {"killed": "KILLED", "living": "RUNNING"}.items() <= statuses(inside).items()
    assert statuses(inside)["living"] == "FINISHED"
