"""A team with the wheel alone: a new project, its recipe in every way, a second clone, and two upgrades."""

import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from adaptbert.config import plan_file
from adaptbert.config.code_digest import code_digest
from tests.support.imports import ROOT
from tests.support.installed import Installation, commit, copy_of, installation, ran, wheel
from tests.support.project import Project, clone, free_port, wait_until
from tests.support.remotes import remote

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
UP_TO_DATE = "Data and pipelines are up to date."
RELEASE = ("adaptbert", "release", "mood", "--arm", "tfidf_logistic", "--reason", "Small models learn nothing.")


def test_it_runs_what_is_installed(installed: Installation, new_project: Project) -> None:
    """Not what lies in the repository; and its digests are those of the clone."""
    where = ran(new_project, "python", "-c", "import adaptbert, sys; print(adaptbert.__file__, *sys.path)")
    assert Path(where.split()[0]).is_relative_to(installed.packages)
    assert str(ROOT) not in {str(Path(path)) for path in where.split()}
    code = json.loads((new_project.root / "plan.json").read_text(encoding="utf-8"))["plan"]["code"]
    assert code == {stage: code_digest(stage) for stage in plan_file.stages()}


def test_the_recipe_its_test_and_an_experiment(installed_project: Project, tmp_path: Path) -> None:
    assert "<html" in (installed_project.root / "reports/index.html").read_text(encoding="utf-8")
    assert "all up to date" in ran(installed_project, "make", "recipe")
    assert "OK" in ran(installed_project, "make", "test").splitlines()[-1]
    assert UP_TO_DATE in ran(installed_project, "python", "-m", "dvc", "repro")
    other = copy_of(installed_project, tmp_path / "other")
    printed = ran(other, "python", "-m", "dvc", "exp", "run", "-S", "finetune.epochs=2")
    assert re.findall(r"Running stage '(\w+)", printed) == ["plan", "finetune", "finetune", "compare"]
    (other.root / "plan.json").write_text('{"plan": {}}\n', encoding="utf-8")
    assert "it was not: commit the plan.json" in ran(other, "make", "test", refused=True)


def test_the_same_by_a_deployment(new_project: Project, tmp_path: Path) -> None:
    project = copy_of(new_project, tmp_path / "mood-study")
    with project.server():
        project.deploy()
        with project.worker():
            deployed = project.run("prefect", "deployment", "run", "recipe/local", "--watch", timeout=1200)
    assert deployed.returncode == 0, deployed.stdout
    assert UP_TO_DATE in ran(project, "python", "-m", "dvc", "status")


@pytest.mark.parametrize("kind", ["a folder", "S3", "SSH"])
def test_a_second_clone_trains_nothing(installed_project: Project, tmp_path: Path, kind: str) -> None:
    first, repository = copy_of(installed_project, tmp_path / "first"), str(tmp_path / "repository")
    ran(first, *RELEASE)
    with remote(kind, first, tmp_path):
        ran(first, "git", "init", "--quiet", "--bare", repository)
        ran(first, "python", "-m", "dvc", "push")
        commit(first)
        ran(first, "git", "push", "--quiet", repository, "HEAD:main")
        ran(first, "git", "clone", "--quiet", "--branch", "main", repository, str(tmp_path / "second"))
        second = Project(tmp_path / "second", first.env, first.python)
        assert "`dvc pull --recursive data/own` fetches" in ran(second, "make", "test"), "skipped, and says why"
        for _ in range(2):  # the second does not remove what the first has brought
            ran(second, "python", "-m", "dvc", "pull")
    assert "releases/mood/1 is the champion" in ran(second, "adaptbert", "promote", "mood")
    assert "all up to date" in ran(second, "make", "recipe")
    assert "skipped" not in ran(second, "make", "test")
    assert (second.root / "reports/index.html").read_bytes() == (first.root / "reports/index.html").read_bytes()


def test_from_report_to_service(installed_project: Project, tmp_path: Path) -> None:
    project, port = copy_of(installed_project, tmp_path / "mood-study"), str(free_port())
    ran(project, *RELEASE)
    ran(project, "adaptbert", "promote", "mood")
    command = ["mlflow", "models", "serve", "-m", "models:/mood@champion", "--env-manager", "local", "--port"]
    body = json.dumps({"inputs": [{"id": "a", "text": "the cell wall"}, {"id": "b"}]})
    request = ["curl", "--silent", f"http://127.0.0.1:{port}/invocations", "--json", body]
    with (tmp_path / "served.log").open("wb") as log:
        server = subprocess.Popen([*command, port], cwd=project.root, env=project.env, stdout=log, stderr=log)
    try:
        wait_until(lambda: subprocess.run(request, capture_output=True).returncode == 0, 120)
        answered, refused = json.loads(ran(project, *request))["predictions"]
    finally:
        for process in (*psutil.Process(server.pid).children(recursive=True), server):
            process.terminate()
        server.wait(30)
    assert (answered["id"], answered["label"] in ("good", "bad"), "error" in refused) == ("a", True, True)


def newer(source: Path, version: str, edits: Mapping[str, tuple[str, str]]) -> Path:
    """A wheel of this version, with files of the source changed: file -> pattern and what takes its place."""
    for name, (before, after) in {"pyproject.toml": (r'^version = ".*"', f'version = "{version}"'), **edits}.items():
        text = (source / name).read_text(encoding="utf-8")
        changed = re.sub(before, after, text, count=1, flags=re.MULTILINE)
        assert changed != text
        (source / name).write_text(changed, encoding="utf-8")
    return wheel(source, source.parent / version)


def test_two_upgrades(installed: Installation, installed_project: Project, tmp_path: Path) -> None:
    """One changes comments, the next a step: what is above it is due, and nothing below it is trained again."""
    clone(tmp_path / "source", tmp_path)
    theirs = installation(tmp_path / "venv")
    project = theirs.project(copy_of(installed_project, tmp_path / "mood-study").root, tmp_path)
    del project.env["PREFECT_API_URL"]

    words = {"stages/finetune.py": (r"\Z", "# a remark\n"), "adaptbert/mlm/step.py": (r"\Z", "# another\n")}
    theirs.install(newer(tmp_path / "source", "0.9.1", {**words, "prefect.yaml": ("30 2 ", "45 2 ")}))
    assert "AB-154 pyproject.toml: pins adaptbert " in ran(project, "make", "recipe", refused=True)
    printed = ran(project, "adaptbert", "upgrade")
    assert {"replaced: prefect.yaml", "replaced: stages/finetune.py", "will run: 1 of"} <= set(
        re.findall(r"^replaced: .*|^will run: 1 of", printed, re.MULTILINE)
    ), printed
    ran(project, "make", "recipe")
    assert "Running" not in ran(project, "python", "-m", "dvc", "repro")
    commit(project)
    ran(project, "adaptbert", "upgrade")
    assert ran(project, "git", "status", "--porcelain") == "", "twice changes nothing"

    theirs.install(newer(tmp_path / "source", "0.9.2", {"adaptbert/mlm/masking.py": (r"\Z", "SOMETHING = 1\n")}))
    printed = ran(project, "adaptbert", "upgrade")
    (due,) = re.findall(r"^will run: \d+ of \d+ stages: (.*)", printed, re.MULTILINE)
    trained = {"1 pretrain", "1 domain_transfer", "2 measure", "2 finetune"}
    assert {*due.split(", ")} == {"1 plan", *trained, "1 compare"}
    assert "minutes" in printed
    again = ran(project, "make", "recipe")
    assert "all up to date" not in again
    assert "tokenize@small" not in again


def test_from_a_source_archive_too(installed: Installation, tmp_path: Path) -> None:
    """The archive holds what the wheel needs, and the wheel that is built of it is the same."""
    clone(tmp_path / "source", tmp_path)
    script = "import sys; from hatchling.build import build_sdist; print(build_sdist(sys.argv[1]))"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path / "backend"), "hatchling"]
    if subprocess.run(pip, capture_output=True).returncode:
        pytest.skip("no index has hatchling")
    env = {"PYTHONPATH": str(tmp_path / "backend")}
    command = [sys.executable, "-c", script, str(tmp_path)]
    name = subprocess.run(command, cwd=tmp_path / "source", env=env, check=True, capture_output=True, text=True).stdout
    with tarfile.open(tmp_path / name.strip()) as archive:
        archive.extractall(tmp_path / "archive", filter="data")
    built = installation(tmp_path / "venv")
    built.install(wheel(next((tmp_path / "archive").iterdir()), tmp_path / "wheels"))
    assert names(built) == names(installed)


def names(installed: Installation) -> set[str]:
    paths = [path for folder in installed.packages.glob("adaptbert*") for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(installed.packages).as_posix() for path in paths if path.suffix != ".pyc"}
