"""A folder that is no checkpoint, or is not there."""

from pathlib import Path

import pytest

from adaptbert.errors import BadData
from adaptbert.model.checkpoint import Checkpoint


def test_not_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"AB-128 .*: no config.json: not a Hugging Face folder\n.*"):
        Checkpoint.load(tmp_path)
    (tmp_path / "mood-general").mkdir()
    with pytest.raises(BadData, match=r"no such folder \(did you mean 'mood-general'\?\)\n  there are mood-general"):
        Checkpoint.load(tmp_path / "mood-genral")


def test_a_name_without_start_or_draw_gets_those_that_there_are(tmp_path: Path) -> None:
    for name in ("mood-general-small", "mood-domain-small-1", "mood-domain-small-2", "mood-domain_task-small-1"):
        (tmp_path / name).mkdir()
    for lacking in ("mood-domain", "mood-domain-small"):
        with pytest.raises(BadData) as refused:
            Checkpoint.load(tmp_path / lacking)
        assert str(refused.value) == (
            f"AB-128 {tmp_path / lacking}: no such folder: a start and a draw belong to the name\n"
            "  there are mood-domain-small-1, mood-domain-small-2"
        )
    with pytest.raises(BadData, match=r"no such folder \(did you mean 'mood-general-small'\?\)\n  there are mood-"):
        Checkpoint.load(tmp_path / "mood-general")
