"""Stages on other machines, simulated on this one: run once in clones of their own, then fetched, never run again."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adaptbert.core.processes import cores
from adaptbert.errors import BadParams
from adaptbert.flow.machines import Machines, shared
from adaptbert.runtime.variables import CLUSTER
from tests.support.machines import cluster_of
from tests.support.markdown import shown
from tests.support.project import environment, stopped_at_the_end, wait_until
from tests.support.toy_flow import Toy, entry, init_dvc, pipeline, write_project

PAGE = "docs/how-to/gpu.md"


class Far(Toy):
    """A toy pipeline in a repository with two remotes: a bare one of git, a folder of DVC."""

    def ran(self) -> dict[str, list[str]]:
        """Stage -> the folder of each run."""
        return {mark.stem: mark.read_text().splitlines() for mark in sorted(self.marks.glob("*.folders"))}

    def git(self, *words: str) -> str:
        command = ["git", *words]
        return subprocess.run(
            command, cwd=self.root, env=self.env, check=True, text=True, stdout=subprocess.PIPE
        ).stdout

    def order(self, **stages: tuple[float, int]) -> None:
        super().order(**stages)
        if (self.root / ".git").is_dir():
            self.git("add", "-A")
            self.git("commit", "--quiet", "--allow-empty", "-m", "orders")
            self.git("push", "--quiet")


@pytest.fixture
def far(tmp_path: Path) -> Far:
    """`start` and `compare` keep their output and so run here; `left` and `right` may run elsewhere."""
    root, home = tmp_path / "project", tmp_path / "home"
    here, away = "persist: true", "persist: false"
    cells = [entry(name, "start.txt", gpu=True, option=away) for name in ("left", "right")]
    compare = entry("compare", "left.txt", "right.txt", "start.txt", option=here)
    write_project(root, pipeline(entry("start", option=here), *cells, compare))
    (tmp_path / "marks").mkdir()
    home.mkdir()
    env = environment(home) | {"MARKS": str(tmp_path / "marks"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    env.pop("OMP_NUM_THREADS", None)
    far = Far(root, env)
    far.order()
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "repository")], env=env, check=True)
    far.git("init", "-q", ".")
    far.git("remote", "add", "origin", str(tmp_path / "repository"))
    init_dvc(root, f"[core]\n    remote = team\n['remote \"team\"']\n    url = {tmp_path / 'remote'}\n")
    far.git("add", "-A")
    far.git("commit", "-q", "-m", "toy")
    far.git("push", "-q", "--set-upstream", "origin", "HEAD")
    return far


@contextmanager
def on_ray(far: Far, *others: int) -> Iterator[Any]:
    """A cluster whose head lends no core, and other machines of so many; the flow brings a server of its own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MARKS", "XDG_CACHE_HOME", "HOME", "DVC_SITE_CACHE_DIR"):
            patch.setenv(name, far.env[name])
        with cluster_of(0, *others) as machines:
            far.env[CLUSTER] = machines.address
            far.env.pop("PREFECT_API_URL", None)
            yield machines


def command() -> list[str]:
    """How the page starts the flow, as words after `python -m`."""
    (words,) = (words[2:] for page, words in shown("python") if page == PAGE and "--cluster" in words)
    return words


def judge(far: Far, printed: str, runs: int = 1) -> None:
    """Both cells ran in clones, and the coordinator only fetched them."""
    ran = far.ran()
    assert {stage: len(folders) for stage, folders in ran.items()} == {
        "start": 1, "left": runs, "right": 1, "compare": 1,
    }, printed  # fmt: skip
    assert ran["start"] == ran["compare"] == [str(far.root)]
    clones = {*ran["left"], *ran["right"]}
    assert len(clones) >= 2, "side by side, each in a clone of its own"
    assert all(clone.startswith(far.env["XDG_CACHE_HOME"]) for clone in clones)
    assert (far.root / "left.txt").read_text().startswith("left")
    for stage in ("left", "right"):
        assert f"{stage}: {stage} runs on " in printed, "its lines reach the log of the flow"
        assert f"{stage}: done (" in printed
    assert "Data and pipelines are up to date" in far.run("dvc", "status").stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_cells_on_machines_of_a_cluster(far: Far) -> None:
    """Two at a time, each once; then nothing; then one that fails, with its own code."""
    with on_ray(far, cores(), cores()):
        far.order(left=(8, 0), right=(8, 0))
        ran = far.run(*command(), timeout=300)
        assert ran.returncode == 0, ran.stdout
        judge(far, ran.stdout)
        again = far.run(*command(), timeout=300)
        assert again.returncode == 0, again.stdout
        assert "all up to date" in again.stdout
        far.order(left=(0.2, 65))
        failed = far.flow("--until", "left", "--cluster", code=65, timeout=300)
    assert "left: exited with 65" in failed
    assert "error: the reason" in failed
    assert "Retry" not in failed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_cell_of_a_lost_machine_runs_on_another_one(far: Far) -> None:
    with on_ray(far, cores(), cores()) as machines:
        far.order(left=(20, 0), right=(3, 0))
        with stopped_at_the_end(far.start(*command())) as flow:
            wait_until(lambda: far.ran().keys() >= {"left", "right"}, 120)
            machines.remove_node(machine_of(int(far.mark("left", "pid")), machines), allow_graceful=False)
            wait_until(lambda: flow.poll() is not None, 240)
        printed = far.log_file(*command()).read_text()
    assert flow.returncode == 0, printed
    assert "its machine was lost" in printed
    judge(far, printed, runs=2)


def machine_of(pid: int, machines: Any) -> Any:
    """The simulated machine that a process descends from."""
    import psutil

    parents = {parent.pid for parent in psutil.Process(pid).parents()}
    (node,) = (node for node in machines.worker_nodes if node.all_processes["raylet"][0].process.pid in parents)
    return node


# ---- refusals


def refused() -> str:
    with pytest.raises(BadParams) as error:
        shared(["params.yaml", "toy.py"])
    assert error.value.exit_code == 78
    return str(error.value)


def test_what_other_machines_would_not_see_is_refused(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(far.root)
    for name, value in far.env.items():
        monkeypatch.setenv(name, value)
    assert shared(["params.yaml"])[0] == far.git("remote", "get-url", "origin").strip()
    with (far.root / "params.yaml").open("a") as file:
        file.write("# edited\n")
    assert refused().startswith("AB-171 params.yaml: not committed, so other machines would run something else")
    far.git("commit", "-q", "-a", "-m", "edited")
    assert "AB-171 commit " in refused()
    assert "git push" in refused()
    far.git("push", "-q")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadParams, match="AB-154 ADAPTBERT_CLUSTER: 'auto' needs Ray, which is not installed"):
        Machines(["params.yaml"])
    (far.root / ".dvc/config").write_text("")
    assert "AB-171 dvc: no default remote" in refused()
    far.git("remote", "remove", "origin")
    assert "AB-171 git: no remote 'origin'" in refused()
