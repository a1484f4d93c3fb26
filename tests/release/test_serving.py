"""`mlflow models serve` on the champion of a project, in a storm of 1,000 requests."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import requests

from adaptbert import Predictor
from adaptbert.release.record import MODEL
from tests.support import releases
from tests.support.cells import Project
from tests.support.predicting import CLASS, rows_of
from tests.support.project import free_port
from tests.support.stores import environment
from tests.support.storm import Storm

FLAT = 1.10
"""Memory after 1,000 requests beside that after 100: allocators settle for a while."""


@contextmanager
def served(project: Path, model: str) -> Iterator[tuple[str, psutil.Process]]:
    """The address of a server of MLflow, and the process that answers."""
    port, programs = free_port(), Path(sys.executable).parent
    command = [programs / "mlflow", "models", "serve", "-m", model, "--env-manager", "local", "--port", str(port)]
    environ = environment(PATH=f"{programs}{os.pathsep}{os.environ['PATH']}")
    with (project / "served.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=project, env=environ, stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{port}", _ready(server, f"http://127.0.0.1:{port}/ping")
    finally:
        for process in (*psutil.Process(server.pid).children(recursive=True), server):
            process.terminate()
        server.wait(30)


def _ready(server: "subprocess.Popen[bytes]", address: str) -> psutil.Process:
    for _ in range(600):
        assert server.poll() is None, "it has ended"
        try:
            requests.get(address, timeout=5)
            return max(psutil.Process(server.pid).children(recursive=True), key=lambda each: each.memory_info().rss)
        except requests.ConnectionError:
            time.sleep(0.5)
    raise TimeoutError(address)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_storm_of_requests(here: Path, trained: Project) -> None:
    releases.in_project(here, trained, {"mood": CLASS})
    folder = releases.release(here, trained, "mood", CLASS, 1)
    done = subprocess.run(
        [sys.executable, "-m", "adaptbert.cli", "promote", "mood"],
        cwd=here, env=environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    with served(here, "models:/mood@champion") as (address, process):
        texts = [row["text"] for row in rows_of(trained, CLASS)]
        storm = Storm(address, Predictor.load(folder / MODEL), texts)
        storm.blow(100, seed=1)
        settled = process.memory_info().rss
        storm.blow(900, seed=2)
        rss = process.memory_info().rss
    print(dict(storm.statuses), f"{settled / 2**20:.0f} MiB after 100 requests, {rss / 2**20:.0f} MiB after 1,000")
    assert storm.wrong == []
    assert {status for _, status in storm.statuses} == {200, 400}
    assert rss < FLAT * settled
    log = (here / "served.log").read_text(encoding="utf-8")
    ends = re.findall(r"^Traceback .*\n(?: .*\n|\n)*(\S.*)", log, re.MULTILINE)
    assert set(ends) <= {"starlette.requests.ClientDisconnect"}, "of a client that went away, MLflow says no more"
    assert log.count("Traceback") == len(ends)
