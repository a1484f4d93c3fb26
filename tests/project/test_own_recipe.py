"""The file that the README shows as all that a user writes: planned and checked as it stands, and the whole recipe
runs with it, from a small base in models/init. And the presets: whole, valid and short, the demo as it is committed."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from adaptbert.comparison.records import Comparison
from adaptbert.config import load, plan_file
from adaptbert.config.plan import read
from adaptbert.config.recipe import Recipe
from adaptbert.planning import input_files, rules
from adaptbert.project import editing
from tests.support import tiny, tiny_tasks
from tests.support.commands import run
from tests.support.imports import ROOT
from tests.support.markdown import blocks
from tests.support.project import Project, clone, write_params

BASE = "google-bert/bert-base-chinese"
(OWN,) = [block.text for block in blocks("README.md") if "corpora:" in block.text]
ARMS = ("general", "general_long", "domain", "task", "domain_task")


def own_files(folder: Path) -> None:
    """Files that the recipe names, with few rows."""
    news = [json.dumps({"text": text}) for text in tiny.sentences("general", 200)]
    (folder / "news.jsonl").write_text("\n".join(news) + "\n", encoding="utf-8")
    rows = tiny_tasks.labelled("domain", "single_sentence", 120, 1)
    tables: dict[str, list[tuple[Any, ...]]] = {
        "posts": [("content",), *((text,) for text in tiny.sentences("domain", 200))],
        "mood": [("content", "emotion"), *((row["text"], row["label"]) for row in rows)],
    }
    for name, table in tables.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(table)


def test_it_is_planned_and_checked_as_it_stands(own: Path, project: Path) -> None:
    own_files(own)
    (project / "params.yaml").write_text(OWN, encoding="utf-8")
    planned = run("plan")
    summary = f"plan.json: 9 checkpoints and 9 fine-tunings, in the arms {', '.join(ARMS)}"
    *_, said, shown = planned.output.splitlines()
    assert (planned.exit_code, said) == (0, summary)
    assert shown.startswith("mood, first question: a study of 2 replicates, 3 seeds and ")
    assert [*read(project / "plan.json").finetune] == [
        "mood-general-base",
        *(f"mood-{arm}-base-{replicate}" for arm in ARMS[1:] for replicate in (1, 2)),
    ]
    done = run("check")
    *notices, notice, of_design, last = done.output.splitlines()
    assert (done.exit_code, done.stderr) == (0, "")
    assert all("too few to learn much from" in each for each in notices)
    assert re.match(r"notice: params.yaml: finetune.epochs: mood: \d+ steps for 2 classes.*: models this short", notice)
    assert (of_design, last.startswith("params.yaml: ")) == (shown, True)


def made_small(folder: Path) -> tuple[Project, dict[str, Any]]:
    """A clone with the files, and the values made small, from a base with the vocabulary of its files."""
    project: Project = clone(folder / "clone", folder)
    (project.root / "data/own").mkdir()
    own_files(project.root / "data/own")
    tiny.public(project.root / "models/init/bert")
    document = YAML(typ="safe", pure=True).load(OWN.replace(BASE, "models/init/bert"))
    batch = {"global_batch_tokens": 128, "micro_batch_tokens": 128, "block_size": tiny.MAX_LENGTH, "measurements": 1}
    lengths = {"max_length": tiny.MAX_LENGTH, "block_size": tiny.MAX_LENGTH}
    document |= {
        "pretrain": batch,
        **dict.fromkeys(("domain_transfer", "task_transfer"), batch | {"steps": 4}),
        "tokenize": {"max_length": tiny.MAX_LENGTH},
        "measure": {"max_tokens": 2000},
        "finetune": lengths | {"seeds": 2, "epochs": 1, "labels": 0},
    }
    return project, document


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_its_whole_recipe(tmp_path: Path) -> None:
    """Run and read by the notebook."""
    project, document = made_small(tmp_path)
    (project.root / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
    done = project.run("examples.notebook", timeout=1500)
    assert done.returncode == 0, done.stdout
    assert "confidence" in done.stdout, done.stdout
    assert "torch.Size([1, " in done.stdout, done.stdout
    metrics = json.loads((project.root / "metrics/metrics.json").read_text(encoding="utf-8"))
    assert {*ARMS} <= {*metrics["mood"]["bert"]}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("corpora", [["domain"], []])
def test_its_recipe_without_general_text(tmp_path: Path, corpora: list[str]) -> None:
    """With domain text alone, and with the text of the task alone."""
    project, document = made_small(tmp_path)
    document["corpora"] = {name: document["corpora"][name] for name in corpora}
    document["compare"]["replicates"] = 1
    write_params(project.root, document)
    done = project.run("dvc", "repro", timeout=1500)
    assert done.returncode == 0, done.stdout
    arms = ["general", *corpora, "task", *(f"{name}_task" for name in corpora)]
    comparison = Comparison.read(project.root / "metrics/comparison.json")
    assert [arm.name for arm in comparison.tasks[0].arms if not arm.missing] == arms
    assert comparison.heldout == [*corpora, "mood"]
    assert all([*each.after] for _, each in comparison.trained() if each.name != "scratch")
    assert comparison.began_from == {"bert": "models/init/bert"}
    assert "<html" in (project.root / "reports/index.html").read_text(encoding="utf-8")


# ---- presets

NAMES = sorted(path.stem for path in (ROOT / "presets").glob("*.yaml"))
MOST_LINES = {"params": 45, **dict.fromkeys(NAMES, 40)}


def recipe(name: str) -> Recipe:
    return Recipe(load.read(ROOT / f"presets/{name}.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_valid_and_its_files_are_those_of_the_user_or_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the user lie in data/own, which git ignores; a script makes those of the demonstration."""
    monkeypatch.chdir(ROOT)
    rules.check(recipe(name))
    lacking = [str(error) for _, error in input_files.check(recipe(name))]
    assert [line for line in lacking if "data/own/" not in line and "python -m examples.docstrings" not in line] == []


@pytest.mark.parametrize("name", MOST_LINES)
def test_a_person_writes_few_lines(name: str) -> None:
    path = ROOT / ("params.yaml" if name == "params" else f"presets/{name}.yaml")
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES[name]


def test_the_committed_files_are_those_of_the_demonstration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    plan_file.check(Recipe(load.read(ROOT / "params.yaml")), plan_file.stages())
    if (shown := editing.committed(Path("params.yaml"))) is None:
        pytest.skip("not a git repository")
    assert shown == Path(ROOT / "presets/demo.yaml").read_bytes(), (
        "cp params.yaml presets/demo.yaml (or the other way round)"
    )
