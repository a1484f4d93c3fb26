"""Every preset is a whole, valid, short params.yaml, and the demo is the one that is committed."""

from pathlib import Path

import pytest

from adaptbert.config import load, plan_file
from adaptbert.config.recipe import Recipe
from adaptbert.project import editing, own_data, rules
from tests.support.imports import ROOT

NAMES = sorted(path.stem for path in (ROOT / "presets").glob("*.yaml"))
MOST_LINES = {"params": 45, **dict.fromkeys(NAMES, 40)}
PARAMS = Path("params.yaml")


def recipe(name: str) -> Recipe:
    return Recipe(load.read(ROOT / f"presets/{name}.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_valid_and_its_files_are_those_of_the_user_or_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the user lie in data/own, which git ignores; a script makes those of the demonstration."""
    monkeypatch.chdir(ROOT)
    rules.check(recipe(name))
    lacking = [str(error) for _, error in own_data.check(recipe(name))]
    assert [line for line in lacking if "data/own/" not in line and "python -m examples.docstrings" not in line] == []


@pytest.mark.parametrize("name", MOST_LINES)
def test_a_person_writes_few_lines(name: str) -> None:
    path = ROOT / ("params.yaml" if name == "params" else f"presets/{name}.yaml")
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES[name]


def test_the_committed_files_are_those_of_the_demonstration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    plan_file.check(Recipe(load.read(PARAMS)), plan_file.stages())
    if (shown := editing.committed(PARAMS)) is None:
        pytest.skip("not a git repository")
    assert shown == Path(ROOT / "presets/demo.yaml").read_bytes(), (
        "cp params.yaml presets/demo.yaml (or the other way round)"
    )
