"""How-to pages, followed: what their params add to a preset and train again; slow: their commands in a tiny project."""

import json
from pathlib import Path
from typing import Any

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.config import load as params
from adaptbert.config.recipe import Recipe
from adaptbert.project.rules import check
from tests.support import followed_page as page
from tests.support import tiny, tiny_tasks
from tests.support.imports import ROOT
from tests.support.known import known
from tests.support.project import Project, clone

README, OWN_DATA = "README.md", "docs/how-to/own-data.md"
COMPARE, CONTROLS, MORE_TEXT, ONLY_TASK, OWN_TASK, SEARCH = (
    f"docs/how-to/{name}.md"
    for name in ("compare-checkpoints", "controls", "more-text", "task-text-only", "own-task", "search")
)
TRAINING = ("domain_transfer", "task_transfer", "finetune")
BASES = ("bert", "macbert")


def preset(name: str) -> dict[str, Any]:
    return params.read(ROOT / f"presets/{name}.yaml")


@pytest.mark.parametrize(
    ("name", "of_preset", "retrained"),
    [
        (CONTROLS, "demo", set()),
        (MORE_TEXT, "demo", {f"domain_transfer@domain-more-small-{replicate}" for replicate in (1, 2)}),
        (ONLY_TASK, "tapt-only", {f"task_transfer@my_task-bert-{replicate}" for replicate in (1, 2, 3)}),
        (OWN_TASK, "demo", set()),
    ],
)
def test_the_params_of_a_page_are_valid_and_train_again_what_it_says(
    name: str, of_preset: str, retrained: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    document, changed = preset(of_preset), set()
    for change in page.shown(name):
        before = page.entries(document)
        document = page.merged(document, change)
        check(Recipe(document))
        after = page.entries(document)
        changed |= {entry for entry in before if entry in after and after[entry] != before[entry]}
    assert changed == retrained


@pytest.mark.parametrize("name", [README, OWN_DATA])
def test_a_whole_file_is_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (whole,) = [document for document in page.shown(name) if {"corpora", "compare"} <= document.keys()]
    check(Recipe(whole))
    assert set(Recipe(whole).arms) == {"general", "general_long", "domain", "task", "domain_task"}


def of_compare(document: dict[str, Any]) -> list[dict[str, Any]]:
    """params.yaml after each block: arms replace those before, in the last they are added."""
    quick, more, fewer = page.shown(COMPARE)
    first = page.merged(document, quick)
    second = first | more
    return [first, second, page.merged(second, fewer)]


@pytest.mark.parametrize("name", ["zh-public", "en-public"])
def test_compare_checkpoints_keeps_what_is_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    document = preset(name)
    document["bases"] = dict(zip(BASES, document["bases"].values(), strict=True))
    documents = of_compare(document)
    for each in documents:
        check(Recipe(each))
    quick, more, fewer = map(page.entries, documents)
    assert [entry for entry in quick if entry.startswith(TRAINING)] == [f"finetune@my_task-quick-{b}" for b in BASES]
    assert {entry: more[entry] for entry in quick} == quick
    assert {entry: more[entry] for entry in fewer} == fewer


def test_the_blocks_on_search_are_parts_of_a_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for block in page.shown(SEARCH):
        document = preset("smoke")
        document["finetune"] |= {"micro_batch_size": 16} | block
        check(Recipe(document))


# ---- commands


@pytest.fixture
def project(tmp_path: Path) -> Project:
    page.texts(tmp_path / "texts")
    project = clone(tmp_path / "project", tmp_path)
    del project.env["PREFECT_API_URL"]  # the flow brings its own server
    return project


def test_the_commands_for_a_task(project: Project) -> None:
    """What they train is not run here."""
    (project.root / "data/own").mkdir()
    for split, count, seed in (("train", 48, 10), ("dev", 16, 11), ("test", 16, 12)):
        squad(project.root / f"data/own/reading.{split}.json", split, count, seed)
    before = page.entries(page.read(project))
    page.follow(project, page.lines(OWN_TASK, 0)[:1])
    after = page.entries(page.read(project))
    assert {name: after[name] for name in before} == before
    assert {name for name in after if name not in before and name.startswith("finetune")} == {
        name.replace("section", "reading") for name in before if name.startswith("finetune@section")
    }
    assert page.read(project)["tasks"]["reading"]["type"] == "question-answering"


def squad(path: Path, split: str, count: int, seed: int) -> None:
    paragraphs = []
    for n, row in enumerate(tiny_tasks.labelled("domain", "extractive_answer", count, seed)):
        answers = [{"text": answer["text"], "answer_start": answer["start"]} for answer in row["answers"]]
        question = {"id": f"{split}-{n}", "question": row["question"], "is_impossible": not answers, "answers": answers}
        paragraphs.append({"context": row["context"], "qas": [question]})
    path.write_text(json.dumps({"data": [{"title": split, "paragraphs": paragraphs}]}), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_compare_checkpoints(project: Project, tmp_path: Path) -> None:
    page.follow(project, page.lines(COMPARE, 0), {"DIR": tmp_path / "texts"})
    for base, size in zip(BASES, (120, 150), strict=True):
        page.checkpoint(project.root / f"models/init/{base}", page.tokenizer(size), seed=size)
    document = page.small(page.read(project)) | {"bases": {base: f"models/init/{base}" for base in BASES}}
    document["compare"]["replicates"] = 2
    documents, ran = of_compare(document), []
    for number, document in enumerate(documents):
        page.write(project, document)
        ran.append(page.stages_run(page.follow(project, page.lines(COMPARE, min(number + 1, 2)))))
    assert {name for name in ran[0] if name.startswith(TRAINING)} == {f"finetune@my_task-quick-{b}" for b in BASES}
    assert ran[1] == {"plan", "compare", *(page.entries(documents[1]).keys() - page.entries(documents[0]).keys())}
    assert ran[2] == {"plan", "compare"}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_controls(project: Project) -> None:
    document = page.small(preset("smoke"))
    del document["tasks"]["mention"]
    document["arms"] = {}
    for change in page.shown(CONTROLS)[:2]:
        document = page.merged(document, change)
    document["corpora"]["other"] = {"path": "data/smoke/general.jsonl", "columns": {"id": "id"}}
    document["overrides"]["matched"]["finetune"]["epochs"] = 2
    document["finetune"]["seeds"] = 3
    page.write(project, document)
    printed = page.follow(project, ["adaptbert plan", "make recipe"])
    assert "(fine-tuned with values of its own: matched)" in printed
    (task,) = Comparison.read(project.root / "metrics/comparison.json").tasks
    assert known(task.step("spent_otherwise")).own_values == ["matched"]
    weights = [project.root / f"models/domain_transfer/domain-small-{n}/model.safetensors" for n in (1, 2, 3, 4)]
    assert len({file.read_bytes() for file in weights}) == 4, "the A/A arm has other weights than its original"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_task_text_only(project: Project, tmp_path: Path) -> None:
    for corpus in ("general.txt", "domain.txt"):
        (tmp_path / "texts" / corpus).unlink()
    copy, add, use, *rest = page.lines(ONLY_TASK, 0)
    page.follow(project, [copy, add, use], {"DIR": tmp_path / "texts"})
    document = page.small(page.read(project))
    page.checkpoint(project.root / "models/init/bert", tiny.tokenizer())
    document["bases"], document["compare"]["replicates"] = {"bert": "models/init/bert"}, 2
    document["corpora"]["general"]["path"] = "data/smoke/general.jsonl"
    page.write(project, document)
    printed = page.follow(project, ["adaptbert plan", *rest])
    cells = {f"finetune@my_task-{name}" for name in ("general-bert", "task-bert-1", "task-bert-2")}
    ran = {name for name in page.stages_run(printed) if name.startswith(TRAINING)}
    assert ran == {"task_transfer@my_task-bert-1", "task_transfer@my_task-bert-2", *cells}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_more_text(project: Project, tmp_path: Path) -> None:
    page.follow(project, ["mkdir -p data/own && cp DIR/* data/own/"], {"DIR": tmp_path / "texts"})
    smoke, public = preset("smoke"), preset("en-public")
    document = smoke | {name: public[name] for name in ("corpora", "tasks")}
    document["arms"] = {"general": {}, "general_long": {"domain_transfer": "general"}}
    document["arms"]["domain"] = {"domain_transfer": "domain"}
    document["tokenizer"] = {"vocabulary_size": 150}
    document["compare"] = {"replicates": 1}
    page.write(project, page.small(document))
    page.follow(project, ["adaptbert plan", "dvc repro"])
    (tmp_path / "more").mkdir()
    page.corpus(tmp_path / "more/more.txt", "domain", 100, seed=7)
    page.follow(project, page.lines(MORE_TEXT, 0), {"FILE": tmp_path / "more/more.txt"})

    def trained(change: dict[str, Any]) -> set[str]:
        page.write(project, page.merged(page.read(project), change))
        ran = page.stages_run(page.follow(project, page.lines(MORE_TEXT, 1)))
        return {name for name in ran if name.startswith(("pretrain", *TRAINING))}

    more, _, control, compare = page.shown(MORE_TEXT)
    new = {"domain_transfer@domain-more-small-1", "finetune@my_task-domain_more-small-1"}
    assert trained(more) == new
    assert trained({"overrides": {"more": {"domain_transfer": {"steps": 2}}}}) == new
    assert trained(control) == {"domain_transfer@domain-domain-small-1", "finetune@my_task-domain_long-small-1"}
    assert trained(compare) == set()
    with (project.root / "data/own/domain.txt").open("a", encoding="utf-8") as file:
        file.write((tmp_path / "more/more.txt").read_text(encoding="utf-8"))
    assert {"pretrain@small", "domain_transfer@domain-small-1", *new} <= trained({})
