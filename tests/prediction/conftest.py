"""A task of every kind, learnt, for all files of this folder."""

from pathlib import Path

import pytest

from tests.support import tiny
from tests.support.cells import Project
from tests.support.predicting import KINDS, LEARNT, ROWS
from tests.support.shared import made_once


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Texts of up to 90 tokens are read in windows or cut."""
    return made_once(tmp_path_factory, "predicting", learnt)


def learnt(folder: Path) -> Project:
    made = Project(folder, KINDS, ROWS)
    tiny.pretrained(made.root / "models/pretrain", initializer_range=0.15)  # of vectors apart more is learnt in a step
    for task, (kind, target) in KINDS.items():
        windows = {"long_text": "windows", "stride": 20} if kind == "single_sentence" else {}
        is_hard = kind == "sentence_pair" or target == "labels"
        made.finetune(task, "general", windows, **LEARNT, labels=0 if is_hard else 192)
    return made
