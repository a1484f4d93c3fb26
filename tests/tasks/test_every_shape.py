"""Every shape with every target, from labelled rows to a checkpoint: it learns, and others open it and answer alike."""

import json
from typing import Any

import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoModelForTokenClassification, AutoTokenizer, pipeline

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


def test_the_stock_model_finds_the_same_answers(project: Project) -> None:
    """Question and context through AutoTokenizer and AutoModel, best span by trying all of them."""
    folder = project.root / "models/finetune/extractive_answer_answer-general"
    model = AutoModelForQuestionAnswering.from_pretrained(str(folder)).eval()
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    threshold = read_json(folder / "card.json")["task"]["tuned"]["no_answer_threshold"]
    rows = {row["id"]: row for row in labelled.split(project.root / "data/extractive_answer_answer", "test")}
    checked = 0
    for row in project.predictions("extractive_answer_answer-general"):
        labelled_row = rows[row["id"]]
        encoded = tokenizer(
            labelled_row["question"], labelled_row["context"], return_tensors="pt", return_offsets_mapping=True
        )
        offsets = encoded.pop("offset_mapping")[0].tolist()
        if len(offsets) > 48:
            continue
        with torch.no_grad():
            out = model(**encoded)
        start, end = out.start_logits[0], out.end_logits[0]
        context = [n for n, kind in enumerate(encoded["token_type_ids"][0].tolist()) if kind == 1][:-1]
        spans = [(float(start[a] + end[b]), a, b) for a in context for b in context if a <= b < a + 8]
        score, first, last = max(spans)
        best = labelled_row["context"][offsets[first][0] : offsets[last][1]]
        assert row["predicted"] == ("" if float(start[0] + end[0]) - score > threshold else best)
        checked += 1
    assert checked > 20


@pytest.mark.parametrize("target", ["spans", "tags"])
def test_the_stock_model_tags_words_alike(project: Project, target: str) -> None:
    task = f"sequence_labelling_{target}"
    folder = str(project.root / f"models/finetune/{task}-general")
    model, tokenizer = (
        AutoModelForTokenClassification.from_pretrained(folder).eval(),
        AutoTokenizer.from_pretrained(folder),
    )
    rows = {row["id"]: row for row in labelled.split(project.root / "data" / task, "test")}
    right = total = 0
    for row in project.predictions(f"{task}-general"):
        encoded = tokenizer(rows[row["id"]]["tokens"], is_split_into_words=True, return_tensors="pt")
        if encoded["input_ids"].shape[1] > 48:
            continue
        with torch.no_grad():
            best = model(**encoded).logits[0].argmax(-1).tolist()
        words = encoded.word_ids()
        firsts = [n for n, word in enumerate(words) if word is not None and word != words[n - 1]]
        tags = [model.config.id2label[best[n]] for n in firsts]
        right += sum(a == b for a, b in zip(tags, json.loads(row["predicted"]), strict=True))
        total += len(tags)
    assert total > 200
    assert right / total > 0.99, "but for tags that were illegal word by word"
