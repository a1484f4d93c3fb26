"""What a command says will run is what a real DVC runs, on the project's own graph."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adaptbert.base.expansion import Expansion
from adaptbert.project.editing.consequences import counted, will_run
from adaptbert.runtime.params import expanded_ladder
from tests.support.ladder_graph import ladder_graph, small, task_of_files


def add_a_task(document: dict[str, Any]) -> None:
    document["collect_task"]["intent"] = task_of_files("section")


def rename_a_task(document: dict[str, Any]) -> None:
    document["collect_task"]["names"] = document["collect_task"].pop("mention")


def remove_a_task(document: dict[str, Any]) -> None:
    del document["collect_task"]["mention"]


def add_a_start(document: dict[str, Any]) -> None:
    document["ladder"]["starts"]["public"] = {"init": "hfl/rbt3", "revision": "main"}
    document["pretrain"]["public"] = {"budget": {"tokens": 0}}


EDITS: list[tuple[Callable[[dict[str, Any]], None], int | None]] = [
    (add_a_task, 1),
    (rename_a_task, 1),
    (remove_a_task, 0),
    (add_a_start, None),
]


def expansion(document: dict[str, Any]) -> Expansion:
    return expanded_ladder.expanded(document, Path("params.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize(("edit", "reads"), EDITS)
def test_what_is_said_is_what_runs(edit: Callable[[dict[str, Any]], None], reads: int | None, tmp_path: Path) -> None:
    project = ladder_graph(tmp_path / "project", small(draws=1))
    project.repro()
    before, document = project.document(), project.document()
    edit(document)
    project.write(document)
    ran = Counter(stage.partition("@")[0] for stage in project.repro())
    said = will_run(expansion(before), expansion(document), reads=reads).removeprefix("dvc repro will run: ")
    parts = [re.fullmatch(r"(?:(\d+) x )?(\w+)", part) for part in said.split(", ")]
    assert {part[2]: int(part[1] or 1) for part in parts if part} == {
        name: count for name, count in ran.items() if name != "ladder"
    }


def test_counts() -> None:
    assert [counted(1, "rung"), counted(1200, "cell")] == ["1 rung", "1,200 cells"]
