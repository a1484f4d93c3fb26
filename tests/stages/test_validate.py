"""The stage: from the folders of `collect` to training data, atomically."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from adaptbert.config.schema.sources import Limits
from adaptbert.core.files import read_json
from adaptbert.errors import Several
from adaptbert.runtime.mlflow import Run
from stages.validate import validate
from tests.support import raw
from tests.support.reading import SPANS
from tests.support.rules import DEMO, recipe
from tests.support.tiny import folder_bytes

PARAMS = Limits(min_characters=2, max_characters=1000, max_bad_fraction=0.4)
HELD_OUT = "a dev or test sentence of the task that is long enough to be found inside"


def collected(folder: Path) -> None:
    """Two corpora, a classification and a tagging; and a corpus that nobody names any more."""
    raw.corpus(folder / "corpora/left_over", ["an old corpus", "that nobody names"])
    raw.corpus(folder / "corpora/general", ["general one", "general two", f"It said: {HELD_OUT}.", "rome FELL"])
    raw.corpus(folder / "corpora/domain", ["domain one", "domain two", "Domain  one", "general one", ""])
    raw.unreadable(folder / "corpora/domain", 1)
    splits = {"train": [("good", "pos"), ("bad", "neg")], "dev": [(HELD_OUT, "pos")], "test": [("best", "pos")]}
    raw.task(folder / "tasks/mood", splits)
    raw.unreadable(folder / "tasks/mood", 0, split="train")
    tagged = {
        "train": [(["Oslo"], ["B-LOC"])],
        "dev": [(["Bonn"], ["B-LOC"])],
        "test": [(["Rome", "fell"], ["B-LOC", "O"])],
    }
    raw.task(folder / "tasks/place", tagged, SPANS, tag_scheme="bio")


def run(folder: Path, record: Any, tasks: Sequence[str] = ("place", "mood")) -> None:
    validate(
        PARAMS,
        recipe=recipe(tasks=dict.fromkeys(tasks, DEMO["tasks"]["section"])),
        corpora=folder / "raw/corpora",
        tasks=folder / "raw/tasks",
        out=folder / "validated",
        rejected=folder / "rejected",
        metrics=folder / "metrics/validate.json",
        run=record,
    )


def test_row_counts_of_every_set(tmp_path: Path) -> None:
    """Equal inputs give equal bytes."""
    collected(tmp_path / "raw")
    record = Mock(spec=Run)
    run(tmp_path, record)
    report = read_json(tmp_path / "metrics/validate.json")
    assert list(report["corpora"]) == ["domain", "general"]
    counts = {name: (of["rows_in"], of["kept"], of["rejected"]) for name, of in report["corpora"].items()}
    assert counts["domain"] == (6, 3, {"duplicate": 1, "empty": 1, "unreadable": 1})
    assert counts["general"] == (4, 2, {"dev_or_test_text": 2})
    assert {name: splits["train"]["kept"] for name, splits in report["tasks"].items()} == {"mood": 2, "place": 1}
    (logged,) = record.log_metrics.call_args.args
    assert logged["corpora/domain/rejected/duplicate"] == 1
    record.log_artifact.assert_called_once_with(tmp_path / "metrics/validate.json")
    corpora = [f"corpora/{name}.parquet" for name in ("domain", "general")]
    of_task = ("dev.parquet", "task.json", "test.parquet", "train.parquet")
    tasks = [f"tasks/{task}/{name}" for task in ("mood", "place") for name in of_task]
    assert list(folder_bytes(tmp_path / "validated")) == [*corpora, *tasks]
    assert list(folder_bytes(tmp_path / "rejected")) == [*corpora, "tasks/mood.parquet", "tasks/place.parquet"]
    first = folder_bytes(tmp_path)
    for name in ("validated", "rejected", "metrics"):
        shutil.rmtree(tmp_path / name)
    run(tmp_path, Mock(spec=Run))
    assert folder_bytes(tmp_path) == first


def test_a_recipe_without_tasks(tmp_path: Path) -> None:
    """Their folder is there all the same: DVC refuses to go on where a stage reads what does not exist."""
    collected(tmp_path / "raw")
    run(tmp_path, Mock(spec=Run), tasks=())
    assert list(folder_bytes(tmp_path / "validated")) == ["corpora/domain.parquet", "corpora/general.parquet"]
    assert (tmp_path / "validated/tasks").is_dir()


def test_all_faults_of_all_sets_and_nothing_written(tmp_path: Path) -> None:
    collected(tmp_path / "raw")
    raw.corpus(tmp_path / "raw/corpora/domain", ["only one"])
    raw.task(tmp_path / "raw/tasks/mood", {"train": [("a", "pos")], "dev": [("b", "pos")], "test": [("c", "odd")]})
    with pytest.raises(Several) as several:
        run(tmp_path, Mock(spec=Run))
    refusals = [(error.code, Path(error.place.file).name) for error in several.value.failures]
    assert refusals == [(60, "mood"), (19, "mood"), (1, "text.parquet"), (19, "text.parquet")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw"]
