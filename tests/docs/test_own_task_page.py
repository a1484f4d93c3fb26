"""docs/how-to/own-task.md and search.md: what they show is put into a params.yaml beside other tasks, and is run."""

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from adaptbert.base.files import read_json
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.stage import check_all
from stages.collect_task import CollectTaskParams, collect_task
from stages.finetune import FinetuneParams, finetune
from stages.validate import Names, ValidateParams, validate
from tests.support import tiny
from tests.support.imports import ROOT
from tests.support.markdown import blocks

TASK, FILE = "reading", Path("params.yaml")
TINY = {"max_length": 64, "block_size": 64, "extractive_answer": {"max_question": 10, "stride": 24, "max_answer": 8}}


def shown(page: str) -> list[Any]:
    return [YAML(typ="safe", pure=True).load(block.text) for block in blocks(page) if block.language == "yaml"]


@pytest.fixture
def document(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The smallest preset, whose two tasks stay, and the page's task."""
    monkeypatch.chdir(ROOT)
    recipe = params.read(ROOT / "presets/smoke.yaml")
    (page,) = shown("docs/how-to/own-task.md")
    recipe["collect_task"] |= page["collect_task"]
    for steps in ("task_transfer", "finetune"):
        recipe["ladder"][steps] |= page["ladder"][steps]
    usual = {name: value for name, value in recipe["finetune"]["mention"].items() if name != "sequence_labelling"}
    recipe["finetune"][TASK] = usual | page["finetune"][TASK]
    recipe["pretrain"]["encoder"]["max_positions"] = 512
    return recipe


def squad(path: Path, split: str, count: int, seed: int) -> None:
    paragraphs = [
        {
            "context": row["context"],
            "qas": [
                {
                    "id": f"{split}-{n}",
                    "question": row["question"],
                    "answers": [{"text": a["text"], "answer_start": a["start"]} for a in row["answers"]],
                    "is_impossible": not row["answers"],
                }
            ],
        }
        for n, row in enumerate(tiny.labelled("domain", "extractive_answer", count, seed))
    ]
    path.write_text(json.dumps({"data": [{"title": split, "paragraphs": paragraphs}]}), encoding="utf-8")


def test_a_task_of_a_known_shape_is_params_only(document: dict[str, Any], tmp_path: Path) -> None:
    """From its files to the scores of a cell, with nothing but the page's lines; lengths are those of the tiny BERT."""
    check_all(document, FILE)
    document["finetune"][TASK] |= TINY
    for split, count, seed in (("train", 48, 10), ("dev", 16, 11), ("test", 16, 12)):
        path = tmp_path / Path(document["collect_task"][TASK][split]).name
        squad(path, split, count, seed)
        document["collect_task"][TASK][split] = str(path)
    check_all(document, FILE)

    collected = params.parse(CollectTaskParams, document["collect_task"][TASK], f"collect_task.{TASK}", FILE)
    files = {split: Path(getattr(collected, split)) for split in ("train", "dev", "test")}
    collect_task(collected, task=TASK, **files, out=tmp_path / "raw/tasks" / TASK, run=tiny.no_record())
    validate(
        params.parse(ValidateParams, document["validate"], "validate", FILE),
        collect=Names(),
        collect_task=Names.model_validate({TASK: {}}),
        corpora=tmp_path / "raw/corpora",
        tasks=tmp_path / "raw/tasks",
        out=tmp_path / "validated",
        rejected=tmp_path / "rejected",
        metrics=tmp_path / "validate.json",
        run=tiny.no_record(),
    )
    tiny.pretrained(tmp_path / "pretrain")
    finetune(
        params.parse(FinetuneParams, document["finetune"][TASK], f"finetune.{TASK}", FILE),
        task=TASK,
        arm="general",
        init=tmp_path / "pretrain",
        data=tmp_path / "validated/tasks" / TASK,
        out=tmp_path / "model",
        predictions=tmp_path / "predictions.parquet",
        metrics=tmp_path / "metrics.json",
        work=tiny.work(tmp_path / "work"),
        run=tiny.no_record(),
    )
    metrics = read_json(tmp_path / "metrics.json")
    assert metrics["metric"] == "f1_answer"
    assert [seed["seed"] for seed in metrics["seeds"]] == document["finetune"]["mention"]["seeds"]


def test_every_block_of_the_page_on_search_is_a_part_of_a_section(document: dict[str, Any]) -> None:
    page = shown("docs/how-to/search.md")
    assert [sorted(block) for block in page] == [["search"], ["search"], ["label_counts", "labels"]]
    grid, wide, _ = page
    document["finetune"]["section"] |= {"micro_batch_size": 16} | page[2]
    for block in (grid, wide):
        document["finetune"]["section"] |= block
        check_all(document, FILE)
    trials = [len(grid["search"][name]) for name in ("learning_rate", "global_batch_size", "epochs")]
    assert trials == [3, 2, 2], "the page counts twelve"
