"""dvc.yaml says what the code does: paths in a command are declared, names are one set."""

import importlib
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from adaptbert.config import load as params
from adaptbert.config import plan as planning
from adaptbert.config.plan import TRAINED
from adaptbert.stage import hints_of
from tests.support.imports import ROOT
from tests.support.project import clone

COMPARED = (*TRAINED, "compare")
"""Sections of params.yaml: all others are compared through plan.json."""
READ_BY_EACH = {"data/planned", "adaptbert", "stages", "params.yaml"}
"""What no command names."""
SIMPLE_COMMAND = re.compile(r"exec python -m stages\.(\w+)((?: --[a-z][a-z-]* [\w./-]+)*)")


@cache
def resolved() -> dict[str, Any]:
    """Every stage of dvc.yaml by its name, `${...}` filled in from both files; an added file is none."""
    from dvc.repo import Repo

    with Repo(str(ROOT)) as repo:
        return {stage.addressing: stage for stage in repo.index.stages if not stage.is_data_source}


@cache
def written() -> dict[str, Any]:
    """The stages as they stand in dvc.yaml: what is done, and for each of what."""
    stages = params.read(ROOT / "dvc.yaml")["stages"]
    return {name: stage.get("do", stage) | {"each": stage.get("foreach")} for name, stage in stages.items()}


def one_of(name: str) -> Any:
    """A DVC stage of this name: the items of a foreach differ in values only."""
    return next(stage for address, stage in resolved().items() if address.partition("@")[0] == name)


def related(path: str, others: set[str]) -> bool:
    """Whether `path` is one of `others`, or lies below or above one."""
    here = PurePosixPath(path)
    return any(
        here == PurePosixPath(other) or here in PurePosixPath(other).parents or PurePosixPath(other) in here.parents
        for other in others
    )


def paths(stage: Any) -> tuple[set[str], set[str]]:
    """Deps on data, and outs with metrics and plots."""
    from dvc.dependency import ParamsDependency

    deps = {dep.def_path for dep in stage.deps if not isinstance(dep, ParamsDependency)}
    return deps - READ_BY_EACH, {out.def_path for out in stage.outs}


def test_stages_and_files_have_the_same_names() -> None:
    assert set(written()) == {path.stem for path in (ROOT / "stages").glob("*.py")} - {"__init__"}
    assert next(iter(written())) == "plan"


@pytest.mark.parametrize("name", written())
def test_a_command_calls_the_function_of_its_name_with_paths_that_are_declared(name: str) -> None:
    """It is one simple command, so that DVC's child is the stage itself (`exec`), and a copy of the project runs its
    own code (`-m`). What an entry of the plan names are the user's paths, which the stage reads itself."""
    stage = one_of(name)
    _, _, key = stage.addressing.partition("@")
    match = SIMPLE_COMMAND.fullmatch(stage.cmd)
    assert match is not None, stage.cmd
    function = getattr(importlib.import_module(f"stages.{name}"), name)
    assert function.__name__ == match[1] == name
    words = shlex.split(match[2])
    pairs = zip(words[::2], words[1::2], strict=True)
    options = {word.removeprefix("--").replace("-", "_"): value for word, value in pairs}
    hints = hints_of(function)
    assert set(options) == {option for option, kind in hints.items() if kind in (Path, str)}

    in_command = {value for option, value in options.items() if hints[option] is Path}
    deps, outs = paths(stage)
    assert {path for path in in_command if not related(path, deps | outs)} == set(), "in the command, not declared"
    entry = dict(planning.read(ROOT / planning.PLAN)).get(name, {}).get(key, {})
    users = {str(value) for field, value in entry if field in ("path", "train", "dev", "test", "init", "dictionary")}
    assert {path for path in (deps | outs) - users if not related(path, in_command)} == set(), "declared, not used"


def test_only_checked_names_of_the_plan_stand_in_a_command() -> None:
    """A shell reads commands: DVC may fill in names, which `adaptbert plan` has checked, and no path of the user's."""
    filled = {each for stage in written().values() for each in re.findall(r"\$\{(.*?)\}", stage["cmd"])}
    names = ("base", "replicate", "corpus", "task", "arm", "from", "text", "beside")
    assert filled == {"key", *(f"item.{name}" for name in names)}
    assert all(stage["each"] in (None, f"${{plan.{name}}}") for name, stage in written().items())


def test_a_stage_compares_its_section_its_code_and_its_entry() -> None:
    from dvc.dependency import ParamsDependency

    for address in resolved().keys() - {"plan"}:
        name, _, key = address.partition("@")
        of_params = [dep for dep in resolved()[address].deps if isinstance(dep, ParamsDependency)]
        compared = {(dep.def_path, each) for dep in of_params for each in dep.params}
        expected = {("plan.json", f"plan.code.{name}")} | ({("params.yaml", name)} if name in COMPARED else set())
        if key or name == "validate":
            expected.add(("plan.json", f"plan.{name}.{key}".rstrip(".")))
        assert compared == expected, address


def test_a_source_that_is_missing_costs_no_output() -> None:
    """DVC removes the outputs of a stage before it looks for the inputs: all but those that persist. A recipe stops at
    the first stage that reads what no stage makes; without plan.json DVC does not even begin."""
    made = {path for stage in resolved().values() for path in paths(stage)[1]} | {
        (out if isinstance(out, str) else next(iter(out))).replace("${key}", "name")
        for stage in written().values()
        for out in stage["outs"]
    }
    read: set[str] = set()
    for address, stage in resolved().items():  # in the order of dvc.yaml, which is that of the graph
        outside = {path for path in paths(stage)[0] - {"plan.json"} if not related(path, made)}
        if not outside <= read or address == "compare":  # the last report stays until there is a new one
            assert [out.def_path for out in stage.outs if not out.persist] == [], address
        read |= outside
    assert {"models/init/README.md", "data/sources/words.txt", "data/demo/general.jsonl"} <= read


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
    for stage in written().values():
        for out in stage["outs"]:
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


def test_a_clone_has_the_bytes_of_the_commit(tmp_path: Path) -> None:
    """With settings that change them, or that leave dvc.lock out, in all projects of a user."""
    (tmp_path / "ignored").write_text("*.lock\n")
    (tmp_path / "config").write_text(f"[core]\n autocrlf = true\n excludesFile = {tmp_path}/ignored\n")
    project = clone(tmp_path / "project", tmp_path)
    env = project.env | {"GIT_CONFIG_GLOBAL": str(tmp_path / "config")}

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=tmp_path, env=env, capture_output=True, text=True).stdout

    git("clone", "-q", "project", "copy")
    for name in ("params.yaml", "plan.json", "dvc.lock", "adaptbert/report/page.css", "stages/plan.py"):
        assert (tmp_path / "copy" / name).read_bytes() == (ROOT / name).read_bytes(), name
    assert "w/crlf" not in git("-C", "copy", "ls-files", "--eol")
    assert git("-C", "copy", "check-ignore", "--no-index", "dvc.lock", "other.lock") == "other.lock\n"
