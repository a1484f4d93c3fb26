"""dvc.yaml says what the code does: paths in a command are declared, names are one set."""

import importlib
import re
import shlex
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from dvc.repo import Repo

from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params import placeholders
from adaptbert.runtime.stage import Stage
from tests.support.imports import ROOT, is_code

SHARED_SECTIONS = {"seed", "measure"}

# Read by the stage through the installed packages; made so that stages with a name come after it.
NOT_ARGUMENTS = {"constraints.txt", "data/ladder"}

SIMPLE_COMMAND = re.compile(r"exec python -m stages\.(\w+)((?: --[a-z][a-z-]* (?:[\w./-]+|'[\w./{}-]+'))*)")


@cache
def resolved() -> dict[str, Any]:
    """Every stage of dvc.yaml by its name, `${...}` filled in from params.yaml; an added file is none."""
    with Repo(str(ROOT)) as repo:
        return {stage.addressing: stage for stage in repo.index.stages if not stage.is_data_source}


def names() -> list[str]:
    """Stage names as they stand in dvc.yaml, in its order."""
    return list(dict.fromkeys(address.partition("@")[0] for address in resolved()))


def one_of_each() -> list[Any]:
    """One DVC stage of every name: the items of a foreach differ in values only."""
    first = {address.partition("@")[0]: stage for address, stage in reversed(resolved().items())}
    return [pytest.param(first[name], id=name) for name in names()]


def stage_object(name: str) -> Stage:
    stage = importlib.import_module(f"stages.{name}").STAGE
    assert isinstance(stage, Stage)
    return stage


def files_in_stages() -> set[str]:
    return {path.stem for path in (ROOT / "stages").glob("*.py") if path.stem != "__init__"}


def arguments(stage: Any) -> dict[str, str]:
    """Options of the command: `--out models/pretrain` as {"out": "models/pretrain"}, placeholders filled in."""
    words = shlex.split(stage.cmd)[4:]
    pairs = zip(words[::2], words[1::2], strict=True)
    templates = {option.removeprefix("--").replace("-", "_"): value for option, value in pairs}
    declared = stage_object(stage.addressing.partition("@")[0])
    document = params.read(ROOT / "params.yaml")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(placeholders.STAGE, stage.addressing)
        return placeholders.fill(templates, document, declared.name, declared.foreach, ROOT / "params.yaml")


def related(path: str, others: set[str]) -> bool:
    """Whether `path` is one of `others`, or lies below or above one."""
    here = PurePosixPath(path)
    return any(
        here == PurePosixPath(other) or here in PurePosixPath(other).parents or PurePosixPath(other) in here.parents
        for other in others
    )


def paths(stage: Any) -> tuple[set[str], set[str], set[str]]:
    """Code deps, data deps, and outs with metrics and plots."""
    deps = {dep.def_path for dep in stage.deps if type(dep).__name__ == "Dependency"}
    code = {path for path in deps if is_code(path)}
    return code, deps - code, {out.def_path for out in stage.outs}


def test_stages_files_sections_and_functions_have_the_same_names() -> None:
    assert set(names()) == files_in_stages()
    assert set(names()) == set(params.read(ROOT / "params.yaml")) - SHARED_SECTIONS
    assert {name: stage_object(name).name for name in names()} == {name: name for name in names()}


@pytest.mark.parametrize("stage", one_of_each())
def test_command_is_one_simple_command(stage: Any) -> None:
    """So that DVC's child is the stage itself (`exec`), and a copy of the project runs its own code (`-m`)."""
    match = SIMPLE_COMMAND.fullmatch(stage.cmd)
    assert match is not None, stage.cmd
    assert match[1] == stage.addressing.partition("@")[0]


@pytest.mark.parametrize("stage", one_of_each())
def test_options_are_the_arguments_of_the_function(stage: Any) -> None:
    hints = stage_object(stage.addressing.partition("@")[0]).hints()
    assert set(arguments(stage)) == {name for name, kind in hints.items() if kind in (Path, str)}


@pytest.mark.parametrize("stage", one_of_each())
def test_paths_in_the_command_are_declared_and_used(stage: Any) -> None:
    hints = stage_object(stage.addressing.partition("@")[0]).hints()
    in_command = {value for name, value in arguments(stage).items() if hints[name] is Path}
    _, data, outs = paths(stage)
    assert {path for path in in_command if not related(path, data | outs)} == set(), "in the command, not declared"
    assert {path for path in (data | outs) - NOT_ARGUMENTS if not related(path, in_command)} == set(), (
        "declared, not used"
    )


@pytest.mark.parametrize("stage", one_of_each())
def test_params_are_the_sections_that_are_read(stage: Any) -> None:
    name, _, _ = stage.addressing.partition("@")
    code = stage_object(name)
    own = name if code.keyed_by is None else f"{name}.{arguments(stage)[code.keyed_by]}"
    declared = {key for dep in stage.deps for key in (getattr(dep, "params", None) or ())}
    rung = {f"{code.foreach}.{stage.addressing.partition('@')[2]}"} if _has_entries(code) else set()
    assert declared == {own, *rung, *code.sections()}


def _has_entries(stage: Stage) -> bool:
    """Whether placeholders may name values: ladder.domain_transfer is a list of names."""
    document = params.read(ROOT / "params.yaml")
    return stage.foreach is not None and isinstance(params.section(document, stage.foreach, Path("params.yaml")), dict)


def test_nothing_of_params_stands_in_a_command() -> None:
    """A shell reads commands: DVC must fill in nothing, neither a value nor a key."""
    written = params.read(ROOT / "dvc.yaml")["stages"]
    commands = [values.get("do", values)["cmd"] for values in written.values()]
    assert [command for command in commands if "$" in command] == []


def test_each_stage_knows_of_what_it_is_made() -> None:
    """Its placeholders are values of the part of params.yaml that DVC iterates over."""
    for name, values in params.read(ROOT / "dvc.yaml")["stages"].items():
        foreach = stage_object(name).foreach
        assert values.get("foreach") == (f"${{{foreach}}}" if foreach else None)
        assert "matrix" not in values


def test_stages_with_a_name_in_their_paths_come_after_the_first() -> None:
    """DVC removes outputs before it runs a stage; `ladder` refuses names that lead elsewhere."""
    written = params.read(ROOT / "dvc.yaml")["stages"]
    assert next(iter(written)) == "ladder"
    named = [name for name, values in written.items() if "foreach" in values]
    assert [name for name in named if "data/ladder" not in written[name]["do"]["deps"]] == []


def test_a_source_that_is_missing_costs_no_output() -> None:
    """DVC removes the outputs of a stage before it looks for the inputs: all but those that persist. A recipe stops at
    the first stage that reads what no stage makes."""
    made = {path for stage in resolved().values() for path in paths(stage)[2]}
    read: set[str] = set()
    for address, stage in resolved().items():  # in the order of dvc.yaml, which is that of the graph
        outside = {path for path in paths(stage)[1] - NOT_ARGUMENTS if not related(path, made)}
        if not outside <= read:
            assert [out.def_path for out in stage.outs if not out.persist] == [], address
        read |= outside
    assert {"models/init", "data/sources/words.txt", "data/sources/general.txt"} <= read


def test_the_run_cache_knows_what_trains() -> None:
    """DVC (3.67, Stage.run) keeps no run of a stage with an output that is neither cached nor a metric nor a plot: such
    a stage trains again when dvc.lock is lost or older params come back."""
    for address, stage in resolved().items():
        if any(out.persist for out in stage.outs) or address == "compare":
            continue
        uncached = [out.def_path for out in stage.outs if not (out.use_cache or out.is_metric or out.is_plot)]
        assert uncached == [], address
