"""Which unfinished run a stage goes on with: one of the same values, inputs and code."""

from pathlib import Path

import pytest

from adaptbert.training.resume import Work

VALUES = {"seed": 1, "data": ["a", "b"]}


def test_an_edit_of_its_code_begins_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The digest of the code is that of tests/pipeline/test_code_digest.py."""
    Work(tmp_path, "1f").begin(VALUES)
    assert not Work(tmp_path, "2e").is_begun(VALUES)
    Work(tmp_path, "2e").begin(VALUES)
    assert "it had other code\n" in capsys.readouterr().out
    assert Work(tmp_path, "1f").is_begun(VALUES), "both runs remain"
