"""A project of a user in a repository of its own, for tests of `project` and `planning`."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import in_a_demo
from tests.support.imports import ROOT

WORDS = ["The room was clean.", "We waited for an hour.", "Never again!", "A quiet place to work.", "They were kind."]


def rows(count: int, begin: int = 0) -> str:
    """JSON lines of sentences with one of two labels."""
    numbers = range(begin, begin + count)
    each = [{"sentence": f"{WORDS[n % 5]} Room {n}.", "label": ["bad", "good"][n % 2]} for n in numbers]
    return "".join(json.dumps(row) + "\n" for row in each)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demonstration in a repository of its own, of git and of DVC, in which the process stands."""
    (tmp_path / "project/.dvc").mkdir(parents=True)
    root = in_a_demo(tmp_path / "project", monkeypatch)
    for name in (".dvc/config", ".gitignore"):
        shutil.copy(ROOT / name, root / name)
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "dvc"))
    subprocess.run(["git", "init", "-q"], check=True)
    return root


@pytest.fixture
def own(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user's files in it; all are opened, also on a busy machine."""
    monkeypatch.setattr("adaptbert.planning.preflight.SECONDS", 250.0)
    folder = project / "data/own"
    folder.mkdir(exist_ok=True)
    return folder
