"""The code that a stage depends on: folders in dvc.yaml, the same in the key that identifies an unfinished run.

`adaptbert/runtime`, `adaptbert/project` and the files directly in adaptbert/ carry: they can stop a stage, never change
what it writes, and so are dependencies of nothing.
"""

import ast
from collections import defaultdict
from importlib import import_module

import pytest

from adaptbert.runtime.params import params_file
from tests.support.imports import ROOT, is_code, modules, package, reached, source

CARRYING = ("runtime", "project")
STAGES = params_file.read(ROOT / "dvc.yaml")["stages"]

TAKEN = {
    "signals": "the end of a step is where a signal is heeded",
    "allocator.keep_freed_memory": "a setting of the C library; no value comes back",
    "locks.finish": "marks a run as finished; no value comes back",
    "params.params_file": "reads the YAML file of a data set of the hub, as params.yaml is read",
    "peak_flops.matmul_peak": "a speed, for the progress line and the tracking run",
    "progress.Progress": "prints; no value comes back",
    "tracking.run.Run": "records; no value comes back",
    "worker_pool.in_order": "gives back what the function gave, in order (tests/runtime/test_worker_pool.py)",
    "worker_pool.batch_workers": "how many processes; batches are functions of seed and number",
    "worker_pool.workers": "how many processes; the answers are the same for any number",
}
"""What code that decides a result takes from code that carries, and why that cannot change the result."""


def deciding() -> list[str]:
    """Modules that decide what some stage writes."""
    return [name for name in modules("adaptbert") if package(name) and not package(name).startswith(CARRYING)]


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_code_deps_are_the_folders_that_are_imported(stage: str) -> None:
    deps = STAGES[stage].get("do", STAGES[stage])["deps"]
    declared = {dep.removeprefix("adaptbert/").replace("/", ".") for dep in deps if dep.startswith("adaptbert")}
    folders = {package(name) for name in reached(f"stages.{stage}", but=CARRYING) if name.startswith("adaptbert.")}
    folders.discard("")
    assert f"stages/{stage}.py" in deps
    assert [name for name in declared if not any(covers(name, folder) for folder in folders)] == [], "not imported"
    assert [folder for folder in folders if not any(covers(name, folder) for name in declared)] == [], "not declared"


def covers(declared: str, folder: str) -> bool:
    return folder == declared or folder.startswith(f"{declared}.")


@pytest.mark.parametrize("name", sorted(STAGES))
def test_an_unfinished_run_is_known_by_the_code_that_its_stage_depends_on(name: str) -> None:
    stage = import_module(f"stages.{name}").STAGE
    deps = [dep for dep in STAGES[name].get("do", STAGES[name])["deps"] if is_code(dep)]
    assert list(stage.code) == (deps if "work" in stage.hints() else [])


def test_no_stage_depends_on_code_that_carries() -> None:
    deps = [dep for stage in STAGES.values() for dep in stage.get("do", stage)["deps"]]
    assert [dep for dep in deps if dep.startswith(tuple(f"adaptbert/{name}" for name in CARRYING))] == []
    assert [dep for dep in deps if dep.startswith("adaptbert/") and dep.endswith(".py")] == []


def test_what_is_taken_from_code_that_carries() -> None:
    taken: dict[str, set[str]] = defaultdict(set)
    for module in deciding():
        if package(module).startswith("prediction"):  # no stage
            continue
        path = source(module)
        assert path is not None
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adaptbert.runtime"):
                below = (node.module or "").removeprefix("adaptbert.runtime").removeprefix(".")
                for alias in node.names:
                    taken[f"{below}.{alias.name}".removeprefix(".")].add(module)
    assert set(taken) == set(TAKEN), dict(taken)
