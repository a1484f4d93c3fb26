"""A folder or a file that the user may not read or write: one message, and no traceback."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.conftest import rows
from tests.support.imports import ROOT

PARAMS, PLAN = Path("params.yaml"), Path("plan.json")
AS_A_USER = (
    ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    if os.geteuid() == 0
    else []
)
"""Root may read and write everything: without these two capabilities it may not."""
pytestmark = pytest.mark.skipif(bool(AS_A_USER) and shutil.which("setpriv") is None, reason="root without setpriv")
REMEDY = "\n  give yourself the permission (chmod), or ask the owner of it; then run again\n"


@pytest.fixture(autouse=True)
def _writable_again(project: Path) -> Iterator[None]:
    yield
    project.chmod(0o755)


def run(*arguments: str) -> tuple[int, str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*AS_A_USER, sys.executable, "-m", "adaptbert.cli", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", ["add-task --train data/all.jsonl --yes", "check"])
def test_a_folder_that_may_not_be_written(command: str, project: Path) -> None:
    """Every stage would fail there."""
    Path("data/all.jsonl").write_text(rows(100))
    shutil.copy(ROOT / "dvc.lock", project)
    before = PARAMS.read_bytes(), PLAN.read_bytes()
    project.chmod(0o555)
    problem = f"error: AB-184 {project}: you have no permission to write into this folder"
    assert run(*command.split()) == (74, problem + REMEDY)
    assert (PARAMS.read_bytes(), PLAN.read_bytes()) == before


def test_a_file_that_may_not_be_read() -> None:
    PLAN.chmod(0)
    assert run("check") == (74, f"error: AB-184 {PLAN}: you have no permission to read it{REMEDY}")
