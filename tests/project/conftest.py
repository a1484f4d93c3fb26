"""A project that a real DVC has run, for the tests of what DVC leaves behind."""

import subprocess
from pathlib import Path

import pytest

from tests.support.small_graph import reproduce


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reproduce(tmp_path_factory.mktemp("project"))


@pytest.fixture
def project(reproduced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the current folder."""
    subprocess.run(["cp", "-a", f"{reproduced}/.", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
