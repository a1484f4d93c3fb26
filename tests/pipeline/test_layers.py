"""Packages import downward only."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from adaptbert.config.code_digest import running
from tests.support.imports import PACKAGES, ROOT, imports, module_name, modules, ours, package, reached, source

MAY_IMPORT = {
    "core": "",
    "config": "core",
    "runtime": "config core",
    "data": "config runtime core",
    "text": "data config runtime core",
    "model": "text config core",
    "training": "model config runtime core",
    "mlm": "training model text config runtime core",
    "tasks": "training model text data config runtime core",
    "statistics": "core",
    "linear": "data config core",
    "comparison": "linear statistics tasks.metrics mlm data config core",
    "report": "comparison statistics tasks.metrics mlm data config core",
    "prediction": "linear tasks data model text config runtime core",
    "release": "prediction report comparison linear statistics tasks data model text config runtime core",
    "planning": "comparison statistics tasks mlm training model text data config runtime core",
    "project": "planning comparison statistics model text data config runtime core",
    "flow": "project planning tasks mlm config runtime core",
    "commands": "flow project planning release prediction model data config runtime core",
}
"""Package -> what it may import besides itself and `adaptbert.errors`. The files directly in adaptbert/ (the command
line, `run_stage`) and stages/ may import everything."""

WITHIN = {"tasks.metrics": "data config core"}
"""Packages inside of others that may import less than these."""

# The core trains on a bare machine: torch, transformers, numpy, pyarrow.
CORE = ("core", "config", "model", "training", "mlm", "tasks")
PLATFORMS = {"mlflow", "pandera", "prefect", "dvc", "datasets"}
HEAVY = ["torch", "mlflow", "transformers", "pytorch_lightning", "sklearn", "pandera", "datasets"]

LIBRARY = [module for module in modules("adaptbert") if module != "adaptbert"]
FOLDERS = sorted({package(module) for module in LIBRARY})


def top(module: str) -> str:
    return package(module).partition(".")[0]


def below(name: str, parents: str) -> bool:
    """Whether a package is one of `parents`, or lies in one."""
    return any(name == parent or name.startswith(f"{parent}.") for parent in parents.split())


@pytest.mark.parametrize("module", [module for module in LIBRARY if package(module)])
def test_imports_point_downward(module: str) -> None:
    """What only a type checker sees counts as well."""
    here = package(module)
    narrow = next((words for name, words in WITHIN.items() if below(here, name)), None)
    allowed = f"{here} {narrow}" if narrow is not None else f"{top(module)} {MAY_IMPORT[top(module)]}"
    imported = set(ours(module, with_types=True)) - {"adaptbert"}
    others = [name for name in imported if package(name)]
    assert {name for name in imported if not package(name)} <= {"adaptbert.errors", "adaptbert.codes"}
    assert [name for name in others if not below(package(name), allowed)] == []
    assert [name for name in ours(module, with_types=True) if name.partition(".")[0] in ("stages", "flows")] == []


def test_the_table_is_the_tree() -> None:
    assert {name.partition(".")[0] for name in FOLDERS if name} == set(MAY_IMPORT)
    assert set(WITHIN) <= set(FOLDERS)


@pytest.mark.parametrize("of_packages", [False, True], ids=["modules", "packages"])
def test_no_circles(of_packages: bool) -> None:
    """`adaptbert.errors` may be used by all; a package within another counts as a part of it."""
    graph: dict[str, set[str]] = {}
    for module in LIBRARY:
        if module == "adaptbert.errors":
            continue
        here = top(module) if of_packages else module
        there = {top(name) if of_packages else name for name in ours(module, with_types=True)}
        graph.setdefault(here, set()).update(there - {here, "", "adaptbert", "adaptbert.errors"})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"circle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("module", [module for module in LIBRARY if below(package(module), " ".join(CORE))])
def test_core_imports_no_platform(module: str) -> None:
    packages = {name.partition(".")[0] for name in reached(module, but=("runtime",)) for name in imports(name)}
    assert packages & PLATFORMS == set()


def strings(node: ast.AST) -> Iterator[str]:
    """The texts of a syntax tree, with something in the place of each value; without docstrings."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in child.values)
        elif isinstance(child, ast.Constant) and isinstance(child.value, str) and not isinstance(node, ast.Expr):
            yield child.value
        yield from strings(child)


def is_importing(text: str) -> bool:
    """Whether a text is code that imports, or a part of such code."""
    if re.search(r"\b(from|import) +(adaptbert|stages|flows)\b", text):
        return True
    try:
        return any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):  # the second of a null byte
        return False


SHOWS_CODE = "adaptbert.report.answer"
"""The one module that has code as text: the report shows it, to be copied."""


def test_nothing_is_imported_by_a_string() -> None:
    """What tests of imports would not see. A process that loads other code runs a module by `-m`."""
    importing = set()
    for folder in PACKAGES:
        for module in modules(folder):
            path = source(module)
            assert path is not None
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            assert names & {"import_module", "__import__", "exec", "run_path"} == set(), module
            if any(map(is_importing, strings(tree))):
                importing.add(module)
    assert importing == {SHOWS_CODE}


@pytest.mark.parametrize(
    "code", ["'import json'", 'f"from adaptbert.{name} import {name}"', "'x = 1; import torch'", "'import stages'"]
)
def test_imports_in_strings_are_seen(code: str) -> None:
    assert is_importing(next(strings(ast.parse(f"x = {code}"))))


WARM = "adaptbert.flow.warm"
"""The one module of the flow that imports what stages import, in a function that runs in a process of its own."""


def test_flows_import_no_stage() -> None:
    for module in [*modules("flows"), *modules("adaptbert.flow")]:
        if source(module) is not None and module != WARM:
            assert {name.partition(".")[0] for name in imports(module)} & {"stages", *HEAVY} == set(), module


READS_PICKLES = "adaptbert.project.importing"
"""The one module that opens pickles, by the unpickler that builds tensors and nothing else."""


def test_torch_load_and_pickle_are_not_used() -> None:
    """What leaves a stage is safetensors, parquet and JSON; loading it runs nothing."""
    banned = {"pickle", "joblib", "dill", "shelve", "marshal"}
    for path in [path for folder in ("adaptbert", "stages") for path in (ROOT / folder).rglob("*.py")]:
        assert {name.partition(".")[0] for name in imports(module_name(path))} & banned == set(), path
        nodes = [node for node in running(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        names = ("torch.load", "load_state_dict", "eval", "exec")
        calls = [node for node in nodes if ast.unparse(node.func) in names]
        if module_name(path) == READS_PICKLES:
            assert len(calls) == 1
            assert "weights_only=True" in {ast.unparse(keyword) for keyword in calls[0].keywords}
        else:
            assert calls == [], path
