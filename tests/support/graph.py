"""The graph of dvc.yaml with its code and without its work: which stages an edit makes run again, in seconds."""

import json
import shutil
import subprocess
from pathlib import Path

from dvc.repo import Repo

from adaptbert.runtime.params import params_file
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
