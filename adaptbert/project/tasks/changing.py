"""`adaptbert rename-task` and `remove-task`: every place of params.yaml that names a task, then ladder.yaml."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from adaptbert.base.ladder import is_name, why_no_name
from adaptbert.codes import Code
from adaptbert.errors import BadParams, nearest, shortened
from adaptbert.project.editing import both_files, params_text
from adaptbert.project.editing.consequences import counted, stays, will_run
from adaptbert.runtime.params import expanded_ladder
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all

_SECTIONS = ("collect_task", "finetune", "task_transfer")
"""Sections whose keys may be tasks."""
_COMMENT = re.compile(r"^ *# *(.*?) *$", re.MULTILINE)
"""One in a line of its own."""
_MOST = 3
_REMEDY = "change the names in it by hand, then run `adaptbert ladder`"


def rename(old: str, new: str, file: Path) -> list[str]:
    """Give a task another name, and write both files.

    Returns:
        A line for each thing that the user should know.

    Raises:
        BadParams: there is no such task, or the new name is taken or none.
    """
    document = _valid(old, file)
    taken = {
        *document["collect"],
        *document["collect_task"],
        *document["ladder"]["starts"],
        *document["ladder"]["arms"],
    }
    if new in taken or not is_name(new):
        problem = (f"'{new}' is taken", "choose another name") if new in taken else why_no_name(new, taken)
        raise BadParams(Code.BAD_NAME, f"{file}: collect_task.{old}", *problem)
    return [
        f"task {old} is now called {new} in {file} and ladder.yaml",
        *_change(document, old, new, file),
    ]


def remove(name: str, file: Path) -> list[str]:
    """Take a task out of both files; its data stays.

    Returns:
        A line for each thing that the user should know.

    Raises:
        BadParams: there is no such task, or it is the only one.
    """
    document = _valid(name, file)
    if len(document["collect_task"]) == 1:
        problem = "the only task, and a recipe needs one"
        raise BadParams(
            Code.CONTRADICTION, f"{file}: collect_task.{name}", problem, "add another first: adaptbert add-task"
        )
    for arm, values in document["ladder"]["arms"].items():
        if values.get("tasks") == [name]:
            problem = f"an arm of {name} alone, which no task would have"
            raise BadParams(Code.CONTRADICTION, f"{file}: ladder.arms.{arm}", problem, "remove the arm first")
    files = dict.fromkeys(str(document["collect_task"][name][split]) for split in ("train", "dev", "test"))
    kept = f"its files stay where they are: {', '.join(files)}"
    return [
        f"task {name} is no longer in {file} and ladder.yaml",
        kept,
        *_change(document, name, None, file),
    ]


def _valid(name: str, file: Path) -> dict[str, Any]:
    """params.yaml, which has this task."""
    document = params.read(file)
    check_all(document, file)
    if name not in document["collect_task"]:
        tasks = [*document["collect_task"]]
        problem = f"no task '{name}'{nearest(name, tasks)}"
        raise BadParams(Code.UNKNOWN_KEY, f"{file}: collect_task", problem, f"tasks are {', '.join(tasks)}")
    return document


def _keys(document: Mapping[str, Any], task: str) -> Iterator[tuple[str, ...]]:
    """The keys that are the task; a start or a corpus has another name."""
    yield from ((section, task) for section in _SECTIONS if task in document.get(section, {}))
    if task in document["ladder"].get("tasks", {}):
        yield ("ladder", "tasks", task)


def _lists(document: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The lists of tasks: those that an arm is for."""
    for arm, values in document["ladder"]["arms"].items():
        if values.get("tasks") is not None:
            yield ("ladder", "arms", arm, "tasks"), values["tasks"]


def _change(document: Mapping[str, Any], old: str, new: str | None, file: Path) -> list[str]:
    """Write both files with another name, or without the task; what runs then, and what stays on disk."""
    before = expanded_ladder.expanded(document, file)
    changed = _changed(document, old, new)
    older = _COMMENT.findall(params_text.read(file))
    with params_text.changing(changed, file, _REMEDY) as draft:
        for path in _keys(document, old):
            text = draft.text
            draft.text = params_text.removed(text, path) if new is None else params_text.renamed(text, path, new)
        for path, names in _lists(document):
            if old in names:
                draft.text = params_text.replaced(draft.text, path, _in_list(names, old, new))
    after = both_files.write(draft.text, changed, file)
    lines = []
    if lost := [*(Counter(older) - Counter(_COMMENT.findall(draft.text)))]:  # the first one may be of all tasks
        shown = "; ".join(f"'{shortened(each)}'" for each in lost)
        lines.append(f"comments that went with it: {shown}")
    lines.append(will_run(before, after, reads=0 if new is None else 1))
    if folders := stays(before, after):
        more = f" and {len(folders) - _MOST} more" if len(folders) > _MOST else ""
        shown = ", ".join(folders[:_MOST])
        lines.append(f"still on disk, if it was trained: {counted(len(folders), 'folder')}, {shown}{more}")
    return lines


def _changed(document: Mapping[str, Any], old: str, new: str | None) -> dict[str, Any]:
    """The values with another name, or without the task."""
    changed = deepcopy(dict(document))
    for path in _keys(document, old):
        values = _at(changed, path[:-1])
        entries = [(new if key == old else key, value) for key, value in values.items()]
        values.clear()
        values.update({key: value for key, value in entries if key is not None})
    for path, names in _lists(document):
        _at(changed, path[:-1])[path[-1]] = _in_list(names, old, new)
    return changed


def _in_list(names: Sequence[str], old: str, new: str | None) -> list[str]:
    return [name for name in (new if each == old else each for each in names) if name is not None]


def _at(values: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        values = values[key]
    return values
