"""The inputs of each seed: its own labels, the same in every arm, and what they cost."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adaptbert.finetuning import seed_run
from tests.support.cells import Project


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    return Project(tmp_path, {"section": ("single_sentence", "class")})


def test_each_seed_has_labels_of_its_own_in_every_arm_alike(fresh: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is trained on, with a point of the learning curve: its rows are among those of the same seed."""
    trained: list[set[bytes]] = []
    real = seed_run._batches

    def noted(request: seed_run.SeedRun, *others: Any) -> Any:
        examples = [request.examples.take(np.array([number])) for number in range(len(request.examples))]
        trained.append({example.ids.tobytes() for example in examples})
        return real(request, *others)

    monkeypatch.setattr(seed_run, "_batches", noted)
    for arm in ("general", "scratch"):
        metrics = fresh.finetune("section", arm, labels=40, label_counts=[20], seeds=[1, 2])
        assert metrics["labels"] == 40
    general, scratch = trained[:4], trained[4:]
    assert general == scratch, "the same for every arm"
    first, second, fewer, fewer_second = general
    assert (len(first), len(second), len(fewer), len(fewer_second)) == (40, 40, 20, 20)
    assert fewer < first
    assert fewer_second < second
    assert 0 < len(first & second) < 40, "two draws of 40 of 96"


def test_the_cost_is_that_of_every_seed(fresh: Project) -> None:
    """Seeds with other labels read other numbers of tokens."""
    each = [fresh.finetune("section", "general", labels=40, seeds=[seed])["tokens"] for seed in (1, 2)]
    both = fresh.finetune("section", "general", labels=40, label_counts=[20], seeds=[1, 2])
    fewer = both["learning_curve"][0]["tokens"]
    assert each[0] != each[1]
    assert both["cost"]["tokens"] == sum(each) + fewer
