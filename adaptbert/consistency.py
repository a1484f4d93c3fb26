"""Rules between the sections of params.yaml: what no section can see on its own.

Called by adaptbert.entry.check_all once every section is valid by itself; in: the whole file, out: all errors at once.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adaptbert import params
from adaptbert.comparison_table import NO_TASKS, STEPS
from adaptbert.errors import BadParams, UserError, nearest, raise_all
from adaptbert.ladder import PRETRAIN, SCRATCH, LadderConfig
from adaptbert.report.words import CONTROLS
from adaptbert.tasks.shapes import MAKERS, ShapeConfig, mismatch

GENERAL = "general"
"""The corpus that `pretrain` is trained on; dvc.yaml names it."""

OF_CLASSES = {"class_weights", "r_drop"}
"""Options of fine-tuning that mean nothing for a number."""

_NAME = re.compile(r"\w[\w.-]*")


def check(document: Mapping[str, Any], file: Path) -> None:
    """Refuse names that lead nowhere and values that contradict those of another section.

    Args:
        document: all sections, each valid on its own.
        file: for the messages.
    """
    ladder = params.parse(LadderConfig, document["ladder"], "ladder", file)
    raise_all(
        [
            *_names(document, file),
            *_taken(document, ladder, file),
            *_corpora(document, ladder, file),
            *_tasks(document, ladder, file),
            *_shapes(document, file),
            *_rungs(ladder, file),
            *_cells(ladder, file),
            *_lengths(document, file),
            *_vocabulary(document, file),
        ]
    )


def _names(document: Mapping[str, Any], file: Path) -> Iterator[UserError]:
    """Names of sets become names of files and words of a command."""
    for section in ("collect", "collect_task"):
        for name in document[section]:
            if not _NAME.fullmatch(str(name)):
                place = f"{file}: {section}.{name}"
                yield BadParams(
                    112, place, f"'{name}' cannot be the name of a folder", "use letters, digits, _ . and -"
                )


def _taken(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """In metrics/comparison.json tasks stand beside other sections, arms beside controls: one would hide the other."""
    for task in document["collect_task"]:
        if task in NO_TASKS:
            problem = f"'{task}' is a section of metrics/comparison.json"
            yield BadParams(112, f"{file}: collect_task.{task}", problem, "give the task another name")
    for key, cell in ladder.finetune.items():
        if cell.arm == STEPS or cell.arm in CONTROLS:
            problem = f"'{cell.arm}' is {'a section of metrics/comparison.json' if cell.arm == STEPS else 'a control'}"
            yield BadParams(112, f"{file}: ladder.finetune.{key}.arm", problem, "give the arm another name")


def _corpora(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    known = sorted(document["collect"])
    if GENERAL not in known:
        yield BadParams(
            99, f"{file}: collect", f"no corpus '{GENERAL}'", "name the text that pretrain is trained on so"
        )
    yield from _unknown(file, "ladder.domain_transfer", ladder.domain_transfer, known, "collect")
    vocabulary, labelled = document["tokenizer"].get("corpora", []), document["collect_task"].keys() - set(known)
    for name in vocabulary:
        if name in labelled:
            problem = f"'{name}' is a labelled set, and a vocabulary is trained on corpora"
            remedy = "put its text into a corpus of collect, and name that"
            yield BadParams(99, f"{file}: tokenizer.corpora", problem, remedy)
    corpora = [name for name in vocabulary if name not in labelled]
    yield from _unknown(file, "tokenizer.corpora", corpora, known, "collect")
    for name in sorted({name for name in ladder.domain_transfer if ladder.domain_transfer.count(name) > 1}):
        yield BadParams(111, f"{file}: ladder.domain_transfer", f"'{name}' twice", "name each corpus once")


def _tasks(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    for key, rung in ladder.task_transfer.items():
        yield from _unknown(
            file, f"ladder.task_transfer.{key}.task", [rung.task], document["collect_task"], "collect_task"
        )
    for key, cell in ladder.finetune.items():
        place = f"ladder.finetune.{key}.task"
        yield from _unknown(file, place, [cell.task], document["collect_task"], "collect_task")
        yield from _unknown(file, place, [cell.task], document["finetune"], "finetune")


def _shapes(document: Mapping[str, Any], file: Path) -> Iterator[UserError]:
    """The options of a task belong to its shape and target."""
    for task, values in document.get("finetune", {}).items():
        if task in document["collect_task"]:
            given = ShapeConfig.model_validate({name: values[name] for name in MAKERS if name in values})
            collected = document["collect_task"][task]
            if problem := mismatch(given, collected["shape"], collected["target"]):
                remedy = f"see shape and target of collect_task.{task}"
                yield BadParams(111, f"{file}: finetune.{task}", problem, remedy)
            for key in sorted(OF_CLASSES & values.keys()) if collected["target"] == "number" else ():
                problem = f"{key} and target 'number': a number has no classes"
                yield BadParams(111, f"{file}: finetune.{task}.{key}", problem, "remove the key")


def _rungs(ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    starts = [SCRATCH, PRETRAIN, *(f"domain_transfer/{corpus}" for corpus in ladder.domain_transfer)]
    for key, rung in ladder.task_transfer.items():
        place = f"ladder.task_transfer.{key}"
        if not key.startswith(f"{rung.task}-") or not _NAME.fullmatch(key):
            yield _misnamed(file, place, f"{rung.task}-<from>", f"task '{rung.task}'")
        yield from _unknown(file, f"{place}.from", [rung.start], starts, "the rungs below")


def _cells(ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    for key, cell in ladder.finetune.items():
        place = f"{file}: ladder.finetune.{key}"
        if key != f"{cell.task}-{cell.arm}" or not _NAME.fullmatch(key):
            wanted = f"{cell.task}-{cell.arm}"
            yield _misnamed(file, f"ladder.finetune.{key}", wanted, f"task '{cell.task}' and arm '{cell.arm}'")
        yield from _unknown(
            file, f"ladder.finetune.{key}.from", [cell.start], ladder.rungs(), "the rungs of the ladder"
        )
        text = ladder.task_transfer.get(cell.start.removeprefix("task_transfer/"))
        if text is not None and text.task != cell.task:
            problem = f"task '{cell.task}', but from '{cell.start}', which is trained on the text of '{text.task}'"
            yield BadParams(111, place, problem, "start from a rung of the same task")


def _lengths(document: Mapping[str, Any], file: Path) -> Iterator[UserError]:
    """Documents must fit the positions of the encoder; a checkpoint that is given brings its own."""
    encoder = document["pretrain"].get("encoder")
    if encoder is None:
        return
    positions = encoder["max_positions"]
    lengths = {"tokenize.max_length": document["tokenize"]["max_length"]}
    cells = document.get("finetune", {})
    lengths |= {f"finetune.{task}.max_length": values["max_length"] for task, values in cells.items()}
    for key, length in lengths.items():
        if length > positions:
            problem = f"max_length {length} > pretrain.encoder.max_positions {positions}"
            yield BadParams(111, f"{file}: {key}", problem, "change one of the two")


def _vocabulary(document: Mapping[str, Any], file: Path) -> Iterator[UserError]:
    """The weights of a checkpoint mean nothing with another vocabulary."""
    init, source = document["pretrain"]["init"], document["tokenizer"]["source"]
    if init != SCRATCH and source == "train":
        problem = f"source {source}, but pretrain.init is {init}, which knows its own vocabulary only"
        yield BadParams(111, f"{file}: tokenizer.source", problem, "write `init` for models/init, or the same name")


def _unknown(
    file: Path, place: str, names: Sequence[str], known: "Sequence[str] | Mapping[str, Any]", where: str
) -> Iterator[UserError]:
    for name in names:
        if name not in known:
            problem = f"'{name}' is not in {where}{nearest(name, list(known))}"
            yield BadParams(99, f"{file}: {place}", problem, f"known: {', '.join(known)}")


def _misnamed(file: Path, place: str, wanted: str, values: str) -> BadParams:
    return BadParams(111, f"{file}: {place}", f"this key does not fit its values, {values}", f"call it {wanted}")
