"""Every preset is a whole, valid, short params.yaml, and the demo is the one that is committed."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import load, plan_file
from adaptbert.config.recipe import SECTIONS, Recipe
from adaptbert.errors import UserError
from adaptbert.project import named_files, presets, rules
from tests.support.commands import run
from tests.support.imports import ROOT

NAMES = sorted(path.stem for path in (ROOT / "presets").glob("*.yaml"))
MOST_LINES = {"params": 45, **dict.fromkeys(NAMES, 40)}


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def preset(name: str) -> Path:
    return ROOT / ("params.yaml" if name == "params" else f"presets/{name}.yaml")


def recipe(name: str) -> Recipe:
    return Recipe(load.read(preset(name)))


def test_the_help_names_all() -> None:
    assert presets.names() == NAMES
    assert {name for name in NAMES if name not in " ".join(run("use", "--help").output.split())} == set()


@pytest.mark.parametrize("name", NAMES)
def test_valid(name: str) -> None:
    rules.check(recipe(name))


@pytest.mark.parametrize("name", MOST_LINES)
def test_a_person_writes_few_lines(name: str) -> None:
    assert len(preset(name).read_text(encoding="utf-8").splitlines()) <= MOST_LINES[name]


def test_the_committed_plan_is_that_of_the_committed_params() -> None:
    plan_file.check(recipe("params"), plan_file.stages())


@pytest.mark.parametrize("name", NAMES)
def test_files_of_the_project_exist(name: str) -> None:
    """Those of the user lie in data/own, which git ignores; a script makes those of the demonstration."""
    lacking = [str(error) for _, error in named_files.check(recipe(name))]
    assert [line for line in lacking if "data/own/" not in line and "python -m examples.docstrings" not in line] == []


def test_demo_is_the_committed_params_file() -> None:
    shown = subprocess.run(["git", "show", "HEAD:./params.yaml"], cwd=ROOT, capture_output=True)
    if shown.returncode:
        pytest.skip("not a git repository")
    demo = (ROOT / "presets/demo.yaml").read_bytes()
    assert shown.stdout == demo, "cp params.yaml presets/demo.yaml (or the other way round)"


def without(values: dict[str, Any], section: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each value of a section, and the document without it."""
    for key in values[section]:
        rest = {name: value for name, value in values[section].items() if name != key}
        yield key, {**values, section: rest}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "demo"])
def test_a_value_is_written_where_it_differs_from_the_default(name: str) -> None:
    """A file to begin with shows no more than has been decided; the demonstration shows what can be."""
    written = recipe(name).written
    for section in [section for section in SECTIONS if written.get(section)]:
        for key, rest in without(written, section):
            assert values_of(written, section) != values_of(rest, section), f"{section}.{key}"


def values_of(document: dict[str, Any], section: str) -> list[Any]:
    """In force, of each cell; or that there are none, because one is missing."""
    read = Recipe(document)
    names = [{**cell, "corpus": corpus} for cell in read.cells() for corpus in read.corpora]
    try:
        return [read.values(section, each) for each in names]
    except UserError:
        return []
