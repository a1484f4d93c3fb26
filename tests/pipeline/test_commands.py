"""params.yaml cannot write commands: a path that a shell would obey is read as it is, and a name refused. Real DVC."""

import json
import subprocess
from pathlib import Path

import pytest

from adaptbert.config import load as params
from adaptbert.config.plan import PLAN, read
from adaptbert.core.files import read_json
from tests.support.messages import messages_in
from tests.support.project import ROOT, Project, environment, write_graph, write_params

ORDERS = ("$(touch {})", "x;touch {}", "`touch {}`", "x\ntouch {}\n", "x' ; touch {} '")
"""What a shell would obey; `{}` is a file that must not appear."""


def ran(project: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return Project(project, environment(project)).run(*arguments, timeout=300)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """dvc.yaml and the real stages, in a repository of DVC's without git."""
    monkeypatch.chdir(tmp_path)
    for name in ("adaptbert", "stages"):
        (tmp_path / name).symlink_to(ROOT / name)
    graph = params.read(ROOT / "dvc.yaml")
    graph["stages"]["plan"]["deps"] = ["params.yaml", "plan.json"]
    write_graph(json.dumps(graph))
    return tmp_path


def test_any_file_name_is_collected(project: Path, mlflow_tables: bytes) -> None:
    """By the real stages: blanks, quotes, what a shell would obey, a leading dash."""
    (project / "mlflow.db").write_bytes(mlflow_tables)
    document = params.read(ROOT / "presets/smoke.yaml")
    name = '-it\'s "quoted" $(touch TOUCHED).txt'
    (project / name).write_text("A line of words.\nAnother one.\n", encoding="utf-8")
    document["corpora"]["domain"] = {"path": name}
    table = 'train; touch "TOUCHED" .csv'
    rows = "".join(f"text number {i},{'ab'[i % 2]}\n" for i in range(40))
    (project / table).write_text(f"text,label\n{rows}", encoding="utf-8")
    document["tasks"]["section"] = {
        "type": "text-classification",
        "train": table, "dev": table, "test": table, "split": {"dev": 0.2, "test": 0.2},
    }  # fmt: skip
    write_params(project, document)
    done = ran(project, "dvc", "repro", "collect@domain", "collect_task@section")
    assert done.returncode == 0, done.stdout
    manifest = read_json(project / "data/raw/corpora/domain/manifest.json")
    assert (manifest["rows"], name in json.dumps(manifest).replace('\\"', '"')) == (2, True)
    assert (project / "data/raw/tasks/section/test.parquet").is_file()
    assert sorted(path.name for path in project.rglob("TOUCHED*")) == []


@pytest.fixture
def precious(project: Path) -> list[Path]:
    """The smoke recipe, files that a name could lead to, and files in outputs of an earlier run."""
    write_params(project, params.read(ROOT / "presets/smoke.yaml"))
    outside = project.parent / f"{project.name}-outside"
    paths = [project / "notes/page", *(outside / str(i) / "page" for i in range(4))]
    paths += [project / name / "kept" for name in ("data/raw/corpora/general", "models/pretrain/small")]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text("kept", encoding="utf-8")
    return paths


def test_a_name_of_params_that_is_none_costs_nothing(project: Path, precious: list[Path]) -> None:
    """It leads elsewhere, or a shell would obey it: it comes into no plan, and a plain `dvc repro` stops."""
    before = (project / PLAN).read_bytes()
    document = params.read(project / "params.yaml")
    names = [*(f"../../../../{project.name}-outside/{i}" for i in (2, 3)), *orders()]
    document["corpora"] |= dict.fromkeys(names, document["corpora"]["domain"])
    document["tasks"] |= {f"{name}_": document["tasks"]["section"] for name in names}
    (project / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
    for command in (["adaptbert.cli", "plan"], ["dvc", "repro", "--keep-going"]):
        done = ran(project, *command)
        lines = [line for line in messages_in(done.stdout) if "AB-112" in line]
        assert (len(lines), done.returncode != 0) == (2 * len(names), True), done.stdout
    assert (project / PLAN).read_bytes() == before
    assert_untouched(project, precious)


def test_a_name_of_the_plan_that_is_none_costs_nothing(project: Path, precious: list[Path]) -> None:
    """A plain `dvc repro` removes the outputs of a stage before it looks for inputs or runs anything, and a name stands
    in their paths and commands. `--keep-going`: whatever does not depend on the first stage is run as well."""
    tables = read(project / PLAN).model_dump(by_alias=True)
    elsewhere = ["../../notes", *(f"../../../{project.name}-outside/{i}" for i in range(2))]
    for stage, name in zip(("domain_transfer", "task_transfer", "finetune"), elsewhere, strict=True):
        entry = next(iter(tables[stage].values()))
        tables[stage][name] = entry | {field: "no" for field in ("base", "task", "corpus", "from") if field in entry}
        for order in orders():
            tables[stage][order] = entry | {field: order for field in ("task", "corpus") if field in entry}
    (project / PLAN).write_text(json.dumps({"plan": tables}), encoding="utf-8")
    done = ran(project, "dvc", "repro", "--keep-going")
    (line,) = [line for line in messages_in(done.stdout) if "AB-" in line]
    assert line.startswith("error: AB-210 plan.json: older than params.yaml: ")
    assert f"to be removed: domain_transfer@{elsewhere[0]}" in line
    assert done.returncode == 255
    assert_untouched(project, precious)


def orders() -> list[str]:
    return [order.format("TOUCHED") for order in ORDERS]


def assert_untouched(project: Path, precious: list[Path]) -> None:
    assert [path for path in precious if not path.is_file()] == []
    assert sorted(path.name for path in project.rglob("TOUCHED*")) == []
