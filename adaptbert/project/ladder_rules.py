"""Rules of the names that make up the ladder: starts, corpora, tasks, arms, and blocks of what differs."""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from adaptbert.base.ladder import ALL, Climb, LadderConfig, is_name, why_no_name
from adaptbert.base.start import FOLDERS, RANDOM, is_hub_name
from adaptbert.codes import Code
from adaptbert.comparison.questions import ROLES, role
from adaptbert.errors import BadParams, UserError, nearest, shortened
from adaptbert.report.terms import BASELINES
from adaptbert.report.text_table import NO_TASKS, STEPS
from adaptbert.runtime.params import blocks as in_blocks

STARTS, CORPORA, TASKS, ARMS = "ladder.starts", "collect", "collect_task", "ladder.arms"
BLOCKS = {
    "tokenizer": (STARTS,),
    "tokenize": (STARTS,),
    "pretrain": (STARTS,),
    "domain_transfer": (STARTS, CORPORA),
    "task_transfer": (STARTS, TASKS),
    "finetune": (STARTS, TASKS, ARMS),
}
"""Section -> what its blocks may be named after."""
OF_TASKS = ("labels", "label_counts", "seeds")
"""Values of fine-tuning that all arms and starts of a task share."""


def set_names(document: Mapping[str, Any], file: Path) -> Iterator[UserError]:
    """Names of corpora and tasks can be those of files, of stages and of blocks."""
    for section in (CORPORA, TASKS):
        for name in document[section]:
            if not is_name(name):
                place = f"{file}: {shortened(f'{section}.{name}')}"
                yield BadParams(Code.BAD_NAME, place, *why_no_name(name, document[section]))


def taken(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """A name means one thing: of a start and a task, say, a block of this name could mean either.

    A corpus and an arm alone may share a name, as `domain` does: no section has blocks of both.
    """
    kinds = _kinds(document, ladder)
    for kind, names in kinds.items():
        others = [other for other in list(kinds)[: list(kinds).index(kind)] if {kind, other} != {CORPORA, ARMS}]
        for name in names:
            if other := next((other for other in others if name in kinds[other]), None):
                problem = f"'{name}' is also a name in {other}"
                yield BadParams(Code.BAD_NAME, f"{file}: {kind}.{name}", problem, "give one of them another name")


def reserved(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """In metrics/comparison.json, tasks stand beside other sections, and arms beside baselines."""
    section = "a section of metrics/comparison.json"
    for task in document[TASKS]:
        if task in NO_TASKS:
            place = f"{file}: {TASKS}.{task}"
            yield BadParams(Code.BAD_NAME, place, f"'{task}' is {section}", "give the task another name")
    for arm in ladder.arms:
        if arm == STEPS or arm in BASELINES:
            problem = f"'{arm}' is {section if arm == STEPS else 'a baseline'}"
            yield BadParams(Code.BAD_NAME, f"{file}: {ARMS}.{arm}", problem, "give the arm another name")


def known(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """Corpora and tasks that the ladder names exist."""
    corpora, tasks = document[CORPORA], document[TASKS]
    for name, arm in ladder.arms.items():
        yield from unknown(file, f"{ARMS}.{name}.domain_transfer", arm.domain_transfer, corpora, CORPORA)
        yield from unknown(file, f"{ARMS}.{name}.tasks", arm.tasks or (), tasks, TASKS)
    yield from unknown(file, "ladder.tasks", ladder.tasks, tasks, TASKS)


def watched(ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """A checkpoint in a folder lies where DVC watches it, so that another one there is noticed."""
    for name, start in ladder.starts.items():
        init, folder = str(start["init"]), f"{FOLDERS}{name}"
        if init not in (RANDOM, folder) and not is_hub_name(init):
            problem = f"init is {init}, a path that DVC does not watch"
            home = "~/" if init.startswith("~/") else ""  # a shell resolves it only without quotes
            source = f"{home}{quote(init.removeprefix(home))}"
            remedy = f"write init: {folder}, and run `adaptbert import {source} --start {name}`, or copy it there"
            yield BadParams(Code.START_NOT_WATCHED, f"{file}: {STARTS}.{name}.init", problem, remedy)


def blocks(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """Every block but `all` has the name of something: another one would be ignored in silence.

    The sections and their `all` are there, even empty: dvc.yaml names them, and DVC stops at a missing one.
    """
    named = _kinds(document, ladder)
    for section, kinds in BLOCKS.items():
        if section not in document:
            yield BadParams(Code.UNKNOWN_KEY, f"{file}: {section}", "is missing", f"add `{section}: {{all: {{}}}}`")
        elif errors := in_blocks.no_mappings(document[section], f"{file}: {section}"):
            yield from errors
        elif ALL not in document[section]:
            yield BadParams(Code.UNKNOWN_KEY, f"{file}: {section}.{ALL}", "is missing", f"add `{ALL}: {{}}`")
        else:
            owners = [name for kind in kinds for name in named[kind]]
            names = [name for name in document[section] if name != ALL]
            yield from unknown(file, section, names, owners, " or ".join(kinds))


def fine_tuned_alike(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """Arms and starts are compared on the same labels, paired by seed: only a task has other ones."""
    for name, values in document["finetune"].items():
        kind = "arms" if name in ladder.arms else "starts" if name in ladder.starts else None
        for key in [key for key in OF_TASKS if kind and key in values]:
            problem = f"{kind} of a task are compared on the same {key}"
            remedy = f"write it into finetune.{ALL}, or into the block of a task"
            yield BadParams(Code.CONTRADICTION, f"{file}: finetune.{name}.{key}", problem, remedy)


def arms(ladder: LadderConfig, tasks: Collection[str], options: Mapping[str, Any], file: Path) -> Iterator[UserError]:
    """An arm with the name of a role has that role; two arms of one climb and equal blocks would be one cell, twice.

    An A/A arm is fine-tuned with the values of all, as is the arm that it repeats.

    Args:
        options: the blocks of `finetune`.
    """
    for name, arm in ladder.arms.items():
        if name in ROLES and (arm.again is not None or role(arm.climb) != name):
            problem = f"an arm '{name}' is {ROLES[name]}, and this one is not"
            renamed = role(arm.climb) if arm.again is None else None
            remedy = f"write {ROLES[name]}" + (f", or call it {renamed}" if renamed else ", or call it otherwise")
            yield BadParams(Code.ARM_OF_OTHER_ROLE, f"{file}: {ARMS}.{name}", problem, remedy)
    for name, other in ladder.again.items():
        for block in (name, other):
            if block in options:
                problem = f"'{name}' repeats '{other}', so both are fine-tuned with the values of {ALL}"
                yield BadParams(
                    Code.CONTRADICTION, f"{file}: finetune.{block}", problem, f"remove it, or {ARMS}.{name}"
                )
        alone = {
            task
            for task in tasks
            for start in ladder.starts
            if name in (own := ladder.arms_of(task, start)) and other not in own
        }
        if alone:
            of = ", ".join(sorted(alone))
            problem = f"'{name}' repeats '{other}', and the task {of} has no '{other}' from the same starts"
            remedy = f"leave {of} out of {ARMS}.{name}.tasks, or give the task {of} the arm {other} as well"
            yield BadParams(Code.CONTRADICTION, f"{file}: {ARMS}.{name}", problem, remedy)
    yield from _excluded(ladder, file)
    twice: dict[str, str] = {}
    for task in tasks:
        for start in ladder.starts:
            first: dict[tuple[Climb, bool, str], str] = {}
            for name, arm in ladder.arms_of(task, start).items():
                values = json.dumps(options.get(name) or {}, sort_keys=True)
                beside = first.setdefault((arm.climb, arm.again is None, values), name)
                if beside != name:
                    twice.setdefault(name, beside)
    for name, beside in twice.items():
        problem = f"trained on what {beside} is trained on: the same cell twice"
        remedy = f"remove one, train it on something else, or write other values in finetune.{name}"
        yield BadParams(Code.ARM_TWICE, f"{file}: {ARMS}.{name}", problem, remedy)


def _excluded(ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """Arms that are in no cell: an empty list keeps them from everything, and two lists exclude one another. And an
    empty `again`, which would make an arm without steps."""
    for name, arm in ladder.arms.items():
        if arm.again is None and "again" in arm.model_fields_set:
            yield BadParams(Code.CONTRADICTION, f"{file}: {ARMS}.{name}.again", "empty", "name the arm that it repeats")
        for kind, names in (("tasks", arm.tasks), ("starts", arm.starts)):
            if names == []:
                problem = f"empty, so that '{name}' is nowhere"
                yield BadParams(Code.CONTRADICTION, f"{file}: {ARMS}.{name}.{kind}", problem, "leave it out: all")
        for task, own in ladder.tasks.items():
            if own.arms is not None and name in own.arms and arm.tasks and task not in arm.tasks:
                problem = f"names '{name}', and {ARMS}.{name}.tasks is without {task}"
                remedy = "write it in one of the two lists only"
                yield BadParams(Code.CONTRADICTION, f"{file}: ladder.tasks.{task}.arms", problem, remedy)


def unknown(file: Path, place: str, names: Collection[str], there: Collection[str], where: str) -> Iterator[UserError]:
    """The names that do not exist.

    Args:
        there: those that do.
        where: the section that has them.
    """
    for name in names:
        if name not in there:
            problem = f"'{name}' is not in {where}{nearest(name, [*there])}"
            yield BadParams(Code.UNKNOWN_KEY, f"{file}: {place}", problem, f"known: {', '.join(there) or 'none'}")


def _kinds(document: Mapping[str, Any], ladder: LadderConfig) -> dict[str, Collection[str]]:
    """All names, by where they stand."""
    return {
        CORPORA: document[CORPORA],
        TASKS: document[TASKS],
        STARTS: ladder.starts,
        ARMS: ladder.arms,
    }
