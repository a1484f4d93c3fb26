"""The commands of the README with a base of each type that people start from: four task types, to the report.

`new` brings the folder of a tiny base, `add-task` adds three labelled sets, DVC runs all stages; what comes out opens
in stock transformers and answers there alike.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForQuestionAnswering, pipeline

from adaptbert.comparison.records import Comparison
from adaptbert.config import load
from adaptbert.core.files import read_json
from adaptbert.model.checkpoint import quiet
from adaptbert.prediction.predictor import Predictor
from tests.support import tiny, tiny_tasks
from tests.support.encoders import NAMED
from tests.support.project import Project, clone, write_params

BASES = ("bert", "roberta", "xlm-roberta", "modernbert", "deberta-v2, as v3", "electra", "longformer")
"""The last one is padded, and has no head for answers."""
TASKS = {
    "mood": "single_sentence",
    "pairs": "sentence_pair",
    "tags": "sequence_labelling",
    "answers": "extractive_answer",
}


def written(folder: Path, name: str) -> dict[str, Path]:
    """The files of a user: text of two kinds, a labelled set of each type, and the base."""
    files = {kind: folder / f"{kind}.txt" for kind in tiny.WORDS}
    for kind, file in files.items():
        file.write_text("\n".join(tiny.sentences(kind, 120)), encoding="utf-8")
    for task, shape in TASKS.items():
        files[task] = folder / f"{task}.jsonl"
        rows = tiny_tasks.labelled("domain", shape, 80, 1)
        files[task].write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    files["base"] = folder / "base"
    NAMED[name].save(files["base"])
    return files


def small(document: dict[str, Any]) -> dict[str, Any]:
    """The params that `new` wrote, with a recipe of some steps."""
    batch = {"global_batch_tokens": 256, "micro_batch_tokens": 256, "block_size": tiny.MAX_LENGTH, "measurements": 1}
    for step in ("pretrain", "domain_transfer", "task_transfer"):
        document[step] = document[step] | batch | ({} if step == "pretrain" else {"steps": 4})
    document["finetune"] |= {"seeds": 1, "epochs": 1, "labels": 0, "max_length": tiny.MAX_LENGTH, "block_size": 64}
    arms = {"general": {"tasks": ["mood"]}, "domain_task": {"domain_transfer": "domain", "task_transfer": "own"}}
    shared = {"tokenize": {"max_length": tiny.MAX_LENGTH}, "measure": {"max_tokens": 2000}}
    return document | shared | {"arms": arms, "compare": {"replicates": 1}}


def said(project: Project, *command: str) -> str:
    done = project.run(*command, timeout=1500)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", BASES)
def test_a_recipe_of_four_task_types(name: str, tmp_path: Path) -> None:
    files, case = written(tmp_path, name), NAMED[name]
    tasks = {task: shape for task, shape in TASKS.items() if not case.lacks.get(tiny_tasks.head_of(shape).head)}
    project: Project = clone(tmp_path / "clone", tmp_path)
    first, *others = tasks
    texts = ("--text", str(files["domain"]), "--general", str(files["general"]))
    begun = ("--train", str(files[first]), "--base", str(files["base"]), "--force")
    said(project, "adaptbert.cli", "new", ".", *texts, *begun)
    for task in others:
        said(project, "adaptbert.cli", "add-task", "--yes", "--train", str(files[task]))
    write_params(project.root, small(load.read(project.root / "params.yaml")))
    said(project, "adaptbert.cli", "plan")
    said(project, "adaptbert.cli", "check")
    said(project, "dvc", "repro")

    comparison = Comparison.read(project.root / "metrics/comparison.json")
    assert {
        task.name: [arm.name for arm in task.arms if not arm.missing][-1] for task in comparison.tasks
    } == dict.fromkeys(tasks, "domain_task")
    assert "<html" in (project.root / "reports/index.html").read_text(encoding="utf-8")
    for task, shape in tasks.items():
        (folder,) = (project.root / "models/finetune").glob(f"{task}-domain_task-*")
        assert read_json(folder / "config.json")["model_type"] == case.kind
        rows = tiny_tasks.labelled("domain", shape, 3, 9)
        answers_alike(folder, shape, rows)
        new = tmp_path / f"new.{task}.jsonl"
        new.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        said(project, "adaptbert.cli", "predict", str(folder), str(new), "-o", str(tmp_path / f"{task}.answers.jsonl"))
        lines = (tmp_path / f"{task}.answers.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == len(rows)


def answers_alike(folder: Path, shape: str, rows: list[dict[str, Any]]) -> None:
    """Stock transformers opens the folder whole, and its pipelines give our probabilities."""
    ours = Predictor.load(folder, precision="32-true").predict(rows, probabilities=True)
    if shape == "extractive_answer":
        with quiet():
            _, info = AutoModelForQuestionAnswering.from_pretrained(folder, output_loading_info=True)
        assert {kind: names for kind, names in info.items() if names} == {}
        return
    kind = "token-classification" if shape == "sequence_labelling" else "text-classification"
    more: dict[str, Any] = {"ignore_labels": []} if shape == "sequence_labelling" else {"top_k": None}
    with quiet():
        pipe = pipeline(kind, model=str(folder), device="cpu", **more)  # type: ignore[call-overload]
    for row, answered in zip(rows, ours, strict=True):
        if shape == "sequence_labelling":
            pieces = pipe(" ".join(row["tokens"]))
            assert pieces[0]["score"] == pytest.approx(max(answered["probabilities"][0].values()), abs=1e-4)
        else:
            texts = {"text": row.get("text", row.get("text_a"))}
            texts |= {"text_pair": row["text_b"]} if "text_b" in row else {}
            scores = {each["label"]: each["score"] for each in pipe(texts)}
            assert scores == pytest.approx(answered["probabilities"], abs=1e-4)
