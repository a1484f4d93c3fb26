"""The metrics of a cell: scores stand flat in the file and by metric in the model, and nothing is lost between them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.core.files import read_json
from adaptbert.tasks.metrics.cell_metrics import CellMetrics, SeedMetrics
from tests.support.cells import Project

KINDS = {"section": ("single_sentence", "class"), "asked": ("extractive_answer", "answer")}
SCORES = st.dictionaries(st.sampled_from(["f1_macro", "accuracy", "rmse"]), st.floats(0, 1), min_size=1)


@given(test=SCORES, dev=SCORES, steps=st.none() | st.integers(1, 9))
def test_a_seed_comes_back(test: dict[str, float], dev: dict[str, float], steps: int | None) -> None:
    more = {"tuned": {"no_answer_threshold": 1}, "degenerate": False, "cut": 0, "curve": []}
    metrics = SeedMetrics(seed=3, test=test, dev=dev, kept_step=steps, **more)
    written = metrics.as_json()
    flat = [f"test/{name}" for name in test] + [f"dev/{name}" for name in dev]
    order = ["seed", *flat, "tuned", "degenerate", "cut", "kept_step", "curve"]
    assert list(written) == [name for name in order if steps is not None or name != "kept_step"]
    assert SeedMetrics.model_validate(json.loads(json.dumps(written))) == metrics


@pytest.mark.parametrize("task", KINDS)
def test_what_a_stage_writes_is_read_whole(tmp_path: Path, task: str) -> None:
    project = Project(tmp_path, KINDS)
    early = {"early_stopping": {"patience": 1}} if task == "section" else {}
    project.finetune(task, "general", seeds=[1], epochs=2.0, label_counts=[32], **early)
    path = tmp_path / f"metrics/{task}-general.json"
    metrics = CellMetrics.read(path)
    assert json.dumps(metrics.as_json()) == json.dumps(read_json(path))
    assert (metrics.unanswerable is None) == (task == "section")
