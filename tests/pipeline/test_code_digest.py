"""The code that decides what a stage writes: an edit of it runs the stage again, an edit of words none.

What carries (`adaptbert/runtime`, `project`, `commands`, `config` but its schema and plan, and the files directly in
adaptbert/) can stop a stage, never change what it writes.
"""

import ast
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from adaptbert.config import code_digest
from adaptbert.config.code_digest import PACKAGES, carries, meaning
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
    "errors.BadData": "ends the stage; its words reach no output",
    "errors.BadParams": "ends the stage",
    "errors.Place": "where an error is, in its words",
    "errors.UserError": "ends the stage",
    "errors.raise_all": "ends the stage",
    "errors.failures_of": "collects what ends the stage",
    "errors.nearest": "the name that a message proposes",
    "errors.shortened": "the name in a message",
    "errors.printable": "what a terminal shows of the text table, which is no output of a stage",
    "errors.INTERNAL": "an exit code",
    "errors.IO_ERROR": "an exit code",
    "errors.TEMPORARY": "an exit code",
    "codes.Code": "numbers in rejected rows never change (tests/docs/test_error_codes.py)",
}
"""What code that decides a result takes from code that carries, and why that cannot change the result."""

TAKEN_BY_STAGES = {
    "errors.raise_all": "ends the stage",
    "runtime.stage.Stage": "calls the function; gives it the values of params.yaml and the paths of the command",
    "runtime.mlflow.Run": "records; no value comes back",
    "config.plan_file": "stops the stage where plan.json is older",
    "config.recipe.Recipe": "the names of corpora and tasks, which the plan has as well; notices, which are printed",
    "config.load.flatten": "names the metrics of the tracking run",
    "runtime.worker_pool.workers": "how many processes; the answers are the same for any number",
    "project.rules": "notices, which are printed",
}


MLM = {PRETRAIN, *TRANSFERS}
TRAINING = {*MLM, "finetune"}
EDITS = {
    "adaptbert/errors.py": set(),
    "adaptbert/commands/project.py": set(),
    "adaptbert/runtime/stage.py": set(),
    "adaptbert/project/new_project.py": set(),
    "adaptbert/config/recipe.py": set(),
    "adaptbert/prediction/predictor.py": set(),
    "adaptbert/config/schema/finetuning.py": {"finetune"},
    "adaptbert/config/schema/mlm.py": {"measure", *MLM},
    "adaptbert/core/files.py": set(stages()),
    "adaptbert/statistics/spread.py": {"compare"},
    "adaptbert/report/page.css": {"compare"},
    "adaptbert/data/read_conll.py": {"collect", "collect_task"},
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


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of this project, to be edited."""
    folder = tmp_path_factory.mktemp("code")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def before(code: Path) -> dict[str, str]:
    return digests(code)


def digests(code: Path) -> dict[str, str]:
    return {stage: code_digest.code_digest(stage, code) for stage in stages()}


def reached(code: Path, before: dict[str, str], name: str, text: str) -> set[str]:
    """The stages whose digest is another with this text in a file; then the file is as it was."""
    path = code / name
    was = path.read_bytes() if path.is_file() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    try:
        return {stage for stage, digest in digests(code).items() if digest != before[stage]}
    finally:
        path.unlink() if was is None else path.write_bytes(was)


def test_a_copy_has_the_digests_of_the_original(before: dict[str, str]) -> None:
    assert before == digests(ROOT)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_reaches_the_stages_that_import_it(code: Path, before: dict[str, str], name: str) -> None:
    text = (code / name).read_text(encoding="utf-8")
    assert reached(code, before, name, f"{text}\nMORE = 1\n") == EDITS[name]


def test_a_module_that_is_imported_late_counts(code: Path, before: dict[str, str]) -> None:
    """Planted: a module of its own, imported inside a function, and then another text in it."""
    (code / "adaptbert/model/planted.py").write_text("A = 1\n")
    name = "adaptbert/mlm/step.py"
    text = (code / name).read_text(encoding="utf-8")
    late = f"{text}\n\ndef late() -> int:\n    from adaptbert.model.planted import A\n\n    return A\n"
    (code / name).write_text(late, encoding="utf-8")
    try:
        planted = digests(code)
        assert {stage for stage in planted if planted[stage] != before[stage]} == MLM
        assert reached(code, planted, "adaptbert/model/planted.py", "A = 2\n") == MLM
    finally:
        (code / "adaptbert/model/planted.py").unlink()
        (code / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["__pycache__/masking.pyc", ".masking.py.swp", "masking.py~", ".#masking.py", ".DS_Store", "unused.py"]
)
def test_what_nobody_imports_reaches_none(code: Path, before: dict[str, str], name: str) -> None:
    assert reached(code, before, f"adaptbert/mlm/{name}", "left") == set()


def test_words_reach_none(code: Path, before: dict[str, str]) -> None:
    """A docstring, a comment, and the message of an error."""
    name = "adaptbert/mlm/step.py"
    text = (code / name).read_text(encoding="utf-8")
    said = text.replace('"""', '"""Said better: ', 1).replace("lower tokenize.max_length or", "lower it, or")
    assert said.count("lower it, or") == 1
    assert reached(code, before, name, f"{said}# why\n") == set()


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
    """An `__init__` is run with every import below it, by stages that do not depend on its folder."""
    for path in (ROOT / "adaptbert").rglob("__init__.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert ast.get_docstring(ast.Module(body, [])), path
        assert len(body) == 1 or path.parent.name == "adaptbert", f"{path}: code; put it into a module"
    stages = ast.parse((ROOT / "stages/__init__.py").read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(stages) if isinstance(node, ast.ImportFrom)}
    assert imported == {"importlib.util"}, "it looks whether the packages of the project are installed, and no more"
