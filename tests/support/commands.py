"""Commands as a user calls them, in a project of their own."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from adaptbert.cli import app
from tests.support import demonstration
from tests.support.imports import ROOT

DEMO = Path(__file__).with_name("recipe.yaml").read_text(encoding="utf-8")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def in_a_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the test then stands in: stages, presets and data of this project, the demo and its ladder."""
    for name in ("stages", "presets", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/sources").symlink_to(ROOT / "data/sources")
    demonstration.copy(tmp_path, most=50)
    shutil.copy(ROOT / "plan.json", tmp_path)
    (tmp_path / "params.yaml").write_text(DEMO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path
