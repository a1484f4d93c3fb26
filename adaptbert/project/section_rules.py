"""Rules between the sections of params.yaml.

adaptbert.runtime.stage.check_all calls it once every section is valid by itself; in: the whole file, out: all errors.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from adaptbert.base.ladder import GENERAL, PRETRAIN, SCRATCH, Cell, LadderConfig
from adaptbert.codes import Code
from adaptbert.comparison.questions import ROLES, advice, role, uncompared
from adaptbert.comparison.report.terms import BASELINES, would_show
from adaptbert.comparison.statistics import FEWEST_SEEDS
from adaptbert.comparison.text_table import NO_TASKS, STEPS
from adaptbert.errors import BadParams, UserError, nearest, raise_all, shortened
from adaptbert.finetuning.tasks.shapes import SHAPES, ShapeConfig, mismatch
from adaptbert.rows.targets import TARGETS
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.sound_parts import Incomplete, Sound

OF_CLASSES = {"class_weights", "r_drop"}
"""Options of fine-tuning that regression does not have."""

_NAME = re.compile(r"\w[\w-]*")
"""Of what becomes a stage. DVC takes a dot for the way to a value (`collect.my.corpus`), and @ for its own."""
_NO_WORD = re.compile(r"[^\w-]+")
_MOST_BYTES = 100
_OF_NAMES = f"names begin with a letter or digit and go on with letters, digits, _ and -, {_MOST_BYTES} bytes at most"


def is_name(text: str) -> bool:
    """Whether this can be the name of a set or an arm."""
    return _NAME.fullmatch(text) is not None and len(text.encode()) <= _MOST_BYTES


def check(document: Mapping[str, Any], file: Path, wrong: Collection[str] = ()) -> None:
    """Raise all errors: names that do not exist, and values that contradict those of another section.

    Args:
        document: all sections, each valid on its own but for the wrong ones.
        file: for the messages.
        wrong: sections that are not valid or not there; rules that need them are left out.
    """
    sound = Sound(document, wrong)

    def ladder() -> LadderConfig:
        return params.parse(LadderConfig, sound["ladder"], "ladder", file)

    rules: Sequence[Callable[[], Iterator[UserError]]] = (
        lambda: _names(sound, ladder(), file),
        lambda: _taken(sound, ladder(), file),
        lambda: _corpora(sound, ladder(), file),
        lambda: _tasks(sound, ladder(), file),
        lambda: _shapes(sound, file),
        lambda: _rungs(sound, ladder(), file),
        lambda: _cells(sound, ladder(), file),
        lambda: _arms(ladder(), file),
        lambda: _lengths(sound, file),
        lambda: _vocabulary(sound, file),
    )
    errors: list[UserError] = []
    for rule in rules:
        with suppress(Incomplete):
            errors.extend(rule())
    raise_all(errors)


def notices(document: Mapping[str, Any], file: Path) -> list[str]:
    """Warnings before training: arms that no step compares with another, and tasks with too few seeds for an
    interval.

    Args:
        document: one that `check` lets pass.
    """
    ladder = params.parse(LadderConfig, document["ladder"], "ladder", file)
    seeds = {task: len(document["finetune"][task]["seeds"]) for task in ladder.tasks()}
    few = [f"{task} has {count}" for task, count in seeds.items() if count < FEWEST_SEEDS]
    of_seeds = f"of fewer than {FEWEST_SEEDS} no interval and no verdict can be given; write e.g. [1, 2, 3]"
    return [
        *([f"{file}: finetune: seeds: {', '.join(few)}: {of_seeds}"] if few else []),
        *(
            f"{file}: ladder.finetune.{task}-{arm}: no step compares this arm with another. "
            + would_show(advice(ladder, task, [arm])).en
            for task in ladder.tasks()
            for arm in uncompared(ladder, task)
        ),
    ]


def _names(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """Names of sets and arms become names of files and of DVC's stages and parameters, where a dot is a separator."""
    sets = {section: [*document[section]] for section in ("collect", "collect_task")}
    names = {f"{section}.{name}": (name, others) for section, others in sets.items() for name in others}
    for key, cell in ladder.finetune.items():
        names[f"ladder.finetune.{key}.arm"] = cell.arm, [STEPS, *BASELINES, *ladder.arms_of(cell.task)]
    for place, (name, taken) in names.items():
        if not is_name(name):
            problem = f"'{shortened(name)}' cannot be the name of a stage"
            yield BadParams(Code.BAD_NAME, f"{file}: {shortened(place)}", problem, _like(name, taken) + _OF_NAMES)


def _like(name: str, taken: Collection[str]) -> str:
    """`call it my_arm; ` where that is free."""
    plain = _NO_WORD.sub("_", unicodedata.normalize("NFKC", name)).strip("_-")
    return f"call it {plain}: " if is_name(plain) and plain not in taken else ""


def _taken(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """In metrics/comparison.json tasks stand beside other sections, arms beside baselines: names may collide."""
    for task in document["collect_task"]:
        if task in NO_TASKS:
            problem = f"'{task}' is a section of metrics/comparison.json"
            yield BadParams(Code.BAD_NAME, f"{file}: collect_task.{task}", problem, "give the task another name")
    for key, cell in ladder.finetune.items():
        if cell.arm == STEPS or cell.arm in BASELINES:
            problem = f"'{cell.arm}' is {'a section of metrics/comparison.json' if cell.arm == STEPS else 'a baseline'}"
            yield BadParams(Code.BAD_NAME, f"{file}: ladder.finetune.{key}.arm", problem, "give the arm another name")


def _corpora(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    known = sorted(document["collect"])
    if GENERAL not in known:
        yield BadParams(
            Code.UNKNOWN_KEY,
            f"{file}: collect",
            f"no corpus '{GENERAL}'",
            "name the text that pretrain is trained on so",
        )
    yield from _unknown(file, "ladder.domain_transfer", ladder.domain_transfer, known, "collect")
    vocabulary, labelled = document["tokenizer"].get("corpora", []), document["collect_task"].keys() - set(known)
    for name in vocabulary:
        if name in labelled:
            problem = f"'{name}' is a labelled set, and a vocabulary is trained on corpora"
            remedy = "put its text into a corpus of collect, and name that"
            yield BadParams(Code.UNKNOWN_KEY, f"{file}: tokenizer.corpora", problem, remedy)
    corpora = [name for name in vocabulary if name not in labelled]
    yield from _unknown(file, "tokenizer.corpora", corpora, known, "collect")
    for name in sorted({name for name in ladder.domain_transfer if ladder.domain_transfer.count(name) > 1}):
        yield BadParams(
            Code.CONTRADICTION, f"{file}: ladder.domain_transfer", f"'{name}' twice", "name each corpus once"
        )


def _tasks(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """A task has one name in collect_task, finetune and the ladder; one error for each missing task."""
    collected, tuned = document["collect_task"], document.get("finetune", {})
    named: dict[str, list[str]] = {}
    for section, entries in (("task_transfer", ladder.task_transfer), ("finetune", ladder.finetune)):
        for key, entry in entries.items():
            named.setdefault(entry.task, []).append(f"ladder.{section}.{key}.task")
    cells = {cell.task for cell in ladder.finetune.values()}
    for task, (first, *more) in named.items():
        lacking = [name for name, known in (("collect_task", collected), ("finetune", tuned)) if task not in known]
        if not lacking or (lacking == ["finetune"] and task not in cells):
            continue
        known = [*document[lacking[0]]]
        spare = [name for name in known if name not in named]
        as_well = f" (and {len(more)} more in the ladder)" if more else ""
        like = "" if spare else nearest(task, known, known)
        problem = f"'{task}'{as_well} is not in {' nor in '.join(lacking)}{like}"
        remedy = f"known: {', '.join(known) or 'none'}"
        if len(spare) == 1:
            remedy = f"{lacking[0]} has '{spare[0]}', which the ladder has not: write one name in all three"
        yield BadParams(Code.UNKNOWN_KEY, f"{file}: {first}", problem, remedy)


def _shapes(document: Mapping[str, Any], file: Path) -> Iterator[UserError]:
    """The options of a task must fit its task type and target."""
    for task, values in document.get("finetune", {}).items():
        if task in document["collect_task"]:
            options = ShapeConfig.model_validate({name: values[name] for name in SHAPES if name in values})
            collected = document["collect_task"][task]
            if conflict := mismatch(options, collected["shape"], collected["target"], values["max_length"]):
                yield BadParams(Code.CONTRADICTION, f"{file}: finetune.{task}", *conflict)
            has_classes = TARGETS[collected["target"]].has_confidence
            for key in sorted(OF_CLASSES & values.keys()) if not has_classes else ():
                problem = f"{key} and target '{collected['target']}': regression has no classes"
                yield BadParams(Code.CONTRADICTION, f"{file}: finetune.{task}.{key}", problem, "remove the key")


def _rungs(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    starts = [SCRATCH, PRETRAIN, *(f"domain_transfer/{corpus}" for corpus in ladder.domain_transfer)]
    for key, rung in ladder.task_transfer.items():
        place = f"ladder.task_transfer.{key}"
        if not is_name(key):
            yield BadParams(Code.BAD_NAME, f"{file}: {place}", f"'{key}' cannot be the name of a stage", _OF_NAMES)
        elif not key.startswith(f"{rung.task}-"):
            yield _misnamed(file, place, f"{rung.task}-<from>", f"task '{rung.task}'")
        if rung.start not in starts:
            remedy = _lacking(document, rung.start, "rung")
            yield from _unknown(file, f"{place}.from", [rung.start], starts, "the rungs below", remedy)


def _cells(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    for key, cell in ladder.finetune.items():
        place = f"{file}: ladder.finetune.{key}"
        expected = f"{cell.task}-{cell.arm}"
        if key != expected and is_name(cell.arm):
            yield _misnamed(file, f"ladder.finetune.{key}", expected, f"task '{cell.task}' and arm '{cell.arm}'")
        if cell.start not in ladder.rungs():
            where, remedy = "the rungs of the ladder", _lacking(document, cell.start, "arm")
            yield from _unknown(file, f"ladder.finetune.{key}.from", [cell.start], ladder.rungs(), where, remedy)
        text = ladder.task_transfer.get(cell.start.removeprefix("task_transfer/"))
        if text is not None and text.task != cell.task:
            problem = f"task '{cell.task}', but from '{cell.start}', which is trained on the text of '{text.task}'"
            yield BadParams(Code.CONTRADICTION, place, problem, "start from a rung of the same task")


def _lacking(document: Mapping[str, Any], start: str, entry: str) -> str | None:
    """The remedy where a corpus is known and only the rung on it is not in the ladder."""
    stage, _, corpus = start.partition("/")
    if stage != "domain_transfer" or corpus not in document["collect"]:
        return None
    return f"add {corpus} to ladder.domain_transfer, or remove this {entry}"


def _arms(ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """An arm with the name of a role starts from a rung of that role; two arms from one rung are one cell, twice."""
    starts = ladder.starts()
    first: dict[tuple[str, str], str] = {}
    for key, cell in ladder.finetune.items():
        if cell.start not in starts or starts[cell.start] not in {None, *starts}:
            continue  # reported by _cells or _rungs
        beside = first.setdefault((cell.task, cell.start), key)
        is_ = role(cell.start, starts[cell.start])
        if cell.arm in ROLES and cell.arm != is_:
            yield _another_role(ladder, file, key, cell, is_)
        elif beside != key:
            problem = f"starts from '{cell.start}' as {beside} does: the same cell twice"
            yield BadParams(
                Code.ARM_TWICE, f"{file}: ladder.finetune.{key}", problem, "remove one, or start it from another rung"
            )


def _another_role(ladder: LadderConfig, file: Path, key: str, cell: Cell, is_: str) -> BadParams:
    starts = ladder.starts()
    there = {name for name, start in ladder.arms_of(cell.task).items() if start == cell.start and name != cell.arm}
    own = [
        rung
        for rung, start in starts.items()
        if start in {None, *starts}
        and role(rung, start) == cell.arm
        and (not rung.startswith("task_transfer/") or rung.startswith(f"task_transfer/{cell.task}-"))
    ]
    rungs = " or ".join(own) or f"{ROLES[cell.arm]}, which the ladder lacks"
    renamed = f"remove it, for arm '{min(there)}' starts there" if there else f"call it {cell.task}-{is_}, arm {is_}"
    problem = f"arm '{cell.arm}' from '{cell.start}', which is a rung of role '{is_}'"
    remedy = f"{renamed}; or start it from {rungs}"
    return BadParams(Code.ARM_OF_OTHER_ROLE, f"{file}: ladder.finetune.{key}", problem, remedy)


def _lengths(document: Mapping[str, Any], file: Path) -> Iterator[UserError]:
    """Documents must fit the positions of the encoder; a checkpoint has its own number of positions."""
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
            yield BadParams(
                Code.CONTRADICTION, f"{file}: {key}", problem, f"write at most {positions}, or raise max_positions"
            )


def _vocabulary(document: Mapping[str, Any], file: Path) -> Iterator[UserError]:
    """The weights of a checkpoint only fit its own vocabulary."""
    init, source = document["pretrain"]["init"], document["tokenizer"]["source"]
    if init != SCRATCH and source == "train":
        problem = f"source {source}, but pretrain.init is {init}, which knows its own vocabulary only"
        yield BadParams(
            Code.CONTRADICTION, f"{file}: tokenizer.source", problem, "write `init` for models/init, or the same name"
        )


def _unknown(
    file: Path,
    place: str,
    names: Sequence[str],
    known: Sequence[str],
    where: str,
    remedy: str | None = None,
) -> Iterator[UserError]:
    for name in names:
        if name not in known:
            problem = f"'{name}' is not in {where}{nearest(name, [*known], [*known])}"
            yield BadParams(Code.UNKNOWN_KEY, f"{file}: {place}", problem, remedy or f"known: {', '.join(known)}")


def _misnamed(file: Path, place: str, expected: str, values: str) -> BadParams:
    problem = f"this key does not fit its values, {values}"
    return BadParams(Code.CONTRADICTION, f"{file}: {place}", problem, f"call it {expected}")
