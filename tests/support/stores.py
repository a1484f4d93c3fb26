"""Stores of MLflow that are slow, silent, busy or gone, for tests; and stages that record to them."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

from mlflow import MlflowClient
from mlflow.entities import Run as Recorded

from adaptbert.runtime.tracking.run import open_run
from adaptbert.runtime.tracking.store import EXPERIMENT
from tests.support.project import start, stopped_at_the_end, wait_until_healthy

LINE = "warning: MLflow did not answer ("
SLACK = 5.0


class Server(BaseHTTPRequestHandler):
    """What a client of MLflow needs to hear to record a run; how it is said is up to the subclass."""

    protocol_version = "HTTP/1.1"
    artifacts = ""

    def answer(self) -> None:
        info = {
            "run_id": uuid4().hex,
            "experiment_id": "1",
            "status": "RUNNING",
            "artifact_uri": self.artifacts,
            "lifecycle_stage": "active",
        }
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


class Deaf(Server):
    def answer(self) -> None:
        time.sleep(3600)


class Broken(Server):
    def answer(self) -> None:
        self.send(500, {"error_code": "INTERNAL_ERROR", "message": "out of order"})


class Limited(Server):
    def answer(self) -> None:
        self.send(429, {"message": "later"}, Retry_After="180")


class Slow(Server):
    def answer(self) -> None:
        time.sleep(2)
        super().answer()


class Dying(Server):
    left = 8

    def answer(self) -> None:
        Dying.left -= 1
        if Dying.left < 0:
            self.connection.close()
        else:
            super().answer()


@contextmanager
def serving(kind: type[Server]) -> Iterator[str]:
    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: object) -> None:
            pass

    with Quiet(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
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


@contextmanager
def mlflow_server(folder: Path, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--port", str(port)]
    command += ["--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    command += ["--artifacts-destination", str(folder / "kept")]
    with (folder / "server.log").open("ab") as log:
        server = start(command, folder, environment(), log)
    with stopped_at_the_end(server):
        wait_until_healthy(f"http://127.0.0.1:{port}", server)
        yield server


def run_python(code: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment(**variables), capture_output=True, text=True, timeout=120)


def environment(**variables: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    return {**own, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONWARNINGS": "ignore", **variables}


def client(folder: Path) -> MlflowClient:
    """Of the project's own store."""
    return MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")


def runs(folder: Path, condition: str = "") -> list[Recorded]:
    """In the order in which they began."""
    store = client(folder)
    experiment = store.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    return list(store.search_runs([experiment.experiment_id], condition, order_by=["attributes.start_time"]))


def statuses(folder: Path) -> dict[str, str]:
    """By name, without the recipe's own."""
    return {run.info.run_name: run.info.status for run in runs(folder) if run.data.tags.get("stage") != "recipe"}
