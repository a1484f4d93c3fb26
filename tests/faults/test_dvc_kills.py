"""DVC itself is killed: at random moments of a whole recipe, and while it writes dvc.lock; the same command goes on.

Real DVC, real stages, `adaptbert check` and `dvc repro` in turn. 40 kills of one seed: half of them `kill -9` of DVC
alone, a quarter Ctrl-C, a quarter `kill -9` of DVC and its stage. A recipe that ends is compared with one that nobody
disturbed, and the next begins.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.faults.small_project import QUICK, values
from tests.support import tiny, tiny_tasks
from tests.support.project import alive, clone, restore_interrupt, wait_until, write_params

KINDS = {"dvc alone": 20, "Ctrl-C": 10, "all": 10}
AT_LOCK = 0.4
"""Share of the kills that wait for the next time that DVC writes dvc.lock."""
OURS = (".git", ".dvc", ".work", "mlartifacts", "__pycache__")
"""Folders that are no outputs; what must not be left in them is looked for by name."""
LEFT = ("*.part", "*.tmp", "*.bad")


@dataclass
class Recipe:
    """A project in a folder of its own, and the two commands that are run in it."""

    root: Path
    env: dict[str, str]

    def start(self, look: bool = True) -> "subprocess.Popen[bytes]":
        """`adaptbert check` to its end, then `dvc repro` in a process group of its own."""
        with self.log.open("ab") as log:
            if look:
                checked = subprocess.run(
                    [sys.executable, "-m", "adaptbert.cli", "check"],
                    cwd=self.root, env=self.env, stdout=log, stderr=log, timeout=300,
                )  # fmt: skip
                assert checked.returncode == 0, self.tail()
            log.write(b"--- dvc repro\n")
            return subprocess.Popen(
                [sys.executable, "-m", "dvc", "repro"],
                cwd=self.root, env=self.env, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=restore_interrupt,
            )  # fmt: skip

    @property
    def log(self) -> Path:
        return self.root.parent / f"{self.root.name}.log"

    def tail(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-6000:]

    def wait_for_lock(self, process: "subprocess.Popen[bytes]") -> None:
        """Until DVC has begun to write dvc.lock, or has ended."""

        def state() -> tuple[int, int]:
            with suppress(FileNotFoundError):
                status = (self.root / "dvc.lock").stat()
                return status.st_mtime_ns, status.st_size
            return 0, 0

        before = state()
        while state() == before and process.poll() is None:
            time.sleep(0.0005)

    def results(self) -> dict[str, bytes]:
        """Every file that is not of git, DVC, MLflow or Python."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not {*path.relative_to(self.root).parts} & {*OURS} and "mlflow.db" not in path.name
        }

    def processes(self) -> list[int]:
        """That work in this folder."""
        here = (process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(self.root))
        return [process.pid for process in here if alive(process.pid)]


def kill(recipe: Recipe, process: "subprocess.Popen[bytes]", kind: str, at_lock: bool, seconds: float) -> bool:
    """Some seconds from now, or after DVC begins to write dvc.lock; whether it was killed before it had ended."""
    if at_lock:
        recipe.wait_for_lock(process)
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    if process.poll() is not None:
        assert process.returncode == 0, recipe.tail()
        return False
    if kind == "dvc alone":
        process.kill()  # the kernel signals the stage, and the next DVC starts at once
    else:
        os.killpg(process.pid, signal.SIGINT if kind == "Ctrl-C" else signal.SIGKILL)
    process.wait(120)
    return True


def finish(recipe: Recipe) -> None:
    process = recipe.start()
    assert process.wait(900) == 0, recipe.tail()


def check(recipe: Recipe, golden: dict[str, bytes]) -> None:
    """The bits of an undisturbed run, and nothing else."""
    here = recipe.results()
    differ = sorted(name for name in here.keys() | golden.keys() if here.get(name) != golden.get(name))
    assert differ == [], recipe.tail()
    left = [str(path.relative_to(recipe.root)) for pattern in LEFT for path in recipe.root.rglob(pattern)]
    assert [path for path in left if ".dvc/cache" not in path] == []
    assert recipe.processes() == []


def tiny_recipe() -> dict[str, Any]:
    """Every kind of stage once or twice, in about a minute."""
    document = values(1)
    document["corpora"] = {name: {"path": f"data/mine/{name}.txt"} for name in ("general", "domain")}
    types = {
        "section": {"type": "text-classification"},
        "mention": {"type": "token-classification", "tag_scheme": "bio"},
    }
    for name, of_type in types.items():
        files = {split: f"data/mine/{name}.{split}.parquet" for split in ("train", "dev", "test")}
        document["tasks"][name] = {**of_type, **files}
    document["tokenizer"] = {"vocabulary_size": 150, "min_frequency": 1}
    document["tokenize"] = {"max_length": tiny.MAX_LENGTH, "heldout_fraction": 0.1}
    del document["arms"]["scratch"]
    return document


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The project as it is before the first run."""
    home = tmp_path_factory.mktemp("home")
    root = tmp_path_factory.mktemp("template") / "project"
    project = clone(root, home)
    (root / "dvc.lock").unlink()
    for path in [*root.glob("metrics/**/*.json"), *root.glob("reports/**/*")]:
        if path.is_file():
            path.unlink()
    (root / "data/mine").mkdir()
    for kind in tiny.WORDS:
        (root / f"data/mine/{kind}.txt").write_text("\n".join(tiny.sentences(kind, 120)), encoding="utf-8")
    for name, shape in (("section", "single_sentence"), ("mention", "sequence_labelling")):
        tiny_tasks.task(root / "task", shape)
        for split in ("train", "dev", "test"):
            (root / f"task/{split}.parquet").rename(root / f"data/mine/{name}.{split}.parquet")
        shutil.rmtree(root / "task")
    write_params(root, tiny_recipe())
    return root, project.env | QUICK


def fresh(template: tuple[Path, dict[str, str]], folder: Path) -> Recipe:
    root, env = template
    shutil.copytree(root, folder / "project", symlinks=True)
    return Recipe(folder / "project", env | {"DVC_SITE_CACHE_DIR": str(folder / "site")})


def draws(seed: int, whole: float) -> Iterator[tuple[str, bool, float]]:
    """Kind, whether at dvc.lock, and the seconds from there or from the start of each kill.

    A recipe goes on where it was killed, so that steps of at most a sixth of it are spread over all of it.
    """
    draw = random.Random(seed)
    kinds = [kind for kind, times in KINDS.items() for _ in range(times)]
    draw.shuffle(kinds)
    for kind in kinds:
        at_lock = draw.random() < AT_LOCK
        yield kind, at_lock, draw.uniform(0, 0.6) if at_lock else draw.uniform(0.5, whole / 6)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_forty_kills_of_dvc_change_no_bit(template: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    undisturbed = fresh(template, tmp_path / "undisturbed")
    began = time.monotonic()
    finish(undisturbed)
    golden, seconds = undisturbed.results(), time.monotonic() - began
    recipes = (fresh(template, tmp_path / str(number)) for number in count())
    recipe, kills = next(recipes), 0
    for kind, at_lock, moment in draws(1, seconds):
        while not kill(recipe, recipe.start(), kind, at_lock, moment):
            check(recipe, golden)
            recipe = next(recipes)
        kills += 1
    finish(recipe)
    check(recipe, golden)
    assert kills == 40


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_without_the_look_one_kill_is_for_ever(template: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """The suite above can fail: after a kill at dvc.lock plain DVC stops for ever, `adaptbert check` mends it."""
    recipe = fresh(template, tmp_path)
    process = recipe.start(look=False)
    recipe.wait_for_lock(process)
    process.kill()
    process.wait(60)
    wait_until(lambda: recipe.processes() == [], 60)
    for _ in range(2):
        assert recipe.start(look=False).wait(300) == 255
        assert "validation failed" in recipe.tail()
    process = recipe.start()
    assert "dvc.lock is damaged or cut short" in recipe.tail()
    wait_until(lambda: "Running stage 'collect" in recipe.tail(), 120)
    process.kill()
    process.wait(60)
    wait_until(lambda: recipe.processes() == [], 120)
