"""What is loaded: counted in modules, because seconds belong to a machine. Importing is most of a small stage.

Libraries have a floor (docs/decisions/0030). What a stage has loaded at its end, tests/stages/test_collect.py counts.
"""

import subprocess
import sys

import pytest

from tests.support.imports import ROOT, imports, modules, reached

CHECKED = """
import sys
import {names}
from adaptbert.planning.rules import checked
from adaptbert.runtime.libraries import quieten
quieten()
checked()
print(*sys.modules)
"""
LATER = {"torch", "transformers", "pytorch_lightning", "mlflow", "pandas", "pyarrow", "pandera", "datasets", "joblib"}
LATER |= {"sklearn", *(f"scipy.{part}" for part in ("special", "stats", "optimize", "sparse"))}
"""`import scipy` alone is cheap, and loads none of its parts."""
TRAINS = {"torch", "transformers", "pytorch_lightning"}
HEAVY = TRAINS | {"sklearn", "pandera", "optuna"}
NEEDED = {"validate": {"pandera"}, "compare": {"sklearn"}, "finetune": TRAINS | {"sklearn", "optuna"}}
NEEDED |= dict.fromkeys(("pretrain", "domain_transfer", "task_transfer"), TRAINS)
NEEDED |= {"measure": {"torch", "transformers"}}
NEEDED |= {stage: {"transformers"} for stage in ("tokenizer", "tokenize")}
"""Stage -> libraries that take a second to load, of those that its code imports, at whatever place."""


@pytest.mark.parametrize(
    ("names", "most"), [(modules("stages"), 580), (["adaptbert.cli"], 580), (["flows.recipe"], 1600)]
)
def test_a_bad_value_is_reported_before_anything_heavy_is_loaded(names: list[str], most: int) -> None:
    """All stages in one process have checked params.yaml with so many modules, a tenth above what was counted."""
    command = [sys.executable, "-c", CHECKED.format(names=", ".join(names))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded & LATER == set()
    assert len(loaded) <= most


def test_a_training_stage_loads_numpy_after_the_number_of_threads_is_set() -> None:
    """`prepare_libraries` sets it when the stage begins to run."""
    stages = ", ".join(f"stages.{stage}" for stage, needed in NEEDED.items() if needed >= TRAINS)
    loaded = f"import sys, {stages}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, check=False).returncode == 0


def test_a_stage_needs_these_libraries_and_no_other() -> None:
    libraries = {
        stage.removeprefix("stages."): {name.partition(".")[0] for each in reached(stage) for name in imports(each)}
        for stage in modules("stages")[1:]
    }
    assert {stage: names & HEAVY for stage, names in libraries.items() if names & HEAVY} == NEEDED


def test_a_name_is_imported_when_it_is_used() -> None:
    code = """
import sys
import adaptbert
def loaded(): return {"torch", "pandas", "mlflow", "pydantic"} & set(sys.modules)
assert not loaded(), loaded()
adaptbert.read_comparison, adaptbert.run
assert "torch" not in loaded()
for name in adaptbert.__all__:
    assert getattr(adaptbert, name).__doc__, name
assert set(dir(adaptbert)) == set(adaptbert.__all__)
adaptbert.nothing
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr.endswith("AttributeError: module 'adaptbert' has no attribute 'nothing'\n"), done.stderr
