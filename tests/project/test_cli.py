"""What all commands have in common."""

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from adaptbert.cli import app
from tests.support.imports import ROOT

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
    assert "..." not in done.output.replace("[ARGS]...", "").replace("{FILE}...", ""), done.output


def test_what_pyproject_ships_is_there() -> None:
    """A checker of types takes ours only where py.typed lies."""
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    for pattern in shipped["adaptbert"]:
        assert list((ROOT / "adaptbert").glob(pattern)), pattern
