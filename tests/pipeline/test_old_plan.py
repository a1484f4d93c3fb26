"""Names of params.yaml that plan.json does not have yet: every way of running stops, with the command that mends it,
before anything is trained. Real DVC and real stages; where the whole graph is run, no output is touched. For the flow
see tests/flows/test_flow.py."""

import re
import shutil
import subprocess

import pytest
from dvc.repo import Repo

from adaptbert.config import plan_file
from adaptbert.config import recipe as recipes
from tests.support.project import ROOT, Project, clone

CELL = "finetune@mention-domain-small-1"
OUTPUTS = ("data/raw/corpora/general/kept", "models/pretrain/small/kept", f"models/finetune/{CELL[9:]}/kept")
"""Files in outputs of an earlier run."""


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The smoke recipe, committed; then one replicate more that nobody expanded."""
    home = tmp_path_factory.mktemp("home")
    project = clone(home / "clone", home)
    shutil.copy(ROOT / "presets/smoke.yaml", project.root / "params.yaml")
    plan_file.write(plan_file.plan(recipes.read(project.root / "params.yaml")), project.root / "plan.json")
    (project.root / "dvc.lock").unlink()
    for command in (["add", "-A"], ["commit", "-q", "-m", "smoke"]):
        subprocess.run(["git", *command], cwd=project.root, env=project.env, check=True)
    text = (project.root / "params.yaml").read_text(encoding="utf-8")
    (project.root / "params.yaml").write_text(text.replace("replicates: 1", "replicates: 2"), encoding="utf-8")
    return project


def test_repro(pristine: Project) -> None:
    """Files in outputs stay, and nothing else comes."""
    for path in (pristine.root / name for name in OUTPUTS):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kept", encoding="utf-8")
    refused(pristine, "dvc", "repro", "pretrain@small")
    assert [name for name in OUTPUTS if not (pristine.root / name).is_file()] == []
    models = sorted(path.name for path in (pristine.root / "models").glob("*/*"))
    assert models == ["README.md", CELL[9:], "small"]


def refused(project: Project, *command: str) -> None:
    """With what is missing, and the remedy."""
    done = project.run(*command, timeout=300)
    assert done.returncode == 255, done.stdout
    assert "AB-210 plan.json: older than params.yaml: missing: domain_transfer@domain-small-2" in done.stdout
    assert "run `adaptbert plan`, which writes it from params.yaml" in done.stdout
    assert set(re.findall(r"Running stage '(.+)':", done.stdout)) <= {"plan"}


@pytest.mark.slow
@pytest.mark.parametrize("where", [[], ["--temp"]], ids=["here", "in another folder"])
def test_an_experiment(pristine: Project, where: list[str]) -> None:
    """It takes both files as they lie here, whether they are committed or not."""
    refused(pristine, "dvc", "exp", "run", *where, "-S", "finetune.epochs=1")


@pytest.mark.slow
def test_a_value_of_the_plan_in_an_experiment(pristine: Project) -> None:
    """Where both files agree: -S writes params.yaml alone."""
    with pristine.edited("params.yaml", "replicates: 2", "replicates: 1"):
        refused(pristine, "dvc", "exp", "run", "-S", "compare.replicates=2")


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["validate", "pretrain@small", CELL])
def test_one_stage_alone(pristine: Project, stage: str) -> None:
    """It does not pass the first stage, and stops by itself. DVC may have removed its outputs before."""
    with Repo(str(pristine.root)) as repo:
        (known,) = repo.stage.collect(stage)
        deps = [pristine.root / dep.def_path for dep in known.deps]
    for path in deps:  # of an earlier run
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("there", encoding="utf-8")
    try:
        done = pristine.run("dvc", "repro", "--single-item", stage)
    finally:
        for path in deps:
            if path.is_file() and path.read_text(encoding="utf-8") == "there":
                path.unlink()
    assert done.returncode == 255
    assert "AB-210 plan.json: older than params.yaml: " in done.stdout, done.stdout
    assert "run `adaptbert plan`" in done.stdout
