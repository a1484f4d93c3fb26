"""What stages left that are no more: with a real DVC, and a second clone."""

import shutil
from pathlib import Path

import pytest

from adaptbert.project import leftovers
from adaptbert.runtime.params import params_file as params
from tests.support import small_graph

GRAPH = """
stages:
  cell:
    foreach: ${cells}
    do:
      cmd: mkdir -p out models && echo ${key} > out/${key} && echo ${key} > models/${key}
      outs: ["out/${key}", "models/${key}"]
  table:
    cmd: cat out/* > table
    deps: [out]
    outs: [table]
"""
TWO, ONE = "cells: {a: 1, b: 1}\n", "cells: {a: 1}\n"


def dvc(*arguments: str) -> str:
    done = small_graph.dvc(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two cells, then one; the table was made of both."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    small_graph.write_graph(GRAPH)
    Path("params.yaml").write_text(TWO)
    dvc("repro")
    Path("params.yaml").write_text(ONE)
    return root


def remove() -> list[str]:
    return leftovers.remove(params.read(Path("params.yaml")), Path("params.yaml"))


def status_of_a_clone(project: Path) -> str:
    clone = project.parent / "clone"
    shutil.copytree(project, clone, ignore=lambda folder, names: {"out", "models", "table"} & {*names})
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(clone)
        dvc("checkout")
        return dvc("status")


@pytest.mark.parametrize("are_removed", [True, False])
def test_a_clone_is_up_to_date(project: Path, are_removed: bool) -> None:
    if are_removed:
        assert remove() == ["out/b removed: params.yaml has no cell@b any more; DVC's cache has it"]
        assert remove() == []
    dvc("repro")
    assert Path("table").read_text() == ("a\n" if are_removed else "a\nb\n")
    assert Path("models/b").is_file(), "nobody reads the whole folder"
    assert ("up to date" in status_of_a_clone(project)) == are_removed


def test_it_comes_back_with_the_older_params(project: Path) -> None:
    remove()
    dvc("repro")
    Path("params.yaml").write_text(TWO)
    dvc("repro")
    assert (Path("out/b").read_text(), Path("table").read_text()) == ("b\n", "a\nb\n")


def test_what_dvc_does_not_have_stays(project: Path) -> None:
    """Files of the user beside outputs, outputs that are not in the cache, and a lock that names another place."""
    Path("out/mine").write_text("mine")
    shutil.rmtree(".dvc/cache")
    assert remove() == []
    assert {path.name for path in Path("out").iterdir()} == {"a", "b", "mine"}

    precious = project.parent / "precious"
    precious.write_text("kept")
    lock = Path("dvc.lock").read_text()
    Path("dvc.lock").write_text(lock.replace("path: out/b", "path: out/../../precious"))
    dvc("cache", "dir", ".dvc/cache")
    assert remove() == []
    assert precious.read_text() == "kept"


def test_a_cache_in_another_folder(project: Path) -> None:
    """Named in the settings that are not committed."""
    shutil.move(".dvc/cache", project.parent / "disk")
    assert remove() == [], "DVC looks for it in .dvc/cache"
    dvc("config", "--local", "cache.dir", "../disk")
    assert remove() == ["out/b removed: params.yaml has no cell@b any more; DVC's cache has it"]
    assert not Path("out/b").exists()
