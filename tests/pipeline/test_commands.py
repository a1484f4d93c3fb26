"""params.yaml cannot write commands: a path that a shell would obey is read as it is, and a name refused. Real DVC."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adaptbert.config import load as params
from adaptbert.config.plan import PLAN, read
from tests.support.imports import is_code
from tests.support.messages import messages_in
from tests.support.project import ROOT, environment, write_params

ORDERS = ("$(touch {})", "x;touch {}", "`touch {}`", "x\ntouch {}\n", "x' ; touch {} '")
"""What a shell would obey; `{}` is a file that must not appear."""


def ran(project: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=project, env=environment(project), capture_output=True, text=True, timeout=300)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """dvc.yaml without the code that stages depend on, in a repository of DVC's without git."""
    monkeypatch.chdir(tmp_path)
    graph = params.read(ROOT / "dvc.yaml")
    for values in graph["stages"].values():
        stage = values.get("do", values)
        stage["deps"] = [dep for dep in stage["deps"] if not is_code(dep)]
    (tmp_path / "dvc.yaml").write_text(json.dumps(graph), encoding="utf-8")
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    return tmp_path


def test_any_file_name_is_collected(project: Path) -> None:
    """By the real stages: blanks, quotes, what a shell would obey, a leading dash."""
    for name in ("adaptbert", "stages"):
        (project / name).symlink_to(ROOT / name)
    document = params.read(ROOT / "presets/smoke.yaml")
    names = ["-x.txt", 'it\'s "quoted" $(touch TOUCHED).txt']
    corpora = dict(zip(("general", "domain"), names, strict=True))
    for name in names:
        (project / name).write_text(f"A line of {len(name)} words.\nAnother one.\n", encoding="utf-8")
    table = 'train; touch "TOUCHED" .csv'
    rows = "".join(f"text number {i},{'ab'[i % 2]}\n" for i in range(40))
    (project / table).write_text(f"text,label\n{rows}", encoding="utf-8")
    document["corpora"] = {key: {"path": name} for key, name in corpora.items()}
    document["tasks"]["section"] = {
        "type": "text-classification",
        "train": table, "dev": table, "test": table, "split": {"dev": 0.2, "test": 0.2},
    }  # fmt: skip
    write_params(project, document)
    done = ran(project, "dvc", "repro", *(f"collect@{key}" for key in corpora), "collect_task@section")
    assert done.returncode == 0, done.stdout + done.stderr
    for key, name in corpora.items():
        manifest = json.loads((project / f"data/raw/corpora/{key}/manifest.json").read_text(encoding="utf-8"))
        assert (manifest["rows"], name in json.dumps(manifest, ensure_ascii=False).replace('\\"', '"')) == (2, True)
    assert (project / "data/raw/tasks/section/test.parquet").is_file()
    assert sorted(path.name for path in project.rglob("TOUCHED*")) == []


@pytest.fixture
def precious(project: Path) -> list[Path]:
    """The smoke recipe with the real stages, and files that a name could lead to."""
    for name in ("adaptbert", "stages"):
        (project / name).symlink_to(ROOT / name)
    write_params(project, params.read(ROOT / "presets/smoke.yaml"))
    outside = project.parent / f"{project.name}-outside"
    paths = [project / "notes/page", *(outside / str(i) / "page" for i in range(4))]
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
        lines = [line for line in messages_in(done.stdout + done.stderr) if "AB-112" in line]
        assert (len(lines), done.returncode != 0) == (2 * len(names), True), done.stdout + done.stderr
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
    (line,) = [line for line in messages_in(done.stdout + done.stderr) if "AB-" in line]
    assert line.startswith("error: AB-210 plan.json: older than params.yaml: ")
    assert f"to be removed: domain_transfer@{elsewhere[0]}" in line
    assert done.returncode == 255
    assert_untouched(project, precious)


def orders() -> list[str]:
    return [order.format("TOUCHED") for order in ORDERS]


def assert_untouched(project: Path, precious: list[Path]) -> None:
    assert [path for path in precious if not path.is_file()] == []
    assert sorted(path.name for path in project.rglob("TOUCHED*")) == []
