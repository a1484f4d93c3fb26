import shutil
from pathlib import Path

import pytest

from tests.support.imports import ROOT


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the parameters of the preset `smoke`, the stages of this project, and a store of its own."""
    shutil.copy(ROOT / "presets/smoke.yaml", tmp_path / "params.yaml")
    (tmp_path / "stages").symlink_to(ROOT / "stages")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path
