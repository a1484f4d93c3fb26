"""Which stages an edit of the names in params.yaml makes run, by a real DVC: those of the new name, and no others."""

import shutil
from collections.abc import Callable
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from tests.support.ladder_graph import LadderGraph, ladder_graph, small

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


Edit = Callable[[Any], None]


def put(*keys: str, value: Any) -> Edit:
    """A value at a place of params.yaml."""

    def edit(document: Any) -> None:
        *above, last = keys
        reduce(getitem, above, document)[last] = value

    return edit


def drop(*keys: str) -> Edit:
    return lambda document: reduce(getitem, keys[:-1], document).pop(keys[-1])


def rename_an_arm(document: Any) -> None:
    """In its place, since the order of the file is that of the ladder."""
    arms = document["ladder"]["arms"]
    document["ladder"]["arms"] = {{"domain": "adapted"}.get(name, name): climb for name, climb in arms.items()}


def turn_the_arms_round(document: Any) -> None:
    """Their order is that of the report."""
    document["ladder"]["arms"] = dict(reversed(document["ladder"]["arms"].items()))


RUNGS = {*domain(), *task(), *cells(arms=("domain", "domain_task"))}
"""All that stands on domain transfer."""


def measured_on(tasks: tuple[str, ...]) -> set[str]:
    """Each rung is measured on the held-out text of every task; no rung of another task is trained again."""
    return {"validate", "tokenize@small", *measures(start(), domain(), task(tasks))}


EDITS: dict[str, tuple[Edit, set[str]]] = {
    "a third draw": (
        put("ladder", "draws", value=3),
        {*domain(draws=(3,)), *task(draws=(3,)), *(cells(draws=(3,)) - cells(draws=()))},
    ),
    "a draw less": (put("ladder", "draws", value=1), set()),
    "an arm of new rungs": (
        put("ladder", "arms", "task", value={"task_transfer": "own"}),
        {*task(path=""), *cells(arms=("task",))},
    ),
    "an arm of a rung that is there": (put("ladder", "arms", "general", value={}), cells(arms=("general",))),
    "an arm renamed": (rename_an_arm, cells(arms=("adapted",))),
    "arms in another order": (turn_the_arms_round, set()),
    "an arm removed": (drop("ladder", "arms", "domain_task"), set()),
    "an arm for fewer tasks": (put("ladder", "arms", "domain_task", "tasks", value=["section"]), set()),
    "an arm of another climb": (
        put("ladder", "arms", "domain", "domain_transfer", value=["general", "domain"]),
        {*domain("general"), *domain("general-domain"), *cells(arms=("domain",))},
    ),
    "a start added": (
        put("ladder", "starts", "other", value={"init": "scratch", "encoder": {"layers": 3}}),
        {"tokenizer@other", "tokenize@other", *start("other")}
        | {*domain(start="other"), *task(start="other"), *cells(start="other")},
    ),
    "a start of other values": (
        put("ladder", "starts", "small", "encoder", value={"layers": 3}),
        {"tokenizer@small", "tokenize@small", *start(), *RUNGS, *cells(arms=("scratch",))},
    ),
    "a task added": (
        put("collect_task", "intent", value={split: f"intent.{split}.csv" for split in ("train", "dev", "test")}),
        {"collect_task@intent", *task(("intent",)), *cells(("intent",)), *measured_on((*TASKS, "intent"))},
    ),
    "a task removed": (drop("collect_task", "mention"), measured_on(("section",))),
    "a value of a block": (put("finetune", "section", value={"labels": 300}), cells(("section",))),
    "a new block of an arm": (put("finetune", "domain", value={"epochs": 2}), cells(arms=("domain",))),
    "a new block of a start": (
        put("task_transfer", "small", value={"dropout": 0.5}),
        {*task(), *cells(arms=("domain_task",))},
    ),
    "a new block of a corpus": (put("domain_transfer", "domain", value={"budget": {"passes": 2}}), RUNGS),
    "a new block of a task": (
        put("task_transfer", "mention", value={"dropout": 0.5}),
        {*task(("mention",)), *cells(("mention",), ("domain_task",))},
    ),
    "a block that is gone": (drop("finetune", "section"), cells(("section",))),
    "a default of the cells": (put("finetune", "all", "epochs", value=9), cells()),
    "a default of the rungs": (put("domain_transfer", "all", value={"budget": {"tokens": 9}}), RUNGS),
}


QUICK = ("a third draw", "a draw less", "an arm renamed", "arms in another order", "a block that is gone")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in EDITS]
)
def test_an_edit_runs_what_it_names(project: LadderGraph, name: str) -> None:
    edit, expected = EDITS[name]
    document = small()
    edit(document)
    project.write(document)
    assert project.repro() == expected | AFTER


@pytest.mark.slow
def test_a_default_that_is_overridden_runs_cells_whose_equal_results_end_it(project: LadderGraph) -> None:
    """DVC compares blocks, not the values in force."""
    document = small()
    for name in TASKS:
        document["finetune"].setdefault(name, {})["epochs"] = 2
    project.write(document)
    project.repro()
    document["finetune"]["all"]["epochs"] = 9
    project.write(document)
    assert project.repro() == {"ladder", *cells()}


@pytest.mark.slow
def test_what_was_removed_comes_back_without_training(project: LadderGraph) -> None:
    """From DVC's run cache, also where its files are gone."""
    for draws in (1, 2):
        document = small()
        document["ladder"]["draws"] = draws
        project.write(document)
        assert project.repro() == AFTER
        for path in (project.root / "models/finetune").glob("*-2") if draws == 1 else ():
            shutil.rmtree(path)
    assert len(list((project.root / "models/finetune").glob("*-2"))) == 4
