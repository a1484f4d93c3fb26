"""docs/how-to/own-task.md and search.md: what they show is put into a params.yaml beside other tasks, and is run."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from adaptbert.base.files import read_json
from adaptbert.runtime.params import blocks
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all
from stages.collect_task import CollectTaskParams, collect_task
from stages.finetune import FinetuneParams, finetune
from stages.validate import Names, ValidateParams, validate
from tests.support import tiny, tiny_tasks
from tests.support.followed_page import entries, follow, lines, read, shown
from tests.support.imports import ROOT
from tests.support.project import clone

TASK, FILE = "reading", Path("params.yaml")
TINY = {"max_length": 64, "block_size": 64, "extractive_answer": {"max_question": 10, "stride": 24, "max_answer": 8}}


@pytest.fixture
def document(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The smallest preset, whose two tasks stay, and the page's task."""
    monkeypatch.chdir(ROOT)
    recipe = params.read(ROOT / "presets/smoke.yaml")
    page, _ = shown("docs/how-to/own-task.md")
    for section in page:
        recipe[section] |= page[section]
    recipe["ladder"]["starts"]["small"]["encoder"]["max_positions"] = 512
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
        for n, row in enumerate(tiny_tasks.labelled("domain", "extractive_answer", count, seed))
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
        blocks.parse(FinetuneParams, document["finetune"], ["small", TASK, "general"], "finetune", FILE),
        task=TASK,
        arm="general",
        start="small",
        draw="0",
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
    assert [seed["seed"] for seed in metrics["seeds"]] == document["finetune"]["all"]["seeds"]


def test_a_task_can_have_fewer_arms(document: dict[str, Any]) -> None:
    document["ladder"]["arms"] |= {"general": {}}
    del document["ladder"]["arms"]["domain"]["tasks"]
    every = entries(document)
    document["ladder"] |= shown("docs/how-to/own-task.md")[1]["ladder"]
    check_all(document, FILE)
    assert every.keys() - entries(document).keys() == {f"finetune@{TASK}-scratch-small"}


def test_the_commands_for_a_task(tmp_path: Path) -> None:
    """Added as the page shows it; what it trains is not run here."""
    project = clone(tmp_path / "project", tmp_path)
    for split, count, seed in (("train", 48, 10), ("dev", 16, 11), ("test", 16, 12)):
        squad(project.root / f"reading.{split}.json", split, count, seed)
    add = lines("docs/how-to/own-task.md", 0)
    before = entries(read(project))
    follow(project, [add[0]])
    new = entries(read(project)).keys() - before.keys()
    assert {name for name in new if name.startswith("finetune")} == {
        name.replace("section", TASK) for name in before if name.startswith("finetune@section")
    }
    assert {name: values for name, values in entries(read(project)).items() if name not in new} == before
    collected = read(project)["collect_task"][TASK]
    assert (collected["shape"], collected["target"]) == ("extractive_answer", "answer")


def test_every_block_of_the_page_on_search_is_a_part_of_a_section(document: dict[str, Any]) -> None:
    page = shown("docs/how-to/search.md")
    assert [sorted(block) for block in page] == [["search"], ["label_counts", "labels"]]
    for name in ("all", "section"):
        values = copy.deepcopy(document)
        values["finetune"][name] |= {"micro_batch_size": 16} | page[0] | page[1]
        check_all(values, FILE)
    assert page[0]["search"]["trials"] == 20, "what the page counts"
