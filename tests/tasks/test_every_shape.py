"""Every shape with every target, from labelled rows to a checkpoint: it learns, and others open it and answer alike."""

import json
from typing import Any

import pytest
from transformers import pipeline

from adaptbert.core.files import read_json
from adaptbert.data import labelled_set as labelled
from adaptbert.tasks.metrics.scoring import COMPARED_BY
from tests.support import tiny
from tests.support.cells import Project
from tests.support.predicting import KINDS

LEARNT = {"seeds": [1], "epochs": 16.0, "dropout": 0.0, "learning_rate": 5e-3}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """All of them trained once; texts of up to 90 tokens are read in windows or cut."""
    made = Project(tmp_path_factory.mktemp("project"), KINDS, (512, 48, 48))
    for task, (shape, target) in KINDS.items():
        windows = {"long_text": "windows", "stride": 20} if shape == "single_sentence" else {}
        hard = shape == "sentence_pair" or target == "labels"
        made.finetune(task, "general", windows, **{**LEARNT, "max_length": 48, "labels": 0 if hard else 192})
    return made


@pytest.mark.parametrize("task", KINDS)
def test_it_learns_what_can_be_learnt(project: Project, task: str) -> None:
    metrics = read_json(project.root / f"metrics/{task}-general.json")
    metric = COMPARED_BY[KINDS[task][1]]
    assert metrics["metric"] == metric
    assert metrics["seeds"][0][f"test/{metric}"] > 0.93
    assert not metrics["seeds"][0]["degenerate"]


PIPELINES = {"single_sentence": "text-classification", "sentence_pair": "text-classification"}


@pytest.mark.parametrize("task", [task for task, (shape, _) in KINDS.items() if shape in PIPELINES])
def test_the_pipeline_of_transformers_answers_alike(project: Project, task: str) -> None:
    shape, target = KINDS[task]
    folder = str(project.root / f"models/finetune/{task}-general")
    run = pipeline(PIPELINES[shape], model=folder, device="cpu", top_k=None)
    rows = {row["id"]: row for row in labelled.split(project.root / "data" / task, "test")}
    short = [row for row in project.predictions(f"{task}-general") if fits(rows[row["id"]], shape)][:20]
    assert len(short) > 10
    for row in short:
        labelled_row = rows[row["id"]]
        pair = {"text": labelled_row.get("text_a"), "text_pair": labelled_row.get("text_b")}
        predictions: Any = run([labelled_row["text"] if shape == "single_sentence" else pair])[0]
        scores = {prediction["label"]: prediction["score"] for prediction in predictions}
        if target == "class":
            best = max(scores, key=lambda label: scores[label])
            assert (best, scores[best]) == (row["predicted"], pytest.approx(row["confidence"], abs=1e-4))
        elif target == "labels":
            assert sorted(label for label, score in scores.items() if score > 0.5) == json.loads(row["predicted"])
            assert min(max(score, 1 - score) for score in scores.values()) == pytest.approx(row["confidence"], abs=1e-4)
        else:
            assert list(scores.values()) == [pytest.approx(json.loads(row["predicted"]), abs=1e-2)]


def fits(row: dict[str, Any], shape: str) -> bool:
    texts = [row["text"]] if shape == "single_sentence" else [row["text_a"], row["text_b"]]
    return sum(len(encoding.ids) + 1 for encoding in tiny.tokenizer().encode(texts)) < 48 and all(texts)
