"""docs/how-to/running.md: its Prefect commands as they stand there, in terminals without a variable."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.imports import ROOT
from tests.support.markdown import blocks
from tests.support.project import free_port, restore_interrupt, stopped_at_the_end, wait_until
from tests.support.toy_flow import FOUR_STAGES, Toy, init_dvc, write_project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SERVER, POOL, WORKER, DEPLOY, RUN = next(
    block.text.splitlines() for block in blocks("docs/how-to/running.md", "sh") if "prefect server" in block.text
)


class Terminals:
    """Fresh terminals in a folder, with the environment activated and nothing else set."""

    def __init__(self, root: Path, home: Path, port: int) -> None:
        write_project(root, FOUR_STAGES)
        (root / "metrics").mkdir()
        Toy(root, {}).order()
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        self.root, self.env, self.api = root, {"PATH": path, "HOME": str(home)}, f"http://127.0.0.1:{port}/api"
        for command in (
            ["init", "-q", "."],
            ["-c", "user.name=x", "-c", "user.email=x", "commit", "--allow-empty", "-qm", "x"],
        ):
            subprocess.run(["git", *command], cwd=root, env=self.env, check=True)
        init_dvc(root)
        settings = root / "prefect.toml"
        text = settings.read_text(encoding="utf-8")
        assert text.count("4200") == 2, "the page says: in both places"
        settings.write_text(text.replace("4200", str(port)), encoding="utf-8")

    def run(self, line: str, code: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.root,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    @contextmanager
    def running(self, line: str) -> Iterator[Path]:
        """A command in the background, and the file of what it prints."""
        log = self.root / f".{line.split()[1]}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {line}"],
                cwd=self.root,
                env=self.env,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=restore_interrupt,
            )
        with stopped_at_the_end(process):
            yield log

    def answers(self) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{self.api}/health", timeout=2):
            return True
        return False

    def runs(self) -> int:
        """The number of flow runs that the server knows."""
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{self.api}/flow_runs/count", b"{}", headers)) as answer:
            return int(json.load(answer))


@pytest.fixture(scope="module")
def terminals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminals]:
    """With the server and the pool of the page."""
    here = Terminals(tmp_path_factory.mktemp("toy"), tmp_path_factory.mktemp("home"), free_port())
    with here.running(SERVER):
        wait_until(here.answers, 200)
        here.run(POOL)
        yield here


def test_the_five_commands(terminals: Terminals) -> None:
    """A deployment to its end; where no worker runs, the last command says so."""
    with terminals.running(WORKER) as worker:
        terminals.run(DEPLOY)
        assert "Flow run finished successfully in 'Completed'" in terminals.run(RUN)
    assert "Task run 'compare'" in worker.read_text(encoding="utf-8")
    assert (terminals.root / "metrics/comparison.json").is_file()
    with terminals.running(RUN) as log:
        wait_until(lambda: "Late" in log.read_text(encoding="utf-8"), 120)


def test_another_project_at_the_same_address(terminals: Terminals, tmp_path: Path) -> None:
    """Its server does not start, its deployments replace none, and no proxy is asked for its own."""
    terminals.run(DEPLOY)
    other = Terminals(tmp_path, Path(terminals.env["HOME"]), int(terminals.api.split(":")[2].partition("/")[0]))
    assert "is already in use" in other.run(SERVER, code=1)
    refused = other.run(DEPLOY, code=65)
    assert f"AB-197 recipe/local: {terminals.api} has this deployment of {terminals.root}" in refused
    assert "Traceback" not in refused
    before = terminals.runs()
    other.env |= {"HTTP_PROXY": "http://127.0.0.1:9", "all_proxy": "http://127.0.0.1:9"}  # nobody answers there
    printed = other.run("python -m flows.recipe --until compare --jobs 2")
    assert "a temporary Prefect server starts" in printed
    assert "4 of 4" in printed
    assert terminals.runs() == before
    assert (other.root / "metrics/comparison.json").is_file()


@pytest.mark.parametrize("folder", [".", "home"])
def test_a_server_of_a_profile_is_not_passed_over_in_silence(tmp_path: Path, folder: str) -> None:
    """Of one that was set in the project's folder, or before that in another."""
    (tmp_path / "home").mkdir()
    (tmp_path / "prefect.toml").write_bytes((ROOT / "prefect.toml").read_bytes())
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    env = {"PATH": path, "HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    command = ["prefect", "config", "set", "PREFECT_API_URL=http://10.0.0.5:4200/api"]
    subprocess.run(command, cwd=tmp_path / folder, env=env, check=True)
    main = [sys.executable, "-c", "from adaptbert.flow.server import main; main()"]
    printed = subprocess.run(main, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert "a temporary server starts" in printed.stdout
    files = "prefect.toml has http://127.0.0.1:4200/api, the profile has http://10.0.0.5:4200/api"
    assert f"{files}: write it into prefect.toml" in printed.stderr
