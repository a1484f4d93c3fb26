"""Which unfinished run a stage goes on with: one of the same values, inputs and code."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adaptbert.training import resume
from adaptbert.training.resume import Work

CODE = ["adaptbert/model", "stages/pretrain.py"]
FILES = ("adaptbert/model/encoder.py", "adaptbert/model/heads/linear.py", "stages/pretrain.py")
VALUES = {"seed": 1, "data": ["a", "b"]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of code, and an unfinished run of its stage."""
    for name in (*FILES, "adaptbert/report/page.py", "stages/finetune.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("value = 1\n")
    monkeypatch.setattr(resume, "ROOT", tmp_path)
    Work(tmp_path / ".work", CODE).begin(VALUES)
    return tmp_path


def is_begun(project: Path) -> bool:
    return Work(project / ".work", CODE).is_begun(VALUES)


@pytest.mark.parametrize("name", FILES)
def test_an_edit_of_its_code_begins_anew(project: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (project / name).write_text("value = 2\n")
    assert not is_begun(project)
    Work(project / ".work", CODE).begin(VALUES)
    assert f"it had other code.{name}\n" in capsys.readouterr().out
    (project / name).write_text("value = 1\n")
    assert is_begun(project), "both runs remain"


@pytest.mark.parametrize(
    ("name", "goes_on"),
    [
        ("adaptbert/model/pooler.py", False),
        ("adaptbert/report/page.py", True),
        ("stages/finetune.py", True),
        ("adaptbert/model/.#encoder.py", True),
        ("adaptbert/model/__pycache__/encoder.cpython-311.pyc", True),
    ],
)
def test_a_new_module_begins_anew_and_other_files_do_not(project: Path, name: str, goes_on: bool) -> None:
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("value = 3\n")
    assert is_begun(project) is goes_on
