"""Modules on demand: names without the whole; then the whole, the same as ever; other versions of a library."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adaptbert.runtime import on_demand
from tests.support.imports import ROOT

MORE = """
import sys
from adaptbert.runtime.on_demand import NAMES, load_on_demand
load_on_demand()

import torch
from pytorch_lightning import LightningModule
from mlflow import MlflowClient
import mlflow.store.tracking.sqlalchemy_store
from torchmetrics import Metric, MetricCollection

assert {type(sys.modules[name]).__name__ for name in NAMES} == {"_Waiting"}
assert not {"matplotlib", "pandas", "fastapi", "scipy.signal"} & sys.modules.keys()

import torchmetrics
accuracy = torchmetrics.Accuracy(task="binary")
accuracy.update(torch.tensor([1, 0]), torch.tensor([1, 1]))
assert torchmetrics.Metric is Metric and isinstance(accuracy, Metric) and accuracy.compute() == 0.5
import matplotlib
matplotlib.use("Agg")
figure, axes = accuracy.plot()
assert MetricCollection([accuracy]).plot(ax=axes, together=True)

from mlflow.data.evaluation_dataset import EvaluationDataset
import numpy as np
rows = EvaluationDataset(np.ones((2, 2)))
assert type(rows) is mlflow.data.evaluation_dataset.EvaluationDataset is not EvaluationDataset
assert EvaluationDataset.NUM_SAMPLE_ROWS_FOR_HASH == rows.NUM_SAMPLE_ROWS_FOR_HASH
assert isinstance(rows, EvaluationDataset) and not isinstance(accuracy, EvaluationDataset)
assert MlflowClient is mlflow.MlflowClient
assert mlflow.models.Model and mlflow.data.from_pandas and mlflow.genai.evaluate and mlflow.evaluate
assert mlflow.models.evaluation.EvaluationResult and mlflow.genai.scorers.scorer
mlflow.pytorch.autolog()
"""


def test_whoever_asks_for_more_gets_the_whole() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MORE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A library of which a stage takes `book`, defined in its module `books`; `ran` is there when all of it ran."""
    package = tmp_path / "shelf"
    package.mkdir()
    (package / "books.py").write_text("book = 'a book'\n", encoding="utf-8")
    (package / "__init__.py").write_text("ran = True\nfrom shelf.books import book\nglue = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(on_demand, "NAMES", {"shelf": {"book": "shelf.books"}})
    monkeypatch.setattr(sys, "meta_path", [on_demand._Finder, *sys.meta_path])
    yield package
    on_demand.load_whole("shelf")


@pytest.mark.usefixtures("shelf")
def test_a_name_is_taken_from_where_it_is_defined() -> None:
    import shelf  # type: ignore[import-not-found]

    assert shelf.book == "a book"
    assert "ran" not in vars(shelf)
    assert (shelf.glue, shelf.ran, shelf.book) == (1, True, "a book")
    assert type(shelf).__name__ == "module"
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = shelf.other


@pytest.mark.parametrize(
    "books",
    ["other = 1\n", "from shelf import glue\nbook = 'a book'\n", "import nowhere\n"],
    ids=["elsewhere", "needs the whole", "cannot be loaded"],
)
def test_another_version_is_loaded_as_ever(shelf: Path, books: str) -> None:
    """It is the same as without modules on demand, errors included."""
    (shelf / "books.py").write_text(books, encoding="utf-8")
    (shelf / "__init__.py").write_text("glue = 1\nfrom shelf.books import *\nbook = 'a book'\n", encoding="utf-8")
    if "nowhere" in books:
        with pytest.raises(ModuleNotFoundError, match="nowhere"):
            from shelf import book
    else:
        from shelf import book

        assert book == "a book"


def test_a_library_whose_parts_do_not_go_together_is_loaded_again(shelf: Path) -> None:
    import shelf as before

    on_demand.load_whole("shelf")
    import shelf as after

    assert vars(after)["ran"]
    assert after is not before
