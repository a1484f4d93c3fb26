"""How-to pages: what their params add to a preset, and what of it is trained again.

That DVC runs what the plan says, and no more, tests/pipeline/test_plan_edits.py proves; share.md is followed command by
command in test_share_page.py.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from ruamel.yaml import YAML

from adaptbert.config import load as params
from adaptbert.config.plan_file import expand
from adaptbert.config.recipe import Recipe
from adaptbert.project.rules import check
from tests.support.imports import ROOT
from tests.support.markdown import blocks

README = "README.md"
ARMS, BASES_PAGE, OPTIONS, OWN_TASK = (
    f"docs/how-to/{name}.md" for name in ("arms", "public-checkpoints", "fine-tuning-options", "own-task")
)
TRAINING = ("domain_transfer", "task_transfer", "finetune")
BASES = ("bert", "macbert")


def preset(name: str) -> dict[str, Any]:
    return params.read(ROOT / f"presets/{name}.yaml")


def shown(page: str) -> list[Any]:
    """What the yaml blocks of a page say, in order."""
    return [YAML(typ="safe", pure=True).load(block.text) for block in blocks(page) if block.language == "yaml"]


def merged(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """As a reader writes lines into the file: what is not named stays."""
    result = dict(values)
    for key, other in others.items():
        below = result.get(key)
        result[key] = merged(below, other) if isinstance(below, Mapping) and isinstance(other, Mapping) else other
    return result


def entries(document: Mapping[str, Any]) -> dict[str, Any]:
    """`stage@key` -> what plan.json says of it."""
    tables = expand(Recipe(document)).model_dump()
    single = ("validation", "compare", "code")
    return {
        f"{stage}@{key}": values
        for stage, table in tables.items()
        if stage not in single
        for key, values in table.items()
    }


@pytest.mark.parametrize(
    ("name", "of_preset", "retrained"),
    [
        (ARMS, "demo", {f"domain_transfer@domain-more-small-{replicate}" for replicate in (1, 2)}),
        (OWN_TASK, "demo", set()),
    ],
)
def test_the_params_of_a_page_are_valid_and_train_again_what_it_says(
    name: str, of_preset: str, retrained: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    document, changed = preset(of_preset), set()
    for change in shown(name):
        before = entries(document)
        document = merged(document, change)
        check(Recipe(document))
        after = entries(document)
        changed |= {entry for entry in before if entry in after and after[entry] != before[entry]}
    assert changed == retrained


def test_the_whole_file_of_the_readme_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (whole,) = shown(README)
    check(Recipe(whole))
    assert set(Recipe(whole).arms) == {"general", "general_long", "domain", "task", "domain_task"}


def of_compare(document: dict[str, Any]) -> list[dict[str, Any]]:
    """params.yaml after each block: arms replace those before, in the last they are added."""
    *_, quick, more, fewer = shown(BASES_PAGE)
    first = merged(document, quick)
    second = first | more
    return [first, second, merged(second, fewer)]


@pytest.mark.parametrize("name", ["zh-public", "en-public"])
def test_compare_checkpoints_keeps_what_is_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    document = preset(name)
    document["bases"] = dict(zip(BASES, document["bases"].values(), strict=True))
    documents = of_compare(document)
    for each in documents:
        check(Recipe(each))
    quick, more, fewer = map(entries, documents)
    assert [entry for entry in quick if entry.startswith(TRAINING)] == [f"finetune@my_task-quick-{b}" for b in BASES]
    assert {entry: more[entry] for entry in quick} == quick
    assert {entry: more[entry] for entry in fewer} == fewer


def test_the_blocks_on_search_are_parts_of_a_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    _, *blocks = shown(OPTIONS)
    for block in blocks:
        document = preset("smoke")
        document["finetune"] |= {"micro_batch_size": 16} | block
        check(Recipe(document))
