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

from adaptbert.config import load as params
from adaptbert.config import plan as planning
from adaptbert.config.plan import TRAINED
from adaptbert.runtime.stage import Stage
from tests.support.imports import ROOT

# Of params.yaml: all others are compared through plan.json.
COMPARED = (*TRAINED, "compare")

# Read by each stage itself.
NOT_ARGUMENTS = {"params.yaml"}

PLANNED = "data/planned"

SIMPLE_COMMAND = re.compile(r"exec python -m stages\.(\w+)((?: --[a-z][a-z-]* [\w./-]+)*)")


@cache
def resolved() -> dict[str, Any]:
    """Every stage of dvc.yaml by its name, `${...}` filled in from both files; an added file is none."""
    with Repo(str(ROOT)) as repo:
        return {stage.addressing: stage for stage in repo.index.stages if not stage.is_data_source}


def written() -> dict[str, Any]:
    """The stages as they stand in dvc.yaml."""
    stages: dict[str, Any] = params.read(ROOT / "dvc.yaml")["stages"]
    return stages


def names() -> list[str]:
    """Of the stages that params.yaml stands for, in the order of dvc.yaml."""
    return list(dict.fromkeys(address.partition("@")[0] for address in resolved()))


def every() -> list[Any]:
    """All DVC stages."""
    return [pytest.param(stage, id=address) for address, stage in resolved().items()]


def one_of_each() -> list[Any]:
    """One DVC stage of every name: the items of a foreach differ in values only."""
    first = {address.partition("@")[0]: stage for address, stage in reversed(resolved().items())}
    return [pytest.param(first[name], id=name) for name in names()]


def stage_object(name: str) -> Stage:
    stage = getattr(importlib.import_module(f"stages.{name}"), name)
    assert isinstance(stage, Stage)
    return stage


def files_in_stages() -> set[str]:
    return {path.stem for path in (ROOT / "stages").glob("*.py") if path.stem != "__init__"}


def arguments(stage: Any) -> dict[str, str]:
    """Options of the command: `--out models/pretrain` as {"out": "models/pretrain"}."""
    words = shlex.split(stage.cmd)[4:]
    pairs = zip(words[::2], words[1::2], strict=True)
    return {option.removeprefix("--").replace("-", "_"): value for option, value in pairs}


def of_the_user(stage: Any) -> set[str]:
    """What an entry of the plan names: paths of params.yaml, which the stage reads itself."""
    name, _, key = stage.addressing.partition("@")
    entry = dict(planning.read(ROOT / planning.PLAN)).get(name, {}).get(key, {})
    return {str(value) for field, value in entry if field in ("path", "train", "dev", "test", "init", "dictionary")}


def related(path: str, others: set[str]) -> bool:
    """Whether `path` is one of `others`, or lies below or above one."""
    here = PurePosixPath(path)
    return any(
        here == PurePosixPath(other) or here in PurePosixPath(other).parents or PurePosixPath(other) in here.parents
        for other in others
    )


def paths(stage: Any) -> tuple[set[str], set[str]]:
    """Deps on data, and outs with metrics and plots."""
    deps = {dep.def_path for dep in stage.deps if type(dep).__name__ == "Dependency"}
    return deps - {PLANNED, "adaptbert", "stages"}, {out.def_path for out in stage.outs}


def test_stages_files_and_functions_have_the_same_names() -> None:
    assert set(written()) == files_in_stages()
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
    data, outs = paths(stage)
    assert {path for path in in_command if not related(path, data | outs)} == set(), "in the command, not declared"
    needed = (data | outs) - NOT_ARGUMENTS - of_the_user(stage)
    assert {path for path in needed if not related(path, in_command)} == set(), "declared, not used"


def test_only_checked_names_of_the_plan_stand_in_a_command() -> None:
    """A shell reads commands: DVC may fill in names, which `adaptbert plan` has checked, and no path of the user's."""
    commands = [values.get("do", values)["cmd"] for values in written().values()]
    filled = {each for command in commands for each in re.findall(r"\$\{(.*?)\}", command)}
    names = ("base", "replicate", "corpus", "task", "arm", "from", "text", "beside")
    assert filled == {"key", *(f"item.{name}" for name in names)}
    assert [values["foreach"] for values in written().values() if "foreach" in values] == [
        f"${{plan.{name}}}" for name, values in written().items() if "foreach" in values
    ]


@pytest.mark.parametrize("stage", every())
def test_a_stage_compares_its_section_its_code_and_its_entry(stage: Any) -> None:
    name, _, key = stage.addressing.partition("@")
    if name == "plan":
        return
    of_params = [dep for dep in stage.deps if type(dep).__name__ == "ParamsDependency"]
    compared = {(dep.def_path, each) for dep in of_params for each in dep.params}
    entry = f"plan.{name}.{key}" if key else f"plan.{name}"
    expected = {("plan.json", f"plan.code.{name}")} | ({("params.yaml", name)} if name in COMPARED else set())
    assert expected <= compared
    assert compared - expected <= {("plan.json", entry)}
    assert (("plan.json", entry) in compared) == bool(key or name == "validate")


def test_the_first_stage_is_the_first() -> None:
    assert next(iter(written())) == "plan"


def test_a_source_that_is_missing_costs_no_output() -> None:
    """DVC removes the outputs of a stage before it looks for the inputs: all but those that persist. A recipe stops at
    the first stage that reads what no stage makes; without plan.json DVC does not even begin."""
    outs = [out for values in written().values() for out in values.get("do", values)["outs"]]
    made = {(out if isinstance(out, str) else next(iter(out))).replace("${key}", "name") for out in outs}
    made |= {path for stage in resolved().values() for path in paths(stage)[1]}
    read: set[str] = set()
    for address, stage in resolved().items():  # in the order of dvc.yaml, which is that of the graph
        outside = {path for path in paths(stage)[0] - NOT_ARGUMENTS - {"plan.json"} if not related(path, made)}
        if not outside <= read:
            assert [out.def_path for out in stage.outs if not out.persist] == [], address
        read |= outside
    assert {"models/init/README.md", "data/sources/words.txt", "data/demo/general.jsonl"} <= read


def test_the_last_report_stays_until_there_is_a_new_one() -> None:
    assert [out.def_path for out in resolved()["compare"].outs if not out.persist] == []


def test_the_run_cache_knows_what_trains() -> None:
    """DVC (3.67, Stage.run) keeps no run of a stage with an output that is neither cached nor a metric nor a plot: such
    a stage trains again when dvc.lock is lost or older params come back."""
    for address, stage in resolved().items():
        if any(out.persist for out in stage.outs) or address == "compare":
            continue
        uncached = [out.def_path for out in stage.outs if not (out.use_cache or out.is_metric or out.is_plot)]
        assert uncached == [], address


def test_git_ignores_what_dvc_keeps_of_every_name() -> None:
    """Else DVC adds a line to a .gitignore for each checkpoint and cell, and a run changes files that are committed."""
    outs: list[str] = []
    for values in written().values():
        for out in values.get("do", values)["outs"]:
            path, options = (out, {}) if isinstance(out, str) else next(iter(out.items()))
            if options.get("cache", True):
                outs.append(path.replace("${key}", "another-name-3"))
    checked = subprocess.run(["git", "check-ignore", "--no-index", *outs], cwd=ROOT, capture_output=True, text=True)
    assert set(outs) - set(checked.stdout.splitlines()) == set()
    assert len(outs) > 15


def test_folders_that_are_read_as_a_whole_are_there_without_a_step() -> None:
    """`compare` depends on them, also where there is no arm of that kind."""
    committed = subprocess.run(["git", "ls-files", "metrics"], cwd=ROOT, capture_output=True, text=True).stdout
    folders = {str(Path(name).parent) for name in committed.splitlines()}
    deps = written()["compare"]["deps"]
    assert {dep for dep in deps if dep.startswith("metrics/") and not dep.endswith(".json")} <= folders
