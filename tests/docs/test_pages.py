"""How-to pages and README: the files, params and Python that they show are read, checked and run as they stand.

That DVC runs what the plan says, and no more, tests/pipeline/test_plan_edits.py proves; share.md is followed command by
command in test_share_page.py, compare-in-mlflow.md in test_compare_in_mlflow_page.py.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from adaptbert.cli import app
from adaptbert.config import load as params
from adaptbert.config.plan_file import expand
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.sources import Task
from adaptbert.config.schema.task_types import TARGETS
from adaptbert.data.files import Files
from adaptbert.data.formats import FORMATS
from adaptbert.planning.rules import check
from adaptbert.prediction.outputs import columns
from tests.support.cells import Project
from tests.support.imports import ROOT
from tests.support.markdown import LABELLED_SETS, Example, blocks, examples, prose

ARMS, BASES, OPTIONS, OWN_TASK, PREDICT = (
    f"docs/how-to/{name}.md" for name in ("arms", "public-checkpoints", "fine-tuning-options", "own-task", "predict")
)
TRAINING = ("domain_transfer", "task_transfer", "finetune")

# ---- params that are added to a preset, and what of it is trained again


@pytest.fixture
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def preset(name: str) -> dict[str, Any]:
    return params.read(ROOT / f"presets/{name}.yaml")


def shown(page: str) -> list[Any]:
    """What the yaml blocks of a page say, in order."""
    return [block.values for block in blocks(page, "yaml")]


def merged(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """As a reader writes lines into the file: what is not named stays."""
    result = dict(values)
    for key, other in others.items():
        below = result.get(key)
        result[key] = merged(below, other) if isinstance(below, Mapping) and isinstance(other, Mapping) else other
    return result


def entries(document: Mapping[str, Any]) -> dict[str, Any]:
    """`stage@key` -> what plan.json says of it; all is valid."""
    recipe = Recipe(document)
    check(recipe)
    tables = expand(recipe).model_dump(exclude={"validation", "code"})
    return {f"{stage}@{key}": values for stage, table in tables.items() for key, values in table.items()}


@pytest.mark.usefixtures("_in_the_project")
@pytest.mark.parametrize(
    ("page", "retrained"),
    [
        (ARMS, {f"domain_transfer@domain-more-small-{replicate}" for replicate in (1, 2)}),
        (OWN_TASK, {"tokenize@small"}),  # documents of another length
    ],
)
def test_the_params_of_a_page_are_valid_and_train_again_what_it_says(page: str, retrained: set[str]) -> None:
    document, changed = preset("demo"), set()
    before = entries(document)
    for change in shown(page):
        document = merged(document, change)
        after = entries(document)
        changed |= {entry for entry in before if entry in after and after[entry] != before[entry]}
        before = after
    assert changed == retrained


@pytest.mark.usefixtures("_in_the_project")
def test_the_whole_file_of_the_readme_is_valid() -> None:
    (whole,) = shown("README.md")
    check(Recipe(whole))
    assert set(Recipe(whole).arms) == {"general", "general_long", "domain", "task", "domain_task"}


@pytest.mark.usefixtures("_in_the_project")
@pytest.mark.parametrize("name", ["zh-public", "en-public"])
def test_compare_checkpoints_keeps_what_is_there(name: str) -> None:
    """Arms of a block replace those before, in the last they are added; all else of the quick arm serves them."""
    document, bases = preset(name), ("bert", "macbert")
    document["bases"] = dict(zip(bases, document["bases"].values(), strict=True))
    *_, first, second, third = shown(BASES)
    quick = merged(document, first)
    more = quick | second
    of_quick, of_more, of_fewer = map(entries, (quick, more, merged(more, third)))
    assert [entry for entry in of_quick if entry.startswith(TRAINING)] == [f"finetune@my_task-quick-{b}" for b in bases]
    kept = {entry: values for entry, values in of_quick.items() if "quick" not in entry}
    assert {entry: of_more[entry] for entry in kept} == kept
    assert {entry: of_more[entry] for entry in of_fewer} == of_fewer


@pytest.mark.usefixtures("_in_the_project")
def test_the_blocks_on_search_are_parts_of_a_section() -> None:
    for block in shown(OPTIONS)[1:]:
        document = preset("smoke")
        document["finetune"] |= {"micro_batch_size": 16} | block
        check(Recipe(document))


# ---- labelled sets


def parsed(section: dict[str, Any]) -> Task:
    return params.parse(Task, section, "tasks.x", Path("params.yaml"))


@pytest.mark.parametrize("example", examples(), ids=lambda example: f"{example.format} {example.section['type']}")
def test_the_file_of_a_format_is_read_whole(tmp_path: Path, example: Example) -> None:
    path = tmp_path / f"train.{example.suffix}"
    path.write_text(example.text, encoding="utf-8")
    task = parsed({"train": "a", "dev": "b", "test": "c"} | example.section)
    assert {row.problem for row in Files(path, task, "train").rows()} == {None}


def test_every_format_is_shown() -> None:
    labelled = {name for name, spec in FORMATS.items() if spec.is_labelled}
    assert {example.format for example in examples()} == {"csv", "jsonl"} | labelled


def test_the_split_is_one() -> None:
    (section,) = [section for section in shown(LABELLED_SETS) if "split" in section]
    assert parsed({"type": "text-classification"} | section).split is not None


# ---- predictions


def test_the_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ours, and that of a pipeline of transformers."""
    ours, stock = blocks(PREDICT, "python")
    project = Project(tmp_path, {"section": ("single_sentence", "class")}, (16, 8, 8))
    project.finetune("section", "general", seeds=[1], epochs=1.0)
    (tmp_path / "models/finetune/section-general").rename(tmp_path / "models/finetune/section-general-small")
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    exec(compile(ours.text, PREDICT, "exec"), {})
    assert re.fullmatch(r"a (code|prose) \{'code': .*, 'prose': .*\}\n", capsys.readouterr().out)
    exec(compile(stock.text, PREDICT, "exec"), {})
    assert re.fullmatch(r"\[\{'label': '(code|prose)', 'score': .*\}\]\n", capsys.readouterr().out)


def test_options_of_the_page_are_those_of_the_command() -> None:
    command = get_command(app).commands["predict"]  # type: ignore[attr-defined]
    names = {name for parameter in command.params for name in parameter.opts if name.startswith("-")}
    documented = set(re.findall(r"`(--?[a-z][a-z-]*)`", prose(PREDICT)))
    assert {"--probabilities", "--keep", "--linear"} <= documented <= names


def test_every_field_of_an_answer_is_documented() -> None:
    documented = set(re.findall(r"`(\w+)`", prose(PREDICT)))
    for target, spec in TARGETS.items():
        assert set(columns(target, details=True).names) | {spec.answer} <= documented
