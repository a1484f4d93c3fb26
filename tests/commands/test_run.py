"""`adaptbert.run`: the commands of a recipe, from Python."""

import subprocess
import sys
from pathlib import Path

import pytest

import adaptbert


@pytest.mark.parametrize("code", [0, 78])
def test_run_plans_checks_and_trains(code: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With commands of the folder in place of the real ones, which come first there, as in a clone."""
    say = "import shutil, sys; print(*sys.argv[1:], shutil.which('python'))"
    (tmp_path / "adaptbert").mkdir()
    (tmp_path / "adaptbert/__init__.py").touch()
    (tmp_path / "adaptbert/cli.py").write_text(f"{say}; sys.exit({code} * (sys.argv[1] == 'check'))")
    (tmp_path / "dvc.py").write_text(say)
    python = Path(sys.executable).parent / "python"
    if code:
        with pytest.raises(subprocess.CalledProcessError, match="78"):
            adaptbert.run("finetune", folder=tmp_path)
    else:
        adaptbert.run("finetune", folder=str(tmp_path))
    said = [f"plan {python}", f"check {python}", *([] if code else [f"repro finetune {python}"])]
    assert capfd.readouterr().out.splitlines() == said
