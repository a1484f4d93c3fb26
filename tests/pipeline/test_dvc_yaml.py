"""dvc.yaml says what the code does: paths in a command are declared, names are one set."""

import importlib
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from dvc.repo import Repo

from adaptbert.runtime.params import expanded_ladder, placeholders
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.stage import PARAMS, Stage
from tests.support.imports import ROOT, is_code

SHARED_SECTIONS = {"seed"}

# In which `ladder` looks for names, without their values.
MORE_SECTIONS = set(expanded_ladder.SECTIONS)

# Read by the stage through the installed packages.
NOT_ARGUMENTS = {"constraints.txt"}

# Made by `ladder`: `checked`, after which stages with a name come, and a file for each entry of ladder.yaml.
NAMES = "data/names/"

SIMPLE_COMMAND = re.compile(r"exec python -m stages\.(\w+)((?: --[a-z][a-z-]* (?:[\w./-]+|'[\w./{}-]+'))*)")


@cache
def resolved() -> dict[str, Any]:
    """Every stage of dvc.yaml by its name, `${...}` filled in from both files; an added file is none."""
    with Repo(str(ROOT)) as repo:
        return {stage.addressing: stage for stage in repo.index.stages if not stage.is_data_source}


def names() -> list[str]:
    """Stage names as they stand in dvc.yaml, in its order."""
    return list(dict.fromkeys(address.partition("@")[0] for address in resolved()))


def every() -> list[Any]:
    """All DVC stages."""
    return [pytest.param(stage, id=address) for address, stage in resolved().items()]


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
    if not placeholders.present(templates):
        return templates
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(ROOT)
        patched.setenv(placeholders.STAGE, stage.addressing)
        return placeholders.fill(templates, declared.entry(params.read(PARAMS)), PARAMS)


def related(path: str, others: set[str]) -> bool:
    """Whether `path` is one of `others`, or lies below or above one."""
    here = PurePosixPath(path)
    return any(
        here == PurePosixPath(other) or here in PurePosixPath(other).parents or PurePosixPath(other) in here.parents
        for other in others
    )


def all_deps(stage: Any) -> set[str]:
    return {dep.def_path for dep in stage.deps if type(dep).__name__ == "Dependency"}


def paths(stage: Any) -> tuple[set[str], set[str], set[str]]:
    """Code deps, data deps, and outs with metrics and plots."""
    deps = {path for path in all_deps(stage) if not path.startswith(NAMES)}
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


@pytest.mark.parametrize("stage", every())
def test_params_are_the_values_that_are_read(stage: Any) -> None:
    """Of the sections with blocks those that are there."""
    name, _, key = stage.addressing.partition("@")
    code, names = stage_object(name), arguments(stage)
    declared = {key for dep in stage.deps for key in (getattr(dep, "params", None) or ())}
    others = {code.at.get(section, section).format(**names) for section in code.sections()}
    if code.blocks:
        blocks = {"all", *(names[block] for block in code.blocks)} & set(params.read(ROOT / "params.yaml")[name])
        own = {f"{name}.{block}" for block in blocks}
    else:
        own = {name if code.keyed_by is None else f"{name}.{key}"}
    assert declared - (MORE_SECTIONS if name == "ladder" else set()) == own | others


@pytest.mark.parametrize("stage", every())
def test_a_stage_comes_after_the_names_and_reads_its_entry(stage: Any) -> None:
    """DVC removes outputs before it runs a stage; `ladder` refuses names that lead elsewhere. And DVC does not notice
    that a block of params.yaml is gone, but that an entry of ladder.yaml is another."""
    name, _, key = stage.addressing.partition("@")
    is_entry = (stage_object(name).foreach or "").startswith(expanded_ladder.PREFIX)
    expected = {f"{NAMES}checked"} | ({f"{NAMES}{name}/{key}"} if is_entry else set()) if key else set()
    assert {path for path in all_deps(stage) if path.startswith(NAMES)} == expected


def test_nothing_of_params_stands_in_a_command() -> None:
    """A shell reads commands: DVC must fill in nothing, neither a value nor a key."""
    written = params.read(ROOT / "dvc.yaml")["stages"]
    commands = [values.get("do", values)["cmd"] for values in written.values()]
    assert [command for command in commands if "$" in command] == []


def test_each_stage_knows_of_what_it_is_made() -> None:
    """Its placeholders are values of the part of params.yaml or ladder.yaml that DVC iterates over."""
    for name, values in params.read(ROOT / "dvc.yaml")["stages"].items():
        foreach = stage_object(name).foreach
        assert values.get("foreach") == (f"${{{foreach}}}" if foreach else None)
        assert "matrix" not in values


def test_the_first_stage_is_the_first() -> None:
    assert next(iter(params.read(ROOT / "dvc.yaml")["stages"])) == "ladder"


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
    assert {"models/init/README.md", "data/sources/words.txt", "data/sources/general.txt"} <= read


def test_the_run_cache_knows_what_trains() -> None:
    """DVC (3.67, Stage.run) keeps no run of a stage with an output that is neither cached nor a metric nor a plot: such
    a stage trains again when dvc.lock is lost or older params come back."""
    for address, stage in resolved().items():
        if any(out.persist for out in stage.outs) or address == "compare":
            continue
        uncached = [out.def_path for out in stage.outs if not (out.use_cache or out.is_metric or out.is_plot)]
        assert uncached == [], address


def test_git_ignores_what_dvc_keeps_of_every_name() -> None:
    """Else DVC adds a line to a .gitignore for each rung and cell, and a run changes files that are committed."""
    outs: list[str] = []
    for values in params.read(ROOT / "dvc.yaml")["stages"].values():
        for out in values.get("do", values)["outs"]:
            path, options = (out, {}) if isinstance(out, str) else next(iter(out.items()))
            if options.get("cache", True):
                outs.append(path.replace("${key}", "another-name-3"))
    checked = subprocess.run(["git", "check-ignore", "--no-index", *outs], cwd=ROOT, capture_output=True, text=True)
    assert set(outs) - set(checked.stdout.splitlines()) == set()
    assert len(outs) > 15


def test_folders_that_are_read_as_a_whole_are_there_without_a_rung() -> None:
    """`compare` depends on them, also where the ladder has no arm of that kind."""
    committed = subprocess.run(["git", "ls-files", "metrics"], cwd=ROOT, capture_output=True, text=True).stdout
    folders = {str(Path(name).parent) for name in committed.splitlines()}
    deps = params.read(ROOT / "dvc.yaml")["stages"]["compare"]["deps"]
    assert {dep for dep in deps if dep.startswith("metrics/") and not dep.endswith(".json")} <= folders
