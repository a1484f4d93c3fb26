"""The code that a stage depends on: folders in dvc.yaml, the same in the key that identifies an unfinished run.

`adaptbert/runtime`, `project`, `commands` and the files directly in adaptbert/ carry: they can stop a stage, never
change what it writes, and so are dependencies of nothing.
"""

import ast
from collections import defaultdict
from importlib import import_module

import pytest

from adaptbert.runtime.params import params_file
from tests.support.imports import ROOT, is_code, modules, package, reached, source

CARRYING = ("runtime", "project", "commands")
STAGES = params_file.read(ROOT / "dvc.yaml")["stages"]

TAKEN = {
    "runtime.cluster": "which machines compute; sums of ranks and answers of maps are the same on each",
    "runtime.signals": "the end of a step is where a signal is heeded",
    "runtime.allocator.keep_freed_memory": "a setting of the C library; no value comes back",
    "runtime.libraries.same_bits": "a setting for CUDA, and a part of the key of a run",
    "runtime.locks.finish": "marks a run as finished; no value comes back",
    "runtime.params.params_file": "reads the YAML file of a data set of the hub, as params.yaml is read",
    "runtime.progress.Progress": "prints; no value comes back",
    "runtime.tracking.run.Run": "records; no value comes back",
    "runtime.worker_pool.in_order": "gives back what the function gave, in order (tests/runtime/test_worker_pool.py)",
    "runtime.worker_pool.batch_workers": "how many processes; batches are functions of seed and number",
    "runtime.worker_pool.workers": "how many processes; the answers are the same for any number",
    "errors.BadData": "ends the stage; its words reach no output",
    "errors.BadParams": "ends the stage",
    "errors.UserError": "ends the stage",
    "errors.raise_all": "ends the stage",
    "errors.nearest": "the name that a message proposes",
    "errors.shortened": "the name in a message",
    "errors.INTERNAL": "an exit code",
    "errors.IO_ERROR": "an exit code",
    "errors.TEMPORARY": "an exit code",
    "codes.Code": "numbers in rejected rows never change (tests/docs/test_error_codes.py)",
}
"""What code that decides a result takes from code that carries, and why that cannot change the result."""

TAKEN_BY_STAGES = {
    "errors.raise_all": "ends the stage",
    "runtime.stage.Stage": "calls the function; gives it the values of params.yaml and the paths of the command",
    "runtime.stage.PARAMS": "the name of params.yaml",
    "runtime.tracking.run.Run": "records; no value comes back",
    "runtime.params.expanded_ladder": "stops the stage where ladder.yaml is older than params.yaml",
    "runtime.params.params_file": "reads params.yaml for notices, which are printed",
    "runtime.params.params_file.flatten": "names the metrics of the tracking run",
    "runtime.worker_pool.workers": "how many processes; the answers are the same for any number",
    "project.leftovers": "removes outputs of names that params.yaml no longer has",
    "project.section_rules": "notices, which are printed",
}


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


def taken_from_carrying_code(module: str) -> set[str]:
    """`runtime.locks.finish`: each name that a module takes from code that carries."""
    path = source(module)
    assert path is not None
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    names: set[str] = set()
    for node in tree:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    below = {name.removeprefix("adaptbert.") for name in names if name.startswith("adaptbert.")}
    return {name for name in below if name.partition(".")[0] in (*CARRYING, "prediction") or is_at_the_root(name)}


def is_at_the_root(name: str) -> bool:
    """Whether the first word is a file directly in adaptbert/."""
    return (ROOT / "adaptbert" / f"{name.partition('.')[0]}.py").is_file()


def test_what_is_taken_from_code_that_carries() -> None:
    taken: dict[str, set[str]] = defaultdict(set)
    for module in deciding():
        if not package(module).startswith("prediction"):  # no stage
            for name in taken_from_carrying_code(module):
                taken[name].add(module)
    assert set(taken) == set(TAKEN), dict(taken)


def test_what_stages_take_from_code_that_carries() -> None:
    taken = {name for stage in STAGES for name in taken_from_carrying_code(f"stages.{stage}")}
    assert taken == set(TAKEN_BY_STAGES)


def test_code_that_decides_is_imported_by_its_name_in_the_source() -> None:
    """Else the tests above would not see it."""
    by_name = set()
    for module in [*deciding(), *(f"stages.{stage}" for stage in STAGES)]:
        path = source(module)
        assert path is not None
        tree = ast.parse(path.read_text(encoding="utf-8"))
        words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        words |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        if words & {"import_module", "__import__", "exec", "run_module", "run_path"}:
            by_name.add(module)
    assert by_name == set()


def test_packages_hold_one_docstring_and_no_code() -> None:
    """An `__init__` is run with every import below it, by stages that do not depend on its folder."""
    for path in (ROOT / "adaptbert").rglob("__init__.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert ast.get_docstring(ast.Module(body, [])), path
        assert len(body) == 1 or path.parent.name == "prediction", f"{path}: code; put it into a module"
    stages = ast.parse((ROOT / "stages/__init__.py").read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(stages) if isinstance(node, ast.ImportFrom)}
    assert imported == {"importlib.util"}, "it looks whether the packages of the project are installed, and no more"
