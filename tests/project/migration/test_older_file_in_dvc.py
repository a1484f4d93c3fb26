"""DVC itself reads dvc.yaml beside an older params.yaml, so that the first stage can say what is to be done."""

import shutil
from pathlib import Path

import pytest

from adaptbert.project.repository import open_repository
from tests.support import older_params
from tests.support.imports import ROOT


def test_the_first_stage_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older_params.place(tmp_path, older_params.text(), monkeypatch)
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / ".site"))
    for name in (".dvc/config", "dvc.yaml", "ladder.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    with open_repository() as repo:
        stages = {stage.addressing: stage for stage in repo.index.stages}
        assert "finetune@section-domain-small-1" in stages
        (first,) = [name for name, stage in stages.items() if not [dep for dep in stage.deps if "data" in str(dep)]]
    assert first == "ladder"
