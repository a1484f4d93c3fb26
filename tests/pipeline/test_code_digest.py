"""The code that decides what a stage writes: an edit of it runs the stage again, an edit of words none.

What carries (`adaptbert/runtime`, `project`, `commands`, `config` but its schema and plan, and the files directly in
adaptbert/) can stop a stage, never change what it writes.
"""

import ast
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from adaptbert.config.code_digest import SOURCES, carries, code_digest, files, meaning
from adaptbert.config.plan import PRETRAIN
from adaptbert.config.plan_file import stages
from adaptbert.config.schema.bases import TRANSFERS
from tests.support.imports import ROOT, modules, package, source

STAGES = [*stages(), "plan"]

TAKEN = {
    "runtime.cluster": "which machines compute; sums of ranks are the same on each",
    "runtime.signals": "the end of a step is where a signal is heeded",
    "runtime.libraries.keep_freed_memory": "a setting of the C library; no value comes back",
    "runtime.libraries.same_bits": "a setting for CUDA, and a part of the key of a run",
    "runtime.locks.finish": "marks a run as finished; no value comes back",
    "config.load.flatten": "names in a message what is other in an unfinished run",
    "runtime.progress.Progress": "prints; no value comes back",
    "runtime.mlflow.Run": "records; no value comes back",
    "runtime.worker_pool.in_order": "gives back what the function gave, in order (tests/runtime/test_worker_pool.py)",
    "runtime.worker_pool.batch_workers": "how many processes; batches are functions of seed and number",
    "runtime.variables": "values that are checked; what each decides changes last digits at most, and keys of a run",
    "runtime.variables.DEVICES": "the name of a variable",
    "runtime.variables.GRAPHS": "the name of a variable",
    "runtime.variables.value_of": "how many devices share a step, whether steps are replayed; bits stay",
    "errors.BadData": "ends the stage; its words reach no output",
    "errors.BadParams": "ends the stage",
    "errors.Place": "where an error is, in its words",
    "errors.Temporary": "ends the stage",
    "errors.Unwritable": "ends the stage",
    "errors.UserError": "ends the stage",
    "errors.raise_all": "ends the stage",
    "errors.failures_of": "collects what ends the stage",
    "errors.first_of": "the list in a message",
    "errors.nearest": "the name that a message proposes",
    "errors.shortened": "the name in a message",
    "errors.INTERNAL": "an exit code",
    "errors.TEMPORARY": "an exit code",
    "codes.Code": "numbers in rejected rows never change (tests/docs/test_error_codes.py)",
}
"""What code that decides a result takes from code that carries, and why that cannot change the result."""

TAKEN_BY_STAGES = {
    "errors.raise_all": "ends the stage",
    "stage.run_stage": "calls the function; gives it the values of params.yaml and the paths of the command",
    "runtime.mlflow.Run": "records; no value comes back",
    "config.plan_file": "stops the stage where plan.json is older",
    "config.recipe.Recipe": "the names of corpora and tasks, which the plan has as well; notices, which are printed",
    "config.load.flatten": "names the metrics of the tracking run",
    "runtime.worker_pool.workers": "how many processes; the answers are the same for any number",
    "planning.rules": "notices, which are printed",
}


MLM = {PRETRAIN, *TRANSFERS}
TRAINING = {*MLM, "finetune"}
EDITS = {
    "adaptbert/errors.py": set(),
    "adaptbert/stage.py": set(),
    "adaptbert/config/recipe.py": set(),
    "adaptbert/config/schema/finetuning.py": {"finetune"},
    "adaptbert/config/schema/mlm.py": {"measure", *MLM},
    "adaptbert/core/files.py": set(stages()),
    "adaptbert/statistics/spread.py": {"compare"},
    "adaptbert/report/page.css": {"compare"},
    "adaptbert/data/collect.py": {"collect", "collect_task"},  # imported in a function
    "adaptbert/data/leaks.py": {"validate"},
    "adaptbert/text/token_store.py": {"measure", *MLM},
    "adaptbert/text/token_writer.py": {"tokenize"},
    "adaptbert/text/vocabulary_extension.py": {"tokenizer"},
    "adaptbert/text/tokenizer.py": {"tokenizer", "tokenize", "measure", *TRAINING},
    "adaptbert/training/ranks.py": TRAINING,
    "adaptbert/mlm/masking.py": {"measure", *MLM},
    "adaptbert/model/encoder.py": {"measure", *TRAINING},
    "adaptbert/tasks/crf.py": {"finetune"},
    "adaptbert/comparison/inspection.py": {"compare"},
    "stages/pretrain.py": {"pretrain"},
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_reaches_the_stages_that_import_it(name: str) -> None:
    assert {stage for stage in stages() if Path(name) in files(f"stages.{stage}")} == EDITS[name]


TREE = {
    "stages/a.py": "import adaptbert.errors, adaptbert.stage\nfrom adaptbert.data import read\n",
    "adaptbert/data/__init__.py": '"""Data."""\n',
    "adaptbert/data/read.py": (
        "import json\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import adaptbert.data.typed\n"
        "def f():\n    from adaptbert.text.late import B\n    import adaptbert.config.plan, adaptbert.config.load\n"
    ),
    "adaptbert/data/typed.py": "",
    "adaptbert/data/page.css": "",
    "adaptbert/text/late.py": "B = 1\n",
    "adaptbert/config/plan.py": "import adaptbert.config.schema.section\n",
    "adaptbert/config/schema/section.py": "",
    "adaptbert/config/load.py": "import adaptbert.core.files\n",
    "adaptbert/core/files.py": "",
    "adaptbert/stage.py": "",
    "adaptbert/errors.py": "",
}


@pytest.mark.parametrize(
    ("name", "more", "is_equal"),
    [
        *((name, "C = 1\n", False) for name in ("stages/a.py", "adaptbert/data/read.py", "adaptbert/data/__init__.py")),
        *((name, "C = 1\n", False) for name in ("adaptbert/text/late.py", "adaptbert/config/schema/section.py")),
        *((name, "left", False) for name in ("adaptbert/data/page.css", "adaptbert/text/new.po")),
        ("adaptbert/data/read.py", '"""Words."""\n# more\n', True),
        ("adaptbert/data/typed.py", "C = 1\n", True),
        *((name, "C = 1\n", True) for name in ("adaptbert/errors.py", "adaptbert/stage.py")),
        *((name, "C = 1\n", True) for name in ("adaptbert/config/load.py", "adaptbert/core/files.py")),
        *(
            (f"adaptbert/data/{name}", "left", True)
            for name in ("__pycache__/read.pyc", ".read.py.swp", "read.py~", ".#read.py", ".#page.css", "unused.py")
        ),
    ],
)
def test_what_a_digest_is_of(tmp_path: Path, name: str, more: str, is_equal: bool) -> None:
    """The modules that are imported, at whatever place, and what they may read; none that carries, and no words."""
    for path, text in TREE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    folders = {name: tmp_path / name for name in SOURCES}
    before = code_digest("a", folders)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(TREE.get(name, "") + more, encoding="utf-8")
    assert (code_digest("a", folders) == before) is is_equal


def test_the_same_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library lies in one folder, the stages in that of the project, wherever that is."""
    shutil.copytree(ROOT / "adaptbert", tmp_path / "site-packages/adaptbert")
    shutil.copytree(ROOT / "stages", tmp_path / "study/stages")
    digests = {stage: code_digest(stage) for stage in stages()}
    monkeypatch.chdir(tmp_path / "study")
    installed = SOURCES | {"adaptbert": tmp_path / "site-packages/adaptbert"}
    assert {stage: code_digest(stage, installed) for stage in stages()} == digests


@pytest.mark.parametrize(
    ("before", "after", "is_equal"),
    [
        ("def f():\n    return 1", 'def f():\n    """One."""\n    return 1', True),
        ('def f():\n    """One."""', 'def f():\n    """1."""\n    # 1', True),
        ("class C:\n    x: int", 'class C:\n    x: int\n    """Of it."""', True),
        ('raise BadData(1, "a")', 'raise BadData(1, "b")', True),
        ('raise BadData(1, f"a {x}")', 'raise BadData(1, f"{x} b")', True),
        ('raise BadData(1, f"{x}")', 'raise BadData(1, f"{y}")', False),
        ('raise BadData(1, "a")', 'raise BadData(2, "a")', False),
        ('def f():\n    p = "a"\n    raise BadData(p)', 'def f():\n    p = "b"\n    raise BadData(p)', True),
        (
            'def f():\n    p = "a"\n    g(p)\n    raise BadData(p)',
            'def f():\n    p = "b"\n    g(p)\n    raise BadData(p)',
            False,
        ),
        # Errors that are no messages are rows, and their reason is written to data/raw.
        ('raise Unreadable(1, "a")', 'raise Unreadable(1, "b")', False),
        ('raise ValueError("a")', 'raise ValueError("b")', False),
        ('x = "a"', 'x = "b"', False),
        ("x = (1, [])", "x = (1, [], [])", False),
        ("x = y.a", "x = a.y", False),
        ("f(1, a=2)", "f(1, b=2)", False),
        ("x = -0.0", "x = 0.0", False),
        ("x = 1", "x = True", False),
        ("x = 0", "x = False", False),
        ("x[1:]", "x[:1]", False),
    ],
)
def test_what_is_words(before: str, after: str, is_equal: bool) -> None:
    assert (meaning("a.py", before.encode()) == meaning("a.py", after.encode())) is is_equal


def deciding() -> list[str]:
    """Modules that decide what some stage writes."""
    return [name for name in modules("adaptbert") if package(name) and not carries(name)]


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
    return {name for name in below if name.startswith("prediction.") or carries(f"adaptbert.{name}")}


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
    """An `__init__` is run with every import below it, by stages that do not depend on its folder.

    None imports `flow`.
    """
    for path in (ROOT / "adaptbert").rglob("__init__.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert ast.get_docstring(ast.Module(body, [])), path
        assert len(body) == 1 or path.parent.name in ("adaptbert", "flow"), f"{path}: code; put it into a module"
    stages = ast.parse((ROOT / "stages/__init__.py").read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(stages) if isinstance(node, ast.ImportFrom)}
    expected = {"importlib.util", "adaptbert.flow.hand_over"}
    assert imported == expected, "it looks whether packages are installed, hands over to the flow, and no more"
