"""What all commands have in common: help, folders in which none can work, files that the user may not read or write;
and what `adaptbert doctor` says of a machine."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from adaptbert.cli import app
from adaptbert.commands import doctor
from adaptbert.commands.doctor import Finding
from tests.support.commands import run
from tests.support.imports import ROOT
from tests.support.own_project import rows
from tests.support.processors import ON_CPU, SLOW, processor
from tests.support.project import environment
from tests.support.toy_flow import FOUR_STAGES, Toy, init_dvc, write_project

COMMANDS = sorted(get_command(app).commands)  # type: ignore[attr-defined]


def test_the_installed_command() -> None:
    """From a shell."""
    command = Path(sys.executable).with_name("adaptbert")
    done = subprocess.run([command, "--version"], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"adaptbert {metadata.version('adaptbert')}\n", "")


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_no_help_is_cut(columns: int, command: list[str]) -> None:
    done = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": str(columns)}, terminal_width=columns)
    assert done.exit_code == 0
    assert "..." not in re.sub(r"[\[{](ARGS|FILE|NAME)[\]}]\.\.\.", "", done.output), done.output


def test_what_pyproject_ships_is_there() -> None:
    """A project has each file at the place where it lies here; a checker of types takes ours only with py.typed."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    for name, place in build["targets"]["wheel"]["force-include"].items():
        assert (ROOT / name).exists(), name
        assert place == f"adaptbert_template/{name}"
    assert (ROOT / "adaptbert/py.typed").is_file()


NO_PROJECT = (
    "AB-114 {}: no folder .dvc: not the folder of a project\n  change to the project (cd), and run again; or make one"
)
UNFIT = "AB-198 {}: the path has a %s cannot work there\n  move the project, or rename its folder\n"
BRACES, CODES = UNFIT % "brace, and DVC", UNFIT % "? or a % code, and MLflow and Prefect"


@pytest.mark.parametrize(
    ("name", "message", "command"),
    [
        *(("plain", NO_PROJECT, command) for command in ("check", "plan", "import .")),
        *(
            (name, message, command)
            for name, message in (("a {b}", BRACES), ("a?", CODES), ("a%2Fb", CODES))
            for command in ("check", "plan", "new . --train x.csv", "import .")
        ),
    ],
)
def test_a_folder_that_can_be_no_project(
    command: str, name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message at first, whatever lies there, and nothing is written."""
    folder = tmp_path / name
    folder.mkdir()
    if message != NO_PROJECT:
        (folder / ".dvc").mkdir()
    monkeypatch.chdir(folder)
    before = [*folder.iterdir()]
    done = run(*command.split())
    assert (done.exit_code, done.stdout, [*folder.iterdir()]) == (78, "", before)
    assert done.stderr.startswith(f"error: {message.format(folder)}")


# ---- what the user may not read or write

PARAMS, PLAN = Path("params.yaml"), Path("plan.json")
AS_A_USER = (
    ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    if os.geteuid() == 0
    else []
)
"""Root may read and write everything: without these two capabilities it may not."""


@pytest.mark.skipif(bool(AS_A_USER) and shutil.which("setpriv") is None, reason="root without setpriv")
@pytest.mark.parametrize(
    ("command", "shut", "mode", "what"),
    [
        ("add-task --train data/all.jsonl --yes", ".", 0o555, "write into this folder"),
        ("check", ".", 0o555, "write into this folder"),
        ("check", "plan.json", 0, "read it"),
    ],
)
def test_what_the_user_may_not_do(command: str, shut: str, mode: int, what: str, project: Path) -> None:
    """One message, and no traceback."""
    Path("data/all.jsonl").write_text(rows(100))
    shutil.copy(ROOT / "dvc.lock", project)
    before = PARAMS.read_bytes(), PLAN.read_bytes()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    arguments = [*AS_A_USER, sys.executable, "-m", "adaptbert.cli", *command.split()]
    Path(shut).chmod(mode)
    try:
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=120)
    finally:
        Path(shut).chmod(0o755)
    remedy = "give yourself the permission (chmod), or ask the owner of it; then run again\n"
    place = project if shut == "." else shut
    message = f"error: AB-184 {place}: you have no permission to {what}\n  {remedy}"
    assert (done.returncode, done.stderr) == (74, message)
    assert (PARAMS.read_bytes(), PLAN.read_bytes()) == before


@pytest.mark.skipif(bool(AS_A_USER) and shutil.which("setpriv") is None, reason="root without setpriv")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_output_that_the_user_may_not_write(tmp_path: Path, suffix: str) -> None:
    """The message names the folder, not the temporary file; without a model, by what `predict` writes with."""
    (tmp_path / "shut").mkdir(0o555)
    code = f"""
from pathlib import Path
from collections import Counter
from adaptbert.runtime.user_errors import user_errors
from adaptbert.commands.predict import _ended
from adaptbert.prediction.outputs import open_output
out = Path("shut/answers{suffix}")
with user_errors(), _ended(out), open_output(out, "class", Counter(), details=False) as write:
    pass
"""
    done = subprocess.run(
        [*AS_A_USER, sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 74, done.stderr
    assert done.stderr.startswith("error: AB-184 shut: you have no permission to write into this folder\n")


# ---- the machine


@pytest.mark.parametrize(
    ("finding", "verdict", "remedy"),
    [
        (doctor.room(10 * 2**30), "ok", ""),
        (doctor.room(2 * 2**30), "warn", "dvc cache dir"),
        (doctor.room(2**20), "FAIL", "free some"),
    ],
)
def test_findings(finding: Finding, verdict: str, remedy: str) -> None:
    assert (finding[0], remedy in finding[3]) == (verdict, True), finding


def test_doctor_fails_where_the_recipe_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("doctor")
    assert done.exit_code == 1
    assert re.search(r"│ FAIL +│ folder +│ no folder .dvc: not the", done.output)
    assert re.fullmatch(r"FAIL 1, warn \d of 5: the last column says what to do", done.output.splitlines()[-1])
    assert not list(tmp_path.iterdir())


def test_doctor_shows_no_credential_that_a_cell_would_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("adaptbert.commands.doctor.opened", lambda: [("FAIL", "DVC", f"https://me:{'pw' * 40}@x", "")])
    monkeypatch.setattr("adaptbert.commands.doctor.device", list)
    said = run("doctor").output
    assert "https://***@x" in said
    assert "pw" not in said


@pytest.mark.slow
def test_doctor_opens_what_a_recipe_opens(tmp_path: Path) -> None:
    """MLflow refuses a plain folder, git has no commit, DVC's settings are damaged, no proxy of this kind is known."""
    write_project(tmp_path, FOUR_STAGES)
    init_dvc(tmp_path, "[core\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    toy = Toy(tmp_path, environment(tmp_path) | {"MLFLOW_TRACKING_URI": "./mlruns", "ALL_PROXY": "socks4://me:pw@x:1"})
    done = toy.without_server().run("adaptbert.cli", "doctor", timeout=300)
    assert done.returncode == 1
    found = re.findall(r"^│ (warn|FAIL) +│ (\w+) ", done.stdout, re.MULTILINE)
    assert [each for each in found if each[1] not in ("disk", "user")] == [
        ("warn", "git"),
        ("FAIL", "DVC"),
        ("FAIL", "MLflow"),
        ("FAIL", "Prefect"),
    ]
    assert "Traceback" not in done.stdout
    assert "pw" not in done.stdout
    assert "pip install 'httpx[socks]'" in done.stdout


@ON_CPU
def test_doctor_says_what_precision_auto_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    processor(monkeypatch, SLOW)
    assert [*doctor.device()][-1][2].startswith("auto takes 32-true: float32 3.3 times as fast as bf16 here")
