"""Which stages an edit of the code makes run again, by a real DVC: a package is what some set of stages reads."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from dvc.repo import Repo

from adaptbert.runtime.params import params_file
from tests.accept import accept, meaning
from tests.support.imports import PACKAGES, ROOT, is_code
from tests.support.project import Project, environment


def graph(folder: Path) -> Project:
    """A repository with the code of this one, in which every stage of dvc.yaml has run: with its code deps, its name
    (one of each foreach) and a command that does nothing."""
    stages = {
        name: {"cmd": "true", "deps": [dep for dep in values.get("do", values)["deps"] if is_code(dep)]}
        for name, values in params_file.read(ROOT / "dvc.yaml")["stages"].items()
    }
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package)  # with __pycache__, which .dvcignore leaves out
    shutil.copy(ROOT / ".dvcignore", folder)
    (folder / "dvc.yaml").write_text(json.dumps({"stages": stages}), encoding="utf-8")
    project = Project(folder, environment(folder / ".home"))
    (folder / ".gitignore").write_text("__pycache__\n.home\n")
    git(project, "init", "-q")
    cache = ["dvc", "config", "core.site_cache_dir", str(folder / ".home/dvc")]
    for command in (["dvc", "init", "-q"], cache, ["dvc", "repro", "-q"]):
        done = project.run(*command)
        assert done.returncode == 0, done.stdout
    commit(project)
    return project


def git(project: Project, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=project.root, env=project.env, check=True)


def commit(project: Project) -> None:
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "as it is")


def changed(project: Project) -> set[str]:
    """The stages that `dvc status` reports."""
    with Repo(str(project.root)) as repo:
        return {name.rpartition(":")[2] for name in repo.status()}  # beside another folder it puts the file first


def edit(project: Project, name: str, old: str, new: str) -> None:
    """Replace a text that stands once in a file."""
    path = project.root / name
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{name}: {text.count(old)} x {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


RUNGS = {"pretrain", "domain_transfer", "task_transfer", "measure"}


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = graph(tmp_path_factory.mktemp("graph"))
    assert changed(project) == set()
    return project


@pytest.fixture
def project(pristine: Project) -> Project:
    """As it was committed."""
    git(pristine, "reset", "-q", "--hard", "HEAD")
    git(pristine, "clean", "-q", "-f", "-d")
    return pristine


EDITS = {
    "adaptbert/errors.py": set(),
    "adaptbert/cli.py": set(),
    "adaptbert/commands/machine.py": set(),
    "adaptbert/runtime/progress.py": set(),
    "adaptbert/runtime/stage.py": set(),
    "adaptbert/runtime/tracking/run.py": set(),
    "adaptbert/runtime/params/params_file.py": set(),
    "adaptbert/project/presets.py": set(),
    "adaptbert/prediction/predictor.py": set(),
    "adaptbert/comparison/statistics/spread.py": {"compare"},
    "adaptbert/comparison/report/page.py": {"compare"},
    "adaptbert/comparison/report/page.css": {"compare"},
    "adaptbert/collection/readers/formats/conll.py": {"collect", "collect_task"},
    "adaptbert/validation/contamination.py": {"validate"},
    "adaptbert/tokenization/documents.py": {"tokenizer", "tokenize"},
    "adaptbert/tokenization/store/tokenizer.py": {"tokenizer", "tokenize", "finetune", *RUNGS},
    "adaptbert/pretraining/masking.py": RUNGS,
    "adaptbert/model/encoder.py": {"finetune", *RUNGS},
    "adaptbert/finetuning/cell.py": {"finetune"},
    "adaptbert/finetuning/metrics/calibration.py": {"finetune", "compare"},
    "stages/pretrain.py": {"pretrain"},
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_reaches_the_stages_that_read_it(project: Project, name: str) -> None:
    with (project.root / name).open("a", encoding="utf-8") as file:
        file.write("\nMORE = 1\n")
    assert changed(project) == EDITS[name]


def test_what_editors_and_python_leave_reaches_none(project: Project) -> None:
    for name in ("__pycache__/masking.cpython-311.pyc", ".masking.py.swp", "masking.py~", ".#masking.py", ".DS_Store"):
        path = project.root / "adaptbert/pretraining" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("left")
    (project.root / "adaptbert/pretraining/masking.py").touch()
    assert changed(project) == set()


def test_words_are_taken_over(project: Project) -> None:
    """A docstring, a comment, and the message of an error."""
    path = project.root / "adaptbert/pretraining/masking.py"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"""', '"""Said better: ', 1) + "# why\n", encoding="utf-8"
    )
    edit(project, "adaptbert/pretraining/rung.py", "lower tokenize.max_length or raise", "lower max_length, or raise")
    assert changed(project) == RUNGS
    assert accept(project.root) == ["adaptbert/pretraining: only comments, docstrings or errors differ: taken over"]
    assert changed(project) == set()
    assert accept(project.root) == ["no code has changed"]


def test_words_are_taken_over_after_they_were_committed(project: Project) -> None:
    path = project.root / "stages/pretrain.py"
    path.write_text(path.read_text(encoding="utf-8").replace('"""', '"""Said better: ', 1), encoding="utf-8")
    commit(project)
    try:
        assert changed(project) == {"pretrain"}
        assert accept(project.root) == ["stages/pretrain.py: only comments, docstrings or errors differ: taken over"]
        assert changed(project) == set()
    finally:
        git(project, "reset", "-q", "--hard", "HEAD~")


def test_code_is_not(project: Project) -> None:
    """Nor are the words of the same folder, until `dvc repro` has run."""
    name = "adaptbert/pretraining/masking.py"
    path = project.root / name
    path.write_text(path.read_text(encoding="utf-8").replace("import", "import os\nimport", 1), encoding="utf-8")
    (line,) = accept(project.root)
    folder = Path(name).parent.as_posix()
    assert line == f"{folder}: more than comments, docstrings and errors differs in {name}; `dvc repro` runs it"
    assert changed(project) == RUNGS


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
        ("x = 1", "x =", False),
    ],
)
def test_what_is_words(before: str, after: str, is_equal: bool) -> None:
    assert (meaning("a.py", before.encode()) == meaning("a.py", after.encode())) is is_equal


def test_a_changed_command_is_not_taken_over(project: Project) -> None:
    edit(project, "dvc.yaml", '"pretrain": {"cmd": "true"', '"pretrain": {"cmd": "echo"')
    path = project.root / "adaptbert/pretraining/masking.py"
    path.write_text(path.read_text(encoding="utf-8") + "# why\n", encoding="utf-8")
    accept(project.root)
    assert changed(project) == {"pretrain"}


@pytest.mark.parametrize("name", ["more.py", "überall.py", "ignored.cache"])
def test_a_file_more_is_not_taken_over(project: Project, name: str) -> None:
    """Also one that git does not show."""
    (project.root / ".gitignore").write_text("*.cache\n__pycache__\n.home\n")
    (project.root / "adaptbert/model" / name).write_text("")
    (line,) = accept(project.root)
    assert f"more than comments, docstrings and errors differs in adaptbert/model/{name}" in line
