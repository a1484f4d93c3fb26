"""Tables of rungs and cells -> arms by what they are trained on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adaptbert.base.expansion import TASK_TRANSFER
from adaptbert.base.ladder import GENERAL, NONE, OWN, Climb
from adaptbert.codes import Code
from adaptbert.errors import BadParams
from adaptbert.project.migration.names import Names
from adaptbert.project.migration.older import OlderLadder


class Arms(NamedTuple):
    """The sections of the present ladder.

    Attributes:
        arms, tasks: as they stand in params.yaml.
        notes: what the tables said and these cannot.
    """

    arms: dict[str, Any]
    tasks: dict[str, Any]
    notes: list[str]


def of_tables(older: OlderLadder, tasks: Sequence[str], names: Names, file: Path) -> Arms:
    """The arms of all tasks.

    An arm is for all tasks that have cells; one that some of them lack names its tasks. Where tasks use one name for
    different climbs, the first keeps it.

    Args:
        tasks: all labelled sets, by their older names.

    Raises:
        BadParams: a cell starts from a rung that is not there.
    """
    climbs: dict[str, dict[Climb, list[str]]] = {}
    for key, cell in older.finetune.items():
        climb = older.climb(cell.start)
        if climb is None:
            problem = f"starts from '{cell.start}', which is not in the ladder"
            known = ", ".join(["scratch", "pretrain", *older.rungs()])
            raise BadParams(Code.UNKNOWN_KEY, f"{file}: ladder.finetune.{key}.from", problem, f"known: {known}")
        climbs.setdefault(cell.arm, {}).setdefault(climb, []).append(cell.task)
    with_cells = [task for task in tasks if any(cell.task == task for cell in older.finetune.values())]
    arms: dict[str, Any] = {}
    notes: list[str] = []
    for arm, variants in climbs.items():
        for number, (climb, of_tasks) in enumerate(variants.items()):
            name = names.arms[arm] if number == 0 else _free(f"{names.arms[arm]}_{names.tasks[of_tasks[0]]}", arms)
            if number:
                notes.append(
                    f"arm {arm} of {', '.join(of_tasks)} is now called {name}: it is trained on something else"
                )
            arms[name] = _written(climb, names)
            if set(of_tasks) != set(with_cells):
                arms[name]["tasks"] = [names.tasks[task] for task in of_tasks]
    without: dict[str, Any] = {names.tasks[task]: {"arms": []} for task in tasks if task not in with_cells}
    return Arms(arms, without, [*notes, *_not_needed(older)])


def _written(climb: Climb, names: Names) -> dict[str, Any]:
    written: dict[str, Any] = {"pretrain": NONE} if climb.is_random else {}
    if climb.corpora:
        (corpus,) = climb.corpora
        written["domain_transfer"] = names.corpora[corpus] if corpus != GENERAL else GENERAL
    return {**written, "task_transfer": OWN} if climb.with_task_text else written


def _not_needed(older: OlderLadder) -> list[str]:
    """Rungs that no cell starts from were trained; now an arm says what is trained."""
    needed: set[str] = set()
    for cell in older.finetune.values():
        needed.add(cell.start)
        rung = older.task_transfer.get(cell.start.removeprefix(f"{TASK_TRANSFER}/"))
        needed |= {rung.start} if rung is not None else set()
    return [
        f"{rung} is trained no longer: no arm starts from it, and only arms say what is trained"
        for rung in older.rungs()
        if rung not in needed
    ]


def _free(name: str, taken: Mapping[str, Any]) -> str:
    cut = name[:40]
    return cut if cut not in taken else f"{cut[:38]}_2"
