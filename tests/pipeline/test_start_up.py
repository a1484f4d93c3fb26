"""What a stage loads: counted in modules, because seconds belong to a machine. Importing is most of a small stage.

Libraries have a floor (docs/decisions/0030): MLflow's client loads 1,800 modules, torch with Lightning 3,100.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.imports import ROOT, modules
from tests.support.project import clone

CHECKED = """
import sys
import {stage}
from adaptbert.runtime.stage import checked, quieten
quieten()
checked()
print(*sys.modules)
"""
BEFORE_WORK = 720
"""Modules with which a stage has checked params.yaml, those of all other stages' sections among them."""
LATER = {"torch", "transformers", "pytorch_lightning", "mlflow", "pandas", "pyarrow", "joblib", "sklearn"} | {
    f"scipy.{part}" for part in ("special", "stats", "optimize", "sparse")
}
"""`import scipy` alone is cheap, and loads none of its parts."""

TRACKED, WITH_TORCH, WITH_LIGHTNING = 3_000, 5_200, 6_200
WHOLE = {
    "plan": BEFORE_WORK,
    "collect": TRACKED,
    "collect_task": TRACKED,
    "validate": TRACKED,
    "tokenizer": TRACKED,
    "tokenize": TRACKED,
    "measure": WITH_TORCH,
    "pretrain": WITH_LIGHTNING,
    "domain_transfer": WITH_LIGHTNING,
    "task_transfer": WITH_LIGHTNING,
    "finetune": WITH_LIGHTNING,
    "compare": 4_000,
}
"""Stage -> most modules at its end, a tenth above what was counted."""


@pytest.mark.parametrize("stage", [name for name in modules("stages") if name != "stages"])
def test_little_is_loaded_before_a_stage_works(stage: str) -> None:
    command = [sys.executable, "-c", CHECKED.format(stage=stage)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded & LATER == set()
    assert len(loaded) <= BEFORE_WORK


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_stage_loads_what_it_needs_and_no_more(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    project = clone(tmp_path / "clone", tmp_path)
    path = os.pathsep.join([str(ROOT / "tests" / "support" / "start_up"), project.env.get("PYTHONPATH", "")])
    project = replace(project, env=project.env | {"PYTHONPATH": path, "MODULES_LOG": str(log)})
    assert project.run("adaptbert.cli", "use", "smoke").returncode == 0
    done = project.run("dvc", "repro", timeout=900)
    assert done.returncode == 0, done.stdout
    most: dict[str, int] = {}
    for file in log.iterdir():
        stage = file.name.partition("-")[0].partition("@")[0]
        most[stage] = max(most.get(stage, 0), len(file.read_text("utf-8").splitlines()))
    print(most)
    assert most.keys() == WHOLE.keys()
    assert {stage: count for stage, count in most.items() if count > WHOLE[stage]} == {}
