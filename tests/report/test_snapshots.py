"""Snapshots are the same on every processor: what lies by a hair on one side is refused before it is written."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.data.task_description import TaskDescription
from adaptbert.linear.model import LinearModel
from adaptbert.report.text_table import summary
from tests.support.known import known
from tests.support.simulated import clearly_decided
from tests.support.snapshots import agrees, on_an_edge


def with_mean(comparison: Comparison, mean: float) -> Comparison:
    """The first arm of the first task has this score."""
    task, *others = comparison.tasks
    arm, *more = task.arms
    first = replace(arm, interval=replace(known(arm.interval), mean=mean))
    return replace(comparison, tasks=[replace(task, arms=[first, *more]), *others])


@pytest.mark.parametrize(("mean", "is_on_an_edge"), [(0.2445, True), (0.2445 + 5e-10, True), (0.24451, False)])
def test_a_number_between_two_roundings_is_refused(
    comparison: Comparison, mean: float, is_on_an_edge: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = with_mean(comparison, mean)
    assert bool(on_an_edge(summary, planted)) == is_on_an_edge
    if is_on_an_edge:
        monkeypatch.setenv("WRITE_SNAPSHOTS", "1")
        with pytest.raises(AssertionError, match=r"change the simulated data\n.* 24\.[45]"):
            agrees(tmp_path / "planted.txt", summary, planted)
        assert not any(tmp_path.iterdir())


def test_a_row_between_two_answers_is_refused() -> None:
    """A row that has as much of each class as of the others."""
    task = TaskDescription(type="text-classification", labels=["a", "b", "c"])
    terms: Any = SimpleNamespace(features=np.array)
    model = LinearModel(task, terms, task.labels, np.eye(3), np.zeros(3))
    with clearly_decided():
        assert model.decode(np.eye(3))[0] == ["a", "b", "c"]
        with pytest.raises(AssertionError, match="change the simulated data"):
            model.decode(np.ones((1, 3)))
