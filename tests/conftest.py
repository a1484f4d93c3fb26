"""For all tests: one thread (the machine is shared), no network, nothing sent home; processes they start inherit it."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from adaptbert.runtime.libraries import QUIET
from tests.support.shared import made_once

if TYPE_CHECKING:
    from adaptbert.comparison.records import Comparison
    from tests.support.simulated import Simulated

settings.register_profile("any machine", deadline=None)  # other work beside it makes a test slow, not wrong
settings.load_profile("any machine")
os.environ.update(QUIET)
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="hub-")  # tests.support.hub_cache writes there
atexit.register(shutil.rmtree, os.environ["HF_HOME"], ignore_errors=True)
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# pytest compiles the tests for six seconds, in each of its processes; kept, they are compiled once.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") is not None:
        import torch

        if not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")


@pytest.fixture(autouse=True)
def _settings_are_put_back() -> Iterator[None]:
    """A test that leaves a variable of this project behind would change the tests after it, in some orders only."""
    before = _settings()
    yield
    left = _settings()
    for name in left.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)
    assert left == before, "the test left settings behind"


def _settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("ADAPTBERT_")}


@pytest.fixture
def save_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training saves its state after every optimizer step of this process, however long that takes."""
    monkeypatch.setenv("ADAPTBERT_SAVE_SECONDS", "0")
    monkeypatch.setattr("adaptbert.training.monitor.SAVE_SHARE", 0)


@pytest.fixture(scope="session")
def mlflow_tables(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An mlflow.db without runs; MLflow takes seconds to make one."""
    from mlflow import MlflowClient

    def make(folder: Path) -> bytes:
        MlflowClient(f"sqlite:///{folder / 'mlflow.db'}").search_experiments()
        return (folder / "mlflow.db").read_bytes()

    return made_once(tmp_path_factory, "tables", make)


@pytest.fixture(scope="session")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> "Comparison":
    """Comparison of a simulated recipe with one replicate and three seeds; the tests only look."""
    from tests.support.simulated import clearly_decided, compared, simulate

    def make(folder: Path) -> "Comparison":
        with clearly_decided():
            return compared(simulate(folder, seeds=(1, 2, 3), dice_seed=2))

    return made_once(tmp_path_factory, "recipe", make)


@pytest.fixture(scope="session")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> "Comparison":
    """Three replicates and four seeds; a domain text that helps beyond doubt, a task step after it brings nothing."""
    from tests.support.simulated import LIFTED, clearly_decided, compared, simulate

    options: Any = {"replicates": 3, "accuracy": LIFTED, "replicate_spread": 0.004, "dice_seed": 4}

    def make(folder: Path) -> "Comparison":
        with clearly_decided():
            return compared(simulate(folder, seeds=range(1, 5), **options))

    return made_once(tmp_path_factory, "repeated", make)


@pytest.fixture(scope="session")
def several_recipe(tmp_path_factory: pytest.TempPathFactory) -> "Simulated":
    """Two bases, two replicates and three seeds."""
    from tests.support.simulated import simulate

    def make(folder: Path) -> "Simulated":
        return simulate(folder, bases=("small", "base"), replicates=2)

    return made_once(tmp_path_factory, "several_recipe", make)


@pytest.fixture(scope="session")
def several(several_recipe: "Simulated", tmp_path_factory: pytest.TempPathFactory) -> "Comparison":
    """Comparison of `several_recipe`; the tests only look."""
    from tests.support.simulated import clearly_decided, compared

    def make(_: Path) -> "Comparison":
        with clearly_decided():
            return compared(several_recipe)

    return made_once(tmp_path_factory, "several", make)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", folder], capture_output=True).returncode:
        pytest.skip("this user cannot mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
