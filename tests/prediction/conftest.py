"""A task of every kind, trained a little, for all files of this folder."""

import pytest

from tests.support.cells import Project
from tests.support.predicting import KINDS, LEARNT, ROWS


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Texts of up to 90 tokens are read in windows or cut."""
    project_dir = Project(tmp_path_factory.mktemp("project"), KINDS, ROWS)
    for task, (shape, _) in KINDS.items():
        windows = {"long_text": "windows", "stride": 20} if shape == "single_sentence" else {}
        project_dir.finetune(task, "general", windows, **LEARNT)
    return project_dir
