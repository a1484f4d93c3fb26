"""A run that learned nothing is told from the others on dev, is trained once more, and is never dropped in silence."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adaptbert.comparison.baselines import BASELINES
from adaptbert.config.schema.task_types import SPECS
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.runtime.mlflow import Run
from adaptbert.tasks.failed_runs import constant_score, failed
from tests.support import tiny_tasks
from tests.support.cells import Project

KINDS = {"score": ("single_sentence", "number")}
VALUES: dict[str, Any] = {"seeds": [1, 2, 3], "epochs": 3.0}
STEPS = 3 * 96 // 16


# ---- the rule


@pytest.mark.parametrize(
    ("dev", "constant", "expected"),
    [
        ([0.85, 0.33, 0.84], 0.33, [1]),
        ([0.85, 0.35, 0.84, 0.36, 0.86], 0.33, [1, 3]),
        ([0.85, 0.65, 0.84], 0.33, []),  # nearer to the others than to the constant answer
        ([0.42, 0.34, 0.43], 0.33, []),  # far in its own scatter, but runs scatter so much
        ([0.85, 0.33], 0.33, []),  # which of two is the usual one?
        ([0.85], 0.33, []),
        ([0.9, 0.5, 0.7, 0.3, 0.8], 0.1, []),  # all lie far apart
        ([0.8, 0.05, 0.79], 0.0, [1]),  # a correlation, spans
    ],
)
def test_a_run_far_below_the_others_failed(dev: list[float], constant: float, expected: list[int]) -> None:
    assert np.flatnonzero(failed(dev, [False] * len(dev), constant, 1_000)).tolist() == expected
    several = failed([dev, dev], [[False] * len(dev), [True] * len(dev)], constant, 1_000)
    assert several.sum(1).tolist() == [len(expected), len(dev)], "cells side by side; one that is constant did"


def test_a_small_dev_split_says_less() -> None:
    assert [failed([0.7, 0.4, 0.7], [False] * 3, 0.33, rows).any() for rows in (20, 100)] == [False, True]


@pytest.mark.parametrize("seeds", [3, 5, 20])
@pytest.mark.parametrize("above", [0.0, 0.03, 0.1, 0.4])
def test_runs_that_differ_as_seeds_do_have_not_failed(seeds: int, above: float) -> None:
    """With a standard deviation of three points, also where an arm is hardly better than the constant answer."""
    dev = 0.4 + above + np.random.default_rng(0).normal(0, 0.03, (10_000, seeds))
    assert failed(dev, np.zeros(dev.shape, bool), 0.4, 500).any(1).mean() <= 0.0005


@pytest.mark.parametrize("spec", SPECS.values(), ids=str)
def test_the_constant_answer_of_every_task_type(spec: Any) -> None:
    """As the most trivial baseline where that is constant."""
    train, dev = (tiny_tasks.labelled("domain", spec.task_type, 40, seed, spec.target) for seed in (0, 1))
    head = tiny_tasks.head_of(spec.task_type, spec.target)
    score = constant_score(head, train, dev)
    if spec.target in ("spans", "number"):
        assert score == 0
    elif spec.target == "tags":
        tags = [tag for row in dev for tag in row["tags"]]
        assert score == tags.count("X") / len(tags) > 0.3
    else:
        answer = BASELINES[spec.target](head._task, train, dev, 0)["majority"]
        assert score == head.score(head.gold(dev), answer(dev))[head.metric]


# ---- fine-tuning


@pytest.fixture
def spoilt(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Seeds whose head sees nothing of the text and cannot learn to; a test names them."""
    seeds, model = set[int](), Checkpoint.model

    def made(self: Checkpoint, head: Any, seed: int, **more: Any) -> Any:
        made = model(self, head, seed, **more)
        if seed in seeds:
            made.classifier.weight.requires_grad_(False)
            torch.nn.init.zeros_(made.classifier.weight)
        return made

    monkeypatch.setattr(Checkpoint, "model", made)
    return seeds


def runs(metrics: dict[str, Any]) -> list[tuple[int, int | None, bool]]:
    return [(seed["seed"], seed.get("restarted"), seed["failed"]) for seed in metrics["seeds"]]


def test_a_failed_run_is_trained_once_more_and_stays_in_the_metrics(
    tmp_path: Path, spoilt: set[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the labels of its seed, with the head and the order of another; it costs, and MLflow marks it."""
    logged: list[tuple[str, Any]] = []
    for name in ("set_tags", "log_metrics"):
        monkeypatch.setattr(
            Run, name, lambda self, values, *_, **__: logged.append((self.tags.get("seed"), dict(values)))
        )
    project = Project(tmp_path, KINDS)
    sound = project.finetune("score", "general", labels=64, **VALUES)
    assert runs(sound) == [(1, None, False), (2, None, False), (3, None, False)]
    sound_rows = project.predictions("score-general")
    other = project.finetune("score", "general", labels=64, **VALUES | {"seeds": [5]})
    logged.clear()
    spoilt.add(2)
    metrics = project.finetune("score", "general", labels=64, **VALUES)
    rows = project.predictions("score-general")
    assert runs(metrics) == [(1, None, False), (2, None, True), (3, None, False), (2, 5, False)]
    first, failed, third, again = metrics["seeds"]
    assert [first, third] == [sound["seeds"][0], sound["seeds"][2]]
    assert (failed["dev/pearson"], failed["test/pearson"], failed["curve"][-1]["answers/constant"]) == (0, 0, 1)
    assert again["test/pearson"] not in (0, sound["seeds"][1]["test/pearson"], other["seeds"][0]["test/pearson"])
    assert metrics["cost"]["tokens"] == sound["cost"]["tokens"] + again["curve"][-1]["tokens"]
    assert [row["seed"] for row in rows] == [row["seed"] for row in sound_rows], "the last run of each, in its place"
    others, of_sound = ([row["predicted"] for row in own if row["seed"] != 2] for own in (rows, sound_rows))
    assert others == of_sound
    assert len({row["predicted"] for row in rows if row["seed"] == 2}) > 1
    assert ("2", {"failed": "true"}) in logged
    assert [values["failed"] for _, values in logged if "failed" in values] == ["true", 1]
    printed = capsys.readouterr().out
    assert "seed 2 failed: " in printed
    assert "1 of 4 runs failed" in printed


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ({2, 5}, [(1, None, False), (2, None, True), (3, None, False), (2, 5, True)]),
        ({1, 2}, [(1, None, True), (2, None, True), (3, None, False), (1, 4, False), (2, 5, False)]),
        ({1, 2, 3}, [(1, None, True), (2, None, True), (3, None, True)]),
    ],
    ids=["again", "each with a seed of its own", "all: the values do not fit"],
)
def test_once_and_not_where_all_failed(
    tmp_path: Path, spoilt: set[int], bad: set[int], expected: list[tuple[int, int | None, bool]]
) -> None:
    """The model that is kept failed only where all did."""
    spoilt |= bad
    project = Project(tmp_path, KINDS)
    metrics = project.finetune("score", "general", **VALUES)
    assert runs(metrics) == expected
    assert {row["seed"] for row in project.predictions("score-general")} == {1, 2, 3}
    kept = Checkpoint.load(project.root / "models/finetune/score-general").card.task
    assert kept is not None
    assert (kept.scores["dev/pearson"] == 0) == (len(bad) == 3)


@pytest.mark.usefixtures("save_every_step")
def test_a_kill_while_a_failed_run_is_trained_once_more_changes_no_bit(
    tmp_path: Path, spoilt: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoilt.add(2)
    whole, broken = Project(tmp_path / "whole", KINDS), Project(tmp_path / "broken", KINDS)
    assert len(whole.finetune("score", "general", **VALUES)["seeds"]) == 4
    steps = broken.finetune_over_kills(
        [3 * STEPS, 3 * STEPS + 2, 4 * STEPS - 1], monkeypatch, "score", "general", **VALUES
    )
    assert broken.outputs() == whole.outputs()
    assert steps == 4 * STEPS, "no step was trained twice"
