"""The whole recipe under real DVC, as small as it goes: an edit re-runs what depends on it and nothing else."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.config import load as params
from adaptbert.core.files import read_json
from tests.support.project import Project, clone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

BEFORE_TRAINING = {
    "plan",
    "collect@general",
    "collect@domain",
    "collect_task@section",
    "collect_task@mention",
    "validate",
    "tokenizer@small",
    "tokenize@small",
}
PRETRAIN = {"pretrain@small", "measure@none-small", "measure@small"}
SCRATCH = {"finetune@section-scratch-small", "finetune@mention-scratch-small"}
CELLS = {"finetune@section-domain_task-small-1", "finetune@mention-domain-small-1", *SCRATCH}
RUNGS = {"domain_transfer@domain-small-1", "task_transfer@section-domain-small-1"}
FROM_DOMAIN = {*RUNGS, "measure@domain-small-1", "measure@section-domain-small-1", *CELLS - SCRATCH}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The smoke recipe, run once; the tests edit it one after the other and put back what they edit."""
    home = tmp_path_factory.mktemp("home")
    project = clone(home / "clone", home)
    shutil.copy(project.root / "presets/smoke.yaml", project.root / "params.yaml")
    ran, printed = repro(project)
    assert ran == BEFORE_TRAINING | PRETRAIN | FROM_DOMAIN | CELLS | {"compare"}, printed
    return project


def repro(project: Project, *options: str) -> tuple[set[str], str]:
    """The stages that `dvc repro` ran by a new plan, and all that it printed."""
    assert project.run("adaptbert.cli", "plan").returncode == 0
    done = project.run("dvc", "repro", *options, timeout=900)
    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout.lower(), done.stdout
    return set(re.findall(r"Running stage '(.+)':", done.stdout)), done.stdout


def test_what_a_recipe_leaves(project: Project) -> None:
    assert "Data and pipelines are up to date" in project.run("dvc", "status").stdout
    report = (project.root / "reports/index.html").read_text(encoding="utf-8")
    assert "<html" in report
    assert (project.root / "mlflow.db").exists()
    comparison = Comparison.read(project.root / "metrics/comparison.json")
    assert [task.name for task in comparison.tasks] == ["section", "mention"]
    bits = {checkpoint.name: checkpoint.after["domain"] for checkpoint in comparison.checkpoints}
    assert bits["domain_transfer/domain"] < bits["pretrain"], "even so little training on a text teaches that text"


def test_words_in_the_fine_tuning_run_the_first_stage_alone(project: Project) -> None:
    """It looks whether the plan is that of the code, and it is the same plan."""
    before = (project.root / "plan.json").read_bytes()
    with project.edited("adaptbert/tasks/module.py", '"""Supervised', '"""Supervised (a word more)'):
        ran, _ = repro(project)
    assert (ran, (project.root / "plan.json").read_bytes()) == ({"plan"}, before)


def test_what_was_removed_comes_back_without_training(project: Project) -> None:
    """From DVC's run cache, also where its files are gone."""
    arm = "  domain_task: {domain_transfer: domain, task_transfer: own, tasks: [section]}\n"
    model = project.root / "models/finetune/section-domain_task-small-1"
    files = sorted(model.rglob("*"))
    with project.edited("params.yaml", arm, ""):
        ran, _ = repro(project)
        assert ran == {"plan", "compare"}
        shutil.rmtree(model)
    ran, printed = repro(project)
    assert (ran, sorted(model.rglob("*"))) == ({"compare"}, files), printed


def test_an_edit_of_the_fine_tuning_runs_the_cells_and_the_comparison(project: Project) -> None:
    with project.edited("adaptbert/tasks/module.py", "return self.head.loss(", "return 2 * self.head.loss("):
        ran, _ = repro(project)
    assert ran == {"plan", *CELLS, "compare"}
    # Taking it back restores what was cached; nothing is trained. What compare leaves is in git, not in DVC's cache.
    ran, printed = repro(project)
    assert ran == {"compare"}, printed


def test_a_value_of_one_experiment(project: Project) -> None:
    """`-S` sets a value of a section, and plan.json stays as it is."""
    for command in (["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "before the experiment"]):
        subprocess.run(["git", *command], cwd=project.root, env=project.env, check=True)
    done = project.run(
        "dvc", "exp", "run", "--temp", "--copy-paths", "data/smoke", "-S", "finetune.epochs=4", timeout=900
    )
    assert done.returncode == 0, done.stdout
    assert set(re.findall(r"Running stage '(.+)':", done.stdout)) == {"plan", *CELLS, "compare"}


@pytest.mark.parametrize(
    ("command", "replicates"),
    [
        ("repro", 2),
        ("repro --force --single-item", 2),
        ("exp run", 2),
        ("exp run --temp", 2),
        ("exp run -S compare.replicates=2", 1),
    ],
)
def test_an_older_plan_stops_every_way_of_running(project: Project, command: str, replicates: int) -> None:
    """A stage alone by itself, all others at the first stage; test_commands.py shows that outputs stay."""
    with project.edited("params.yaml", "replicates: 1", f"replicates: {replicates}"):
        done = project.run("dvc", *command.split(), "domain_transfer@domain-small-1", timeout=300)
    assert done.returncode == 255, done.stdout
    assert "AB-210 plan.json: older than params.yaml: missing: domain_transfer@domain-small-2" in done.stdout
    assert "run `adaptbert plan`, which writes it from params.yaml" in done.stdout
    assert set(re.findall(r"Running stage '(.+)':", done.stdout)) <= {"plan", "domain_transfer@domain-small-1"}


def test_everything_again_gives_the_same_bytes(project: Project) -> None:
    """From the text to the report, every stage forced: the lock file with the digests of all outputs stays as it is."""
    repro(project)
    lock: Path = project.root / "dvc.lock"
    before = lock.read_text(encoding="utf-8")
    ran, _ = repro(project, "--force")
    assert ran == BEFORE_TRAINING | PRETRAIN | FROM_DOMAIN | CELLS | {"compare"}
    assert lock.read_text(encoding="utf-8") == before


def test_a_recipe_of_one_cell(tmp_path: Path) -> None:
    """No transfer: the whole recipe runs to its report, also where no other ever ran."""
    project = clone(tmp_path / "clone", tmp_path)
    for left in (project.root / "metrics").rglob("*.json"):
        left.unlink()
    document = params.read(project.root / "presets/smoke.yaml")
    document["arms"] = {"general": {"tasks": ["section"]}}
    (project.root / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
    assert project.run("adaptbert.cli", "plan").returncode == 0
    ran, _ = repro(project)
    assert ran == BEFORE_TRAINING | PRETRAIN - {"measure@none-small"} | {"finetune@section-general-small", "compare"}
    assert "general" in read_json(project.root / "metrics/metrics.json")["section"]["small"]
