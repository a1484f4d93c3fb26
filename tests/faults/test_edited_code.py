"""A run that was killed goes on after an edit of code that it does not read, and begins anew after one that it does."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adaptbert.runtime.params import params_file as params
from tests.faults.small_project import COMMANDS, make
from tests.support.project import ROOT, environment, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a copy of the library, to be edited."""
    root = tmp_path_factory.mktemp("project")
    make(root, accumulate=1)
    shutil.copytree(ROOT / "adaptbert", root / "adaptbert")
    document = params.read(root / "params.yaml")
    document["pretrain"]["all"]["budget"] = {"steps": 300}
    document["finetune"]["section"] |= {"epochs": 60, "seeds": [1]}
    (root / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
    return root


def started(project: Path, stage: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", f"stages.{stage.split()[0]}", *COMMANDS[stage].split()],
        cwd=project,
        env=environment(project) | {"ADAPTBERT_SAVE_SECONDS": "0.05", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finished(project: Path, stage: str) -> str:
    """What the stage prints to its end."""
    process = started(project, stage)
    printed, _ = process.communicate()
    assert process.returncode == 0, printed
    return printed


def killed(project: Path, stage: str) -> None:
    """As soon as it has saved its state."""
    process = started(project, stage)
    wait_until(lambda: any((project / ".work").glob("*/*/**/*.safetensors")) or process.poll() is not None, 120)
    process.send_signal(signal.SIGKILL)
    printed, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL, printed


@pytest.mark.parametrize(
    ("stage", "edited", "begins_anew"),
    [
        ("pretrain", "adaptbert/comparison/report/page.py", False),
        ("pretrain", "adaptbert/runtime/progress.py", False),
        ("pretrain", "adaptbert/finetuning/metrics/calibration.py", False),
        ("pretrain", "adaptbert/pretraining/masking.py", True),
        ("finetune section", "adaptbert/pretraining/masking.py", False),
        ("finetune section", "adaptbert/finetuning/metrics/calibration.py", True),
    ],
)
def test_an_edit_after_a_kill(project: Path, stage: str, edited: str, begins_anew: bool) -> None:
    shutil.rmtree(project / ".work", ignore_errors=True)
    if stage != "pretrain" and not (project / "models/scratch").is_dir():
        finished(project, "pretrain")
        shutil.rmtree(project / ".work")
    killed(project, stage)
    path = project / edited
    before = path.read_text(encoding="utf-8")
    path.write_text(f"{before}# looked at again\n", encoding="utf-8")
    try:
        printed = finished(project, stage)
    finally:
        path.write_text(before, encoding="utf-8")
    assert ("resumed after step" in printed) is not begins_anew, printed
    assert (f"an unfinished run is left alone: it had other code.{edited}\n" in printed) is begins_anew, printed
