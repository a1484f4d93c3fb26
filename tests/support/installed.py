"""A wheel of adaptbert in an environment of its own, and a project that `adaptbert new` made there.

All other packages are those of the environment that runs the tests; nothing is imported from the repository.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import load
from tests.support import tiny
from tests.support.project import Project, clone, environment

BATCH = {"global_batch_tokens": 128, "micro_batch_tokens": 128, "block_size": tiny.MAX_LENGTH, "measurements": 1}
SMALL: dict[str, Any] = {
    "bases": {"small": {"layers": 1, "hidden_size": 32, "heads": 2, "intermediate_size": 64, "max_positions": 64}},
    "arms": ["general", "domain"],
    "tokenizer": {"vocabulary_size": 200},
    "tokenize": {"max_length": tiny.MAX_LENGTH},
    "measure": {"max_tokens": 500},
    "pretrain": BATCH | {"steps": 4},
    "domain_transfer": BATCH | {"steps": 4},
    "finetune": {"max_length": tiny.MAX_LENGTH, "block_size": tiny.MAX_LENGTH, "seeds": 2, "epochs": 1, "labels": 0},
    "compare": {"replicates": 1},
}
"""What makes the recipe of `installed_project` one of seconds."""


@dataclass(frozen=True)
class Installation:
    """A virtual environment with a wheel."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin/python"

    @property
    def packages(self) -> Path:
        return next(self.folder.glob("lib/python*/site-packages"))

    def install(self, wheel: Path) -> None:
        """Put this version in the place of another."""
        for path in self.packages.glob("adaptbert*"):  # also what is packed beside it
            shutil.rmtree(path)
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--no-index", "--ignore-installed", str(wheel)], check=True)

    def project(self, root: Path, home: Path) -> Project:
        """A folder as one that stands in it with this environment activated sees it."""
        env = {name: value for name, value in environment(home).items() if name != "PYTHONPATH"}
        path = os.pathsep.join([str(self.python.parent), *os.environ["PATH"].split(os.pathsep)])
        return Project(root, {**env, "PATH": path, "PYTHON": str(self.python)}, str(self.python))


def installation(folder: Path) -> Installation:
    """An environment without adaptbert."""
    venv.create(folder, symlinks=True)
    made = Installation(folder)
    (made.packages / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    for name in ("mlflow", "uvicorn"):  # of the packages, for this interpreter
        script = made.python.with_name(name)
        _, rest = Path(sysconfig.get_path("scripts"), name).read_text(encoding="utf-8").split("\n", 1)
        script.write_text(f"#!{made.python}\n{rest}", encoding="utf-8")
        script.chmod(0o755)
    return made


def wheel(source: Path, folder: Path) -> Path:
    """The wheel that pip builds of a repository, or of an archive of it; skips where no index has the build backend."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(source)]
    done = subprocess.run(pip, capture_output=True, text=True)
    if "No matching distribution found for hatchling" in done.stderr:
        pytest.skip("no index has hatchling, with which the wheel is built")
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def text_files(folder: Path) -> dict[str, str]:
    """Options of `adaptbert new` with files in CSV, which are made for it."""
    folder.mkdir()
    tables = {
        "--general": [("text",), *((text,) for _, text in tiny.rows("general", 300, 0))],
        "--text": [("text",), *((text,) for _, text in tiny.rows("domain", 300, 1))],
        "--train": [
            ("text", "mood"),
            *((text, ("good", "bad")[len(text) % 2]) for _, text in tiny.rows("domain", 240, 2)),
        ],
    }
    for option, rows in tables.items():
        with (folder / f"{option[2:]}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    return {option: str(folder / f"{option[2:]}.csv") for option in tables}


def ran(project: Project, *command: str, refused: bool = False) -> str:
    """What a command of a shell printed, which ends well."""
    done = subprocess.run(
        command, cwd=project.root, env=project.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert (done.returncode != 0) == refused, f"{' '.join(command)}\n{done.stdout}"
    return done.stdout


def commit(project: Project) -> None:
    ran(project, "git", "add", "--all")
    ran(project, "git", "commit", "--quiet", "--allow-empty", "--message", "as it is")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel of this repository as it lies here, built and installed."""
    folder = tmp_path_factory.mktemp("installed")
    clone(folder / "source", folder)
    made = installation(folder / "venv")
    made.install(wheel(folder / "source", folder / "wheels"))
    return made


@pytest.fixture(scope="session")
def new_project(installed: Installation, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """What `adaptbert new` made in an empty folder, with values that take seconds, committed; nothing is trained."""
    home = tmp_path_factory.mktemp("new")
    files = text_files(home / "files")
    words = [word for option in files.items() for word in option]
    ran(installed.project(home, home), "adaptbert", "new", "mood-study", *words, "--minutes", "1", "--name", "mood")
    project = installed.project(home / "mood-study", home)
    params = project.root / "params.yaml"
    params.write_text(json.dumps(load.read(params) | SMALL, indent=1), encoding="utf-8")
    ran(project, "adaptbert", "plan")
    commit(project)
    return project


def copy_of(project: Project, root: Path) -> Project:
    """The same project in another folder, to be changed."""
    shutil.copytree(project.root, root, symlinks=True)
    return Project(root, {**project.env}, project.python)


@pytest.fixture(scope="session")
def installed_project(new_project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project after `make recipe`, committed. A test that changes it takes `copy_of` it."""
    project = copy_of(new_project, tmp_path_factory.mktemp("done") / "mood-study")
    del project.env["PREFECT_API_URL"]  # the flow brings its own server
    ran(project, "make", "recipe")
    commit(project)
    return project
