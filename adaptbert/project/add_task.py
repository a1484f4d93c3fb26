"""`adaptbert add-task`: files -> a block in `tasks`, and plan.json. It loads no torch, so that it answers at once."""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config import plan_file
from adaptbert.config.recipe import KINDS, PARAMS, Recipe
from adaptbert.config.schema.section import is_name, plain, why_no_name
from adaptbert.core.printable import printable
from adaptbert.data.preview import Said
from adaptbert.errors import BadParams, raise_all
from adaptbert.planning import preflight, rules
from adaptbert.planning.rules import checked
from adaptbert.project import editing, own_data, task_inference

_OF_SPLITS = re.compile(
    "train(ing)?|训练集?|dev(el|elopment)?|val(id|idation)?|eval|验证集?|开发集|test(ing)?|测试集?", re.IGNORECASE
)
"""What is not part of a name."""
_PARTS = re.compile(r"[._\-\s]+")
UNNAMED = "my_task"
"""An arm is called `task`."""
_OF_FOLDER = " (the name of its folder: the file gives none of Latin letters; --name gives it another)"
_OF_NOTHING = " (neither the file nor its folder gives a name of Latin letters; --name gives it one)"


def add(files: Mapping[str, Path], name: str | None, said: Said) -> Iterator[str]:
    """Look at the files of each split, train always, then write the task.

    Yields:
        First what was concluded, with the block: nothing is written before the next is asked for. Then what was done.

    Raises:
        BadData: the files are not those of a task, it is not clear what they hold, or DVC refuses them.
        BadParams: the name is taken, or params.yaml is not valid, or was changed since it was read.
    """
    recipe, read = checked(), PARAMS.read_bytes()
    homes = own_data.homes(files.values())
    inferred = task_inference.of_files(files, said)
    name, hint = (name, "") if name else name_of(files["train"])
    check_name(name, recipe.names())

    def added(block: Mapping[str, Any]) -> Recipe:
        return Recipe({**recipe.written, "tasks": {**recipe.written["tasks"], name: block}})

    as_given = added(inferred.task(files))
    rules.check(as_given)
    first_rows = preflight.check(as_given, task=as_given.tasks[name])
    raise_all(first_rows.errors)
    block = inferred.task({split: homes[path] for split, path in files.items()})
    new = added(block)
    content = editing.added("tasks", {name: block}, new.written)
    cells = sum(cell.task == name for cell in plan_file.expand(new).finetune.values())
    taken = {path.as_posix() for path in homes.values()}  # rarely meant: its arms are compared once more
    shared = {other: sorted({task.train, task.dev, task.test} & taken) for other, task in recipe.tasks.items()}
    shown = [
        f"task {name}{hint}",
        *inferred.shown,
        f"\nfor {PARAMS}:\n",
        editing.shown("tasks", {name: block}),
        *(f"notice: {', '.join(both)}: already data of the task {other}" for other, both in shared.items() if both),
        *(f"notice: {notice}" for notice in first_rows.notices),
        *([] if cells else [f"no arm is for this task: add {name} to `tasks` of an arm"]),
    ]
    yield printable("\n".join(shown))
    yield from own_data.take(homes)
    if PARAMS.read_bytes() != read:  # as by an editor while the command waited
        problem = "was changed while this command was at work, and is left so"
        raise BadParams(Code.NOT_EDITABLE, PARAMS, problem, "run the command again")
    editing.write_recipe(new, content)
    yield f"task {name} is in {PARAMS}, and its fine-tunings ({cells}) in plan.json"


def name_of(train: Path) -> tuple[str, str]:
    """A name for the task, by the file of its training rows, or its folder; `UNNAMED` where neither can be one. And
    what is said of it: the file may have a name that a stage cannot have."""
    stem = Path(train.name.lower().removesuffix(".gz")).stem
    folder = train.resolve().parent  # `..` has no name
    for words in (stem, "" if folder == own_data.OWN.resolve() else folder.name):
        parts = [part for part in _PARTS.split(words) if part and not _OF_SPLITS.fullmatch(part)]
        if is_name(called := plain("_".join(parts))):
            return called, _OF_FOLDER if words is not stem else ""
    return UNNAMED, _OF_NOTHING


def check_name(name: str, taken: Mapping[str, Collection[str]]) -> None:
    """Raise BadParams where a task cannot be called so; kind -> the names that are taken."""
    owner = next((KINDS[kind] for kind, names in taken.items() if name in names), None)
    if owner is not None:
        place = f"{PARAMS}: {owner}.{name}"
        raise BadParams(Code.BAD_NAME, place, "the name is taken", "choose another: --name NAME")
    if not is_name(name):
        raise BadParams(Code.BAD_NAME, f"--name {name}", *why_no_name(name))
