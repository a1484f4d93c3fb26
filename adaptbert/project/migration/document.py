"""The values of an older params.yaml, as the present schema has them. Pure: mappings in, mappings out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adaptbert.base.ladder import ALL
from adaptbert.codes import Code
from adaptbert.errors import BadParams, raise_all
from adaptbert.finetuning.tasks.shapes import SHAPES
from adaptbert.project.migration import arms, names, starts
from adaptbert.project.migration.names import Names
from adaptbert.project.migration.older import OlderLadder
from adaptbert.project.migration.starts import OF_START, Start
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.blocks import WHOLE

BELOW_ALL = ("tokenizer", "tokenize", "pretrain", "domain_transfer", "task_transfer")
"""Sections whose values move below `all`."""
RUNGS_ABOVE = ("domain_transfer", "task_transfer")
"""Sections that were needed only where there were such rungs; now DVC watches them always."""
OF_TASKS = (*SHAPES, "class_weights")
"""Keys of `finetune` that name what a task has, and so stand in its own block."""


class Choices(NamedTuple):
    """What the user decides.

    Attributes:
        start: its name; None: by the model.
        renames: older name -> present name.
    """

    start: str | None = None
    renames: Mapping[str, str] = {}


_NONE = Choices()


class Migrated(NamedTuple):
    """The result.

    Attributes:
        document: of the present schema.
        names: what is called otherwise.
        start: the one of the older file.
        notes: what the user should know of it, a line each.
    """

    document: dict[str, Any]
    names: Names
    start: Start
    notes: list[str]


def migrated(document: Mapping[str, Any], file: Path, choices: Choices = _NONE) -> Migrated:
    """The same values in the present schema.

    Args:
        document: of the older schema.
        file: for the messages.

    Raises:
        BadParams: a section is missing, or something cannot be said any more.
    """
    _check_sections(document, file)
    ladder = params.parse(OlderLadder, document["ladder"], "ladder", file)
    older_names = {
        "corpora": list(map(str, document["collect"])),
        "tasks": list(map(str, document["collect_task"])),
        "arms": list(dict.fromkeys(cell.arm for cell in ladder.finetune.values())),
    }
    raise_all(_unknown_tasks(ladder, older_names["tasks"], file))
    present = names.chosen(older_names, choices.renames, file)
    taken = {*present.corpora.values(), *present.tasks.values(), *present.arms.values()}
    start = starts.of_older(document, choices.start, taken, file)
    of_tables = arms.of_tables(ladder, older_names["tasks"], present, file)
    new_ladder: dict[str, Any] = {"draws": 1, "starts": {start.name: start.values}, "arms": of_tables.arms}
    if of_tables.tasks:
        new_ladder["tasks"] = of_tables.tasks
    new: dict[str, Any] = {}
    for name, values in document.items():
        new[name] = {ALL: _without(values, OF_START.get(name, ()))} if name in BELOW_ALL else values
    new |= {name: {} for name in RUNGS_ABOVE if name not in document}
    new["ladder"] = new_ladder
    new["collect"] = {present.corpora[name]: values for name, values in document["collect"].items()}
    new["collect_task"] = {present.tasks[name]: values for name, values in document["collect_task"].items()}
    new["tokenizer"] = {ALL: _renamed(new["tokenizer"][ALL], present)}
    unused = [name for name in document["finetune"] if name not in present.tasks]
    of_tasks = {present.tasks[name]: values for name, values in document["finetune"].items() if name not in unused}
    new["finetune"] = finetune(of_tasks)
    left_out = [f"finetune.{name} is left out: collect_task has no such task" for name in unused]
    return Migrated(new, present, start, [*present.notes(), *start.notes, *of_tables.notes, *left_out])


def finetune(of_tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Values by task -> those that all have below `all`, and a block for what differs from it.

    The values below `all` are those of the first task.
    """
    common = _common([_without(values, OF_TASKS) for values in of_tasks.values()])
    blocks = {task: _differing(values, common) for task, values in of_tasks.items()}
    return {ALL: common, **{task: values for task, values in blocks.items() if values}}


def _common(every: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Keys that all of them have, with the first one's values. A mapping of some and no mapping of others is none: a
    block would not replace it."""
    common: dict[str, Any] = {}
    for key, value in every[0].items() if every else ():
        values = [each[key] for each in every if key in each]
        if len(values) < len(every):
            continue
        are_mappings = [isinstance(each, Mapping) for each in values]
        if all(are_mappings) and key not in WHOLE:
            inside = _common(values)
            if inside or all(each == value for each in values):
                common[key] = inside
        elif not any(are_mappings) or all(each == value for each in values):
            common[key] = value
    return common


def _differing(values: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """What must stand in a block so that it and the common values are these."""
    differing: dict[str, Any] = {}
    for key, value in values.items():
        if key not in common:
            differing[key] = value
        elif isinstance(value, Mapping) and isinstance(common[key], Mapping):
            if inside := _differing(value, common[key]):
                differing[key] = inside
        elif value != common[key]:
            differing[key] = value
    return differing


def _without(values: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in keys}


def _renamed(tokenizer: Mapping[str, Any], present: Names) -> dict[str, Any]:
    """With the present names of corpora."""
    values = dict(tokenizer)
    if isinstance(corpora := values.get("corpora"), list):
        values["corpora"] = [present.corpora.get(name, name) for name in corpora]
    extend = values.get("extend")
    if isinstance(extend, Mapping) and isinstance(corpora := extend.get("corpora"), list):
        values["extend"] = {**extend, "corpora": [present.corpora.get(name, name) for name in corpora]}
    return values


def _check_sections(document: Mapping[str, Any], file: Path) -> None:
    errors = []
    for name in ("ladder", "collect", "collect_task", *BELOW_ALL, "finetune"):
        is_needed = name not in RUNGS_ABOVE or name in document
        if is_needed and not isinstance(document.get(name), Mapping):
            problem = f"section '{name}' is {'no mapping' if name in document else 'missing'}"
            errors.append(BadParams(Code.UNKNOWN_KEY, f"{file}: {name}", problem, "mend it, and run again"))
    raise_all(errors)
    for task, values in document["finetune"].items():
        if not isinstance(values, Mapping):
            problem = f"finetune.{task} is no mapping"
            errors.append(BadParams(Code.WRONG_TYPE, f"{file}: finetune.{task}", problem, "mend it, and run again"))
    raise_all(errors)


def _unknown_tasks(ladder: OlderLadder, tasks: Sequence[str], file: Path) -> list[BadParams]:
    named = {f"ladder.task_transfer.{key}": rung.task for key, rung in ladder.task_transfer.items()}
    named |= {f"ladder.finetune.{key}": cell.task for key, cell in ladder.finetune.items()}
    return [
        BadParams(
            Code.UNKNOWN_KEY, f"{file}: {place}", f"'{task}' is not in collect_task", f"known: {', '.join(tasks)}"
        )
        for place, task in named.items()
        if task not in tasks
    ]
