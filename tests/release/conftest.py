"""A task of every kind, learnt, for all files of this folder; and a project with a store of its own."""

from pathlib import Path

import pytest

from tests.support.cells import Project
from tests.support.predicting import learnt
from tests.support.shared import made_once


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return made_once(tmp_path_factory, "predicting", learnt)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path
