"""Which stages an edit of the names in params.yaml makes run, by a real DVC: those of the new name, and no others."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.ladder_graph import LadderGraph, ladder_graph, small, task_of_files

TASKS = ("section", "mention")
DRAWS = (1, 2)
DATA = {"ladder", *(f"collect@{name}" for name in ("general", "domain")), *(f"collect_task@{task}" for task in TASKS)}
DATA |= {"validate", "tokenizer@small", "tokenize@small"}
AFTER = {"ladder", "compare"}
"""What runs after every edit: a name can stand in each section that the first stage has among its params."""


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> LadderGraph:
    project = ladder_graph(tmp_path_factory.mktemp("graph") / "pristine", small())
    everything = {*DATA, *start(), *domain(), *task(), *cells(), "compare"}
    assert project.repro() == everything
    assert project.repro() == set()
    return project


@pytest.fixture
def project(pristine: LadderGraph, tmp_path: Path) -> LadderGraph:
    """A copy in which every stage has run."""
    shutil.copytree(pristine.root, tmp_path / "project")
    return LadderGraph(tmp_path / "project", pristine.env)


def start(name: str = "small") -> set[str]:
    """General pre-training, and the measures of the weights before and after it."""
    return {f"pretrain@{name}", f"measure@none-{name}", f"measure@{name}"}


def rungs(stage: str, keys: list[str]) -> set[str]:
    """Their training, and the measures of each on all text."""
    return {f"{name}@{key}" for name in (stage, "measure") for key in keys}


def domain(corpus: str = "domain", start: str = "small", draws: tuple[int, ...] = DRAWS) -> set[str]:
    return rungs("domain_transfer", [f"{corpus}-{start}-{draw}" for draw in draws])


def task(
    tasks: tuple[str, ...] = TASKS, path: str = "domain-", start: str = "small", draws: tuple[int, ...] = DRAWS
) -> set[str]:
    return rungs("task_transfer", [f"{task}-{path}{start}-{draw}" for task in tasks for draw in draws])


def measures(*rungs: set[str]) -> set[str]:
    """Those of these rungs, without their training."""
    return {stage for each in rungs for stage in each if stage.startswith("measure@")}


def cells(
    tasks: tuple[str, ...] = TASKS,
    arms: tuple[str, ...] = ("scratch", "domain", "domain_task"),
    start: str = "small",
    draws: tuple[int, ...] = DRAWS,
) -> set[str]:
    """Those of `scratch` and `general` have no draw."""
    of_rungs = [arm for arm in arms if arm not in ("scratch", "general")]
    keys = {f"{task}-{arm}-{start}-{draw}" for task in tasks for arm in of_rungs for draw in draws}
    keys |= {f"{task}-{arm}-{start}" for task in tasks for arm in arms if arm not in of_rungs}
    return {f"finetune@{key}" for key in keys}


def set_draws(count: int) -> Callable[[Any], None]:
    return lambda document: document["ladder"].update(draws=count)


def arm(name: str, climb: dict[str, str]) -> Callable[[Any], None]:
    return lambda document: document["ladder"]["arms"].update({name: climb})


def block(section: str, name: str, values: dict[str, Any]) -> Callable[[Any], None]:
    return lambda document: document[section].update({name: values})


def renamed(names: dict[str, Any], old: str, new: str) -> None:
    """In its place, since the order of the file is that of the ladder."""
    there = list(names.items())
    names.clear()
    names.update({new if name == old else name: value for name, value in there})


def rename_an_arm(document: Any) -> None:
    renamed(document["ladder"]["arms"], "domain", "adapted")


def remove_an_arm(document: Any) -> None:
    del document["ladder"]["arms"]["domain_task"]


def turn_the_arms_round(document: Any) -> None:
    """Their order is that of the report."""
    arms = document["ladder"]["arms"]
    document["ladder"]["arms"] = dict(reversed(arms.items()))


def keep_an_arm_to_a_task(document: Any) -> None:
    document["ladder"]["arms"]["domain_task"]["tasks"] = ["section"]


def train_an_arm_on_more(document: Any) -> None:
    document["ladder"]["arms"]["domain"]["domain_transfer"] = ["general", "domain"]


def add_a_start(document: Any) -> None:
    document["ladder"]["starts"]["other"] = {"init": "scratch", "encoder": {"layers": 3}}


def change_a_start(document: Any) -> None:
    document["ladder"]["starts"]["small"]["encoder"] = {"layers": 3}


def remove_a_block(document: Any) -> None:
    del document["finetune"]["section"]


def a_default_that_every_task_overrides(document: Any) -> None:
    document["finetune"]["all"]["epochs"] = 9


RUNGS = {*domain(), *task(), *cells(arms=("domain", "domain_task"))}
"""All that stands on domain transfer."""

EDITS: dict[str, tuple[Callable[[Any], None], set[str]]] = {
    "a third draw": (set_draws(3), {*domain(draws=(3,)), *task(draws=(3,)), *(cells(draws=(3,)) - cells(draws=()))}),
    "a draw less": (set_draws(1), set()),
    "an arm of new rungs": (arm("task", {"task_transfer": "own"}), {*task(path=""), *cells(arms=("task",))}),
    "an arm of a rung that is there": (arm("general", {}), cells(arms=("general",))),
    "an arm renamed": (rename_an_arm, cells(arms=("adapted",))),
    "arms in another order": (turn_the_arms_round, set()),
    "an arm removed": (remove_an_arm, set()),
    "an arm for fewer tasks": (keep_an_arm_to_a_task, set()),
    "an arm of another climb": (
        train_an_arm_on_more,
        {*domain("general"), *domain("general-domain"), *cells(arms=("domain",))},
    ),
    "a start added": (
        add_a_start,
        {"tokenizer@other", "tokenize@other", *start("other")}
        | {*domain(start="other"), *task(start="other"), *cells(start="other")},
    ),
    "a value of a block": (block("finetune", "section", {"labels": 300}), cells(("section",))),
    "a new block of an arm": (block("finetune", "domain", {"epochs": 2}), cells(arms=("domain",))),
    "a new block of a start": (
        block("task_transfer", "small", {"dropout": 0.5}),
        {*task(), *cells(arms=("domain_task",))},
    ),
    "a new block of a corpus": (block("domain_transfer", "domain", {"budget": {"passes": 2}}), RUNGS),
    "a new block of a task": (
        block("task_transfer", "mention", {"dropout": 0.5}),
        {*task(("mention",)), *cells(("mention",), ("domain_task",))},
    ),
    "a block that is gone": (remove_a_block, cells(("section",))),
    "a default of the cells": (a_default_that_every_task_overrides, cells()),
    "a default of the rungs": (block("domain_transfer", "all", {"budget": {"tokens": 9}}), RUNGS),
}  # fmt: skip


QUICK = ("a third draw", "a draw less", "an arm renamed", "arms in another order", "a block that is gone")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in EDITS]
)
def test_an_edit_runs_what_it_names(project: LadderGraph, name: str) -> None:
    edit, expected = EDITS[name]
    document = project.document()
    edit(document)
    project.write(document)
    assert project.repro() == expected | AFTER


@pytest.mark.slow
def test_a_default_that_is_overridden_runs_cells_whose_equal_results_end_it(project: LadderGraph) -> None:
    """DVC compares blocks, not the values in force."""
    document = project.document()
    for name in TASKS:
        document["finetune"].setdefault(name, {})["epochs"] = 2
    project.write(document)
    project.repro()
    document["finetune"]["all"]["epochs"] = 9
    project.write(document)
    assert project.repro() == {"ladder", *cells()}


def measured_on(tasks: tuple[str, ...]) -> set[str]:
    """Each rung is measured on the held-out text of every task; no rung of another task is trained again."""
    return {"validate", "tokenize@small", *measures(start(), domain(), task(tasks)), *AFTER}


@pytest.mark.slow
def test_a_task_added(project: LadderGraph) -> None:
    document = project.document()
    document["collect_task"]["intent"] = task_of_files("intent")
    for name in document["collect_task"]["intent"].values():
        (project.root / name).write_text("text")
    project.write(document)
    own = {"collect_task@intent", *task(("intent",)), *cells(("intent",))}
    assert project.repro() == {*own, *measured_on((*TASKS, "intent"))}


@pytest.mark.slow
def test_a_task_removed(project: LadderGraph) -> None:
    document = project.document()
    del document["collect_task"]["mention"]
    project.write(document)
    assert project.repro() == measured_on(("section",))


@pytest.mark.slow
def test_a_start_of_other_values(project: LadderGraph) -> None:
    document = project.document()
    change_a_start(document)
    project.write(document)
    everything = {"tokenizer@small", "tokenize@small", *start(), *RUNGS, *cells(arms=("scratch",))}
    assert project.repro() == {*everything, *AFTER}


@pytest.mark.slow
def test_what_was_removed_comes_back_without_training(project: LadderGraph) -> None:
    """From DVC's run cache, also where its files are gone."""
    for draws in (1, 2):
        document = project.document()
        document["ladder"]["draws"] = draws
        project.write(document)
        assert project.repro() == AFTER
        for path in (project.root / "models/finetune").glob("*-2") if draws == 1 else ():
            shutil.rmtree(path)
    assert len(list((project.root / "models/finetune").glob("*-2"))) == 4
