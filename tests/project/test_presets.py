"""Every preset is a whole, valid params.yaml, and the demo is the one that is committed."""

import subprocess
from pathlib import Path

import pytest

from adaptbert.config import load as params
from adaptbert.config import plan_file
from adaptbert.project import named_files, presets
from adaptbert.tasks.shapes import SHAPES
from tests.support.commands import run
from tests.support.imports import ROOT

NAMES = sorted(path.stem for path in (ROOT / "presets").glob("*.yaml"))


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_the_help_names_all() -> None:
    assert presets.names() == NAMES
    assert {name for name in NAMES if name not in " ".join(run("use", "--help").output.split())} == set()


@pytest.mark.parametrize("name", NAMES)
def test_valid(name: str) -> None:
    path = ROOT / "presets" / f"{name}.yaml"
    check_all(params.read(path), path)


def test_the_committed_ladder_is_that_of_the_committed_params() -> None:
    plan_file.check(params.read(ROOT / "params.yaml"), ROOT / "params.yaml", plan_file.stages(), ROOT / "plan.json")


@pytest.mark.parametrize("name", NAMES)
def test_values_stand_in_a_block_only_where_they_differ(name: str) -> None:
    """And the options of a task type in that of its task, so that a task of another type can be added."""
    document = params.read(ROOT / "presets" / f"{name}.yaml")
    for section in plan_file.SECTIONS:
        values = params.flatten(document[section])
        every = {key.removeprefix("all."): value for key, value in values.items() if key.startswith("all.")}
        for key, value in values.items():
            block, _, inside = key.partition(".")
            assert block == "all" or every.get(inside, not value) != value, f"{section}.{key}"
    assert not document["finetune"]["all"].keys() & SHAPES.keys()


@pytest.mark.parametrize("name", NAMES)
def test_files_of_the_project_exist(name: str) -> None:
    """Those of the user lie in data/own, which git ignores."""
    missing = named_files.check(params.read(ROOT / "presets" / f"{name}.yaml"), ROOT / "params.yaml")
    assert [str(error) for error in missing if "data/own/" not in str(error)] == []


def test_demo_is_the_committed_params_file() -> None:
    shown = subprocess.run(["git", "show", "HEAD:./params.yaml"], cwd=ROOT, capture_output=True)
    if shown.returncode:
        pytest.skip("not a git repository")
    demo = (ROOT / "presets/demo.yaml").read_bytes()
    assert shown.stdout == demo, "cp params.yaml presets/demo.yaml (or the other way round)"


@pytest.mark.parametrize(
    "file",
    [*(ROOT / "presets").glob("*.yaml"), *(ROOT / "benchmarks/real_sets").glob("*.yaml")],
    ids=lambda path: path.stem,
)
def test_every_preset_leaves_the_precision_to_the_machine(file: Path) -> None:
    values = params.flatten(params.read(file))
    assert {value for key, value in values.items() if key.endswith("precision")} == {"auto"}
