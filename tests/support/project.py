"""A throw-away project with DVC, a Prefect server and a worker of its own, for tests that run the real thing.

Everything that is started is ended, whatever happens in between.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adaptbert.config import plan_file
from adaptbert.config.recipe import Recipe
from adaptbert.runtime.libraries import QUIET
from tests.support import demonstration
from tests.support.imports import ROOT as ROOT


@dataclass
class Project:
    """A folder, and the environment and interpreter that its commands run with."""

    root: Path
    env: dict[str, str]
    python: str = sys.executable

    def run(self, *command: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """`python -m ...` to its end; stdout holds both streams."""
        return subprocess.run(
            [self.python, "-m", *command],
            cwd=self.root,
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """`python -m ...` in the background, in a process group of its own; see `log_file`.

        With SIGINT as in a terminal: Prefect turns the first SIGTERM into a SIGINT, which a child of a script would
        ignore.
        """
        with self.log_file(*command).open("ab") as log:
            return subprocess.Popen(
                [self.python, "-m", *command],
                cwd=self.root,
                env=self.env,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=restore_interrupt,
            )

    def log_file(self, *command: str) -> Path:
        """What a background command prints, by its first two words."""
        return self.root / f".{'-'.join(command[:2])}.log"

    @contextmanager
    def edited(self, name: str, old: str, new: str) -> Iterator[None]:
        """A change of one file that is taken back."""
        file = self.root / name
        before = file.read_text(encoding="utf-8")
        assert old in before
        file.write_text(before.replace(old, new, 1), encoding="utf-8")
        try:
            yield
        finally:
            file.write_text(before, encoding="utf-8")

    @contextmanager
    def server(self) -> Iterator[subprocess.Popen[bytes]]:
        url = self.env["PREFECT_API_URL"]
        process = self.start("prefect", "server", "start", "--host", "127.0.0.1", "--port", str(urlsplit(url).port))

        def healthy() -> bool:
            assert process.poll() is None, "the server ended"
            with suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=2):
                return True
            return False

        with stopped_at_the_end(process):
            wait_until(healthy, 120)
            yield process

    def deploy(self) -> None:
        """The pool and the deployments of prefect.yaml."""
        pool = self.run("prefect", "work-pool", "create", "local-pool", "--type", "process", "--overwrite")
        assert pool.returncode == 0, pool.stdout
        deployed = self.run("prefect", "--no-prompt", "deploy", "--all")
        assert deployed.returncode == 0, deployed.stdout

    @contextmanager
    def worker(self) -> Iterator[subprocess.Popen[bytes]]:
        with stopped_at_the_end(self.start("prefect", "worker", "start", "--pool", "local-pool")) as process:
            yield process

    def api(self, path: str, sent: Mapping[str, Any] | None = None) -> Any:
        """What the server answers."""
        body = None if sent is None else json.dumps(sent).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.env['PREFECT_API_URL']}/{path}", body, headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)


def clone(target: Path, home: Path) -> Project:
    """This project as it lies here, tracked files and those of the demonstration, in a repository of its own."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    demonstration.copy(target)
    project = Project(target, environment(home))
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "as it lies here"]):
        subprocess.run(["git", *command], cwd=target, env=project.env, check=True)
    return project


def write_graph(graph: str) -> None:
    """The current folder becomes a project with this dvc.yaml, without git."""
    Path(".dvc").mkdir()
    Path(".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    Path("dvc.yaml").write_text(graph)


def dvc(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Real DVC in the current folder, not checked."""
    command = [sys.executable, "-m", "dvc", *arguments]
    return subprocess.run(command, env=environment(Path.cwd()), capture_output=True, text=True, timeout=120)


def write_params(root: Path, document: Mapping[str, Any]) -> None:
    """params.yaml, and the plan.json that belongs to it."""
    (root / "params.yaml").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    (root / "plan.json").write_text(plan_file.text(plan_file.plan(Recipe(document))), encoding="utf-8")


def environment(home: Path) -> dict[str, str]:
    """Nothing of the user's: no settings, no server, no data base."""
    foreign = ("PREFECT_", "DVC_", "GIT_", "MLFLOW_")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(foreign)},
        **QUIET,
        "HOME": str(home),
        "DVC_SITE_CACHE_DIR": str(home / "dvc"),
        "PREFECT_API_URL": f"http://127.0.0.1:{free_port()}/api",
        "PREFECT_LOGGING_COLORS": "false",
        "NO_COLOR": "1",
        "COLUMNS": "200",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        **{f"GIT_{who}_{what}": "test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }


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
        process.wait(60)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def alive(pid: int) -> bool:
    """A zombie counts as ended."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(true: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"still waiting after {seconds} s"
        time.sleep(0.1)
