"""flows/recipe.py with a real server, a real worker and real DVC, on a toy pipeline of four stages.

The toy has the project's own params.yaml and stages (the flow checks them first), and its own dvc.yaml, whose stages
take their orders from toy.yaml: how long to run, and how to end.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent

TOY_STAGE = """
import json, sys, time
from pathlib import Path
name, seconds, code, out = sys.argv[1:]
print("begin", name)
Path(f"{name}.begin").write_text(str(time.time()))
time.sleep(float(seconds))
Path(f"{name}.end").write_text(str(time.time()))
if code != "0":
    print("error: the reason", file=sys.stderr)
    sys.exit(int(code))
if name == "compare":
    metrics = json.loads(Path("metrics.sample.json").read_text())
    Path(out).write_text(json.dumps(metrics))
else:
    Path(out).write_text(name + seconds)
"""

TOY_STAGE_ENTRY = """
  {name}:
    cmd: exec python toy.py {name} ${{toy.{name}.seconds}} ${{toy.{name}.code}} {out}
    deps: [{deps}]
    meta: {{gpu: {gpu}}}
    {kind}:
      - {out}:
          cache: false
"""

METRICS: dict[str, Any] = {}


def toy_pipeline() -> str:
    stages = [
        ("start", "toy.py", "outs", "start.txt", "false"),
        ("left", "start.txt", "outs", "left.txt", "true"),
        ("right", "start.txt", "outs", "right.txt", "true"),
        ("compare", "left.txt, right.txt", "metrics", "metrics/metrics.json", "false"),
    ]
    entries = (
        TOY_STAGE_ENTRY.format(name=name, deps=deps, kind=kind, out=out, gpu=gpu)
        for name, deps, kind, out, gpu in stages
    )
    return "vars:\n  - toy.yaml\nstages:" + "".join(entries)


@dataclass
class Toy:
    """A throw-away project with a server at hand."""

    root: Path
    env: dict[str, str]

    def order(self, **stages: tuple[float, int]) -> None:
        """Seconds and exit code of each stage; 0.1 s and 0 if not named."""
        orders = {
            name: dict(zip(("seconds", "code"), stages.get(name, (0.1, 0)), strict=True))
            for name in ("start", "left", "right", "compare")
        }
        (self.root / "toy.yaml").write_text(json.dumps({"toy": orders}))
        for mark in [*self.root.glob("*.begin"), *self.root.glob("*.end")]:
            mark.unlink()

    def began(self, stage: str) -> bool:
        return (self.root / f"{stage}.begin").exists()

    def moment(self, stage: str, mark: str) -> float:
        return float((self.root / f"{stage}.{mark}").read_text())

    def run(self, *command: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.root,
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        return start([sys.executable, "-m", *command], self.root, self.env)

    def artifact(self, key: str) -> Any:
        request = urllib.request.Request(
            f"{self.env['PREFECT_API_URL']}/artifacts/{key}/latest", headers={"Accept": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)["data"]


def start(command: list[str], folder: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """In a process group of its own, with SIGINT as in a terminal: Prefect turns the first SIGTERM into a SIGINT,
    which a child of a script would ignore."""
    with (folder / f"{command[3]}.log").open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=restore_interrupt,
        )


def restore_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def stopped_at_the_end(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(15)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_healthy(url: str, server: subprocess.Popen[bytes], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert server.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"no server at {url} after {seconds} s")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("home")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "DVC_", "GIT_"))}
    return {
        **kept,
        "HOME": str(home),
        "PREFECT_API_URL": f"http://127.0.0.1:{free_port()}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_COLORS": "false",
        "DO_NOT_TRACK": "true",
        "DVC_NO_ANALYTICS": "1",
        "NO_COLOR": "1",
        "COLUMNS": "200",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        **{f"GIT_{who}_{what}": "toy" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Iterator[Toy]:
    root = tmp_path_factory.mktemp("toy")
    for name in ("flows", "stages"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("prefect.yaml", "prefect.toml", "params.yaml"):
        shutil.copy(ROOT / name, root)
    (root / "metrics").mkdir()
    (root / "toy.py").write_text(TOY_STAGE)
    (root / "metrics.sample.json").write_text(json.dumps(METRICS))
    (root / "dvc.yaml").write_text(toy_pipeline())
    toy = Toy(root, environment)
    toy.order()
    subprocess.run(["git", "init", "-q", "."], cwd=root, env=environment, check=True)
    assert toy.run("dvc", "init", "-q").returncode == 0

    port = environment["PREFECT_API_URL"].rpartition(":")[2].partition("/")[0]
    with stopped_at_the_end(toy.start("prefect", "server", "start", "--host", "127.0.0.1", "--port", port)) as server:
        wait_until_healthy(environment["PREFECT_API_URL"], server)
        yield toy


def test_deploys_and_runs_on_a_worker(toy: Toy) -> None:
    """The whole way of `prefect deployment run`; with a fastapi that Prefect cannot bear, the deploy fails here."""
    toy.order()
    assert toy.run("prefect", "work-pool", "create", "local-pool", "--type", "process").returncode == 0
    deployed = toy.run("prefect", "--no-prompt", "deploy", "--all")
    assert deployed.returncode == 0, deployed.stdout
    listed = toy.run("prefect", "deployment", "inspect", "recipe/nightly", "--output", "json")
    schedule = json.loads(listed.stdout)["schedules"][0]
    assert schedule["active"] is False

    refused = toy.run("prefect", "deployment", "run", "recipe/local", "--param", "jobs=99")
    assert refused.returncode != 0
    assert "99 is greater than the maximum of 16" in refused.stdout

    with stopped_at_the_end(toy.start("prefect", "worker", "start", "--pool", "local-pool", "--limit", "1")) as worker:
        ran = toy.run("prefect", "deployment", "run", "recipe/local", "--watch")
        assert ran.returncode == 0, ran.stdout
        worker.terminate()
        assert worker.wait(30) == 0

    assert (toy.root / "left.txt").read_text() == "left0.1"
    locked = (toy.root / "dvc.lock").read_text()
    assert all(f"  {stage}:" in locked for stage in ("start", "left", "right", "compare"))
    assert toy.moment("start", "end") <= min(toy.moment("left", "begin"), toy.moment("right", "begin"))
    first, second = sorted(("left", "right"), key=lambda stage: toy.moment(stage, "begin"))
    assert toy.moment(first, "end") <= toy.moment(second, "begin"), "the limit `gpu` has one slot"
    assert "reports/index.html" in toy.artifact("report")
