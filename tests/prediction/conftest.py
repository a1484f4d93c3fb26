"""A task of every kind, learnt, for all files of this folder."""

import pytest

from tests.support.cells import Project
from tests.support.predicting import learnt
from tests.support.shared import made_once


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Texts of up to 90 tokens are read in windows or cut."""
    return made_once(tmp_path_factory, "predicting", learnt)
