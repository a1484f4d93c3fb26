"""Rules between the sections of params.yaml.

adaptbert.runtime.params.all_sections.check_all calls it once every section is valid by itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from adaptbert.base.ladder import ALL, GENERAL, LadderConfig
from adaptbert.base.plan import rung_key
from adaptbert.base.start import RANDOM
from adaptbert.base.task_types import TARGETS
from adaptbert.codes import Code
from adaptbert.comparison.questions import advice, role, uncompared, without_variants
from adaptbert.errors import BadParams, UserError, raise_all, shortened
from adaptbert.project import ladder_rules, question_rules
from adaptbert.report.sentences.advice import would_show
from adaptbert.runtime.params import blocks
from adaptbert.runtime.params import params_file as params
from adaptbert.statistics.intervals import FEWEST_SEEDS
from adaptbert.tasks.shapes import SHAPES, ShapeConfig, mismatch

OF_VOCABULARIES = ("corpora", "vocabulary_size", "lowercase", "min_frequency")
"""Values of the section `tokenizer` that a start with random weights needs."""
OF_CLASSES = {"class_weights", "r_drop"}
"""Options of fine-tuning that regression does not have."""
MOST_OF_KEY = 200
"""Characters, all ASCII, of a rung's key: the name of a file may have 255 bytes, and temporary names are longer."""


def check(document: Mapping[str, Any], file: Path) -> None:
    """Raise all errors: names that do not exist, and values that contradict those of another section.

    Args:
        document: all sections, each valid on its own where a rung or cell reads it.
        file: for the messages.
    """
    ladder = params.parse(LadderConfig, document["ladder"], "ladder", file)
    _raise_each(  # without a cell, nothing has looked at the sections that only cells read
        ladder_rules.set_names(document, file),
        ladder_rules.blocks(document, ladder, file),
        _cell(document, ladder, file),
        _general(document, file),
    )
    _raise_each(
        ladder_rules.taken(document, ladder, file),
        ladder_rules.reserved(document, ladder, file),
        ladder_rules.known(document, ladder, file),
        ladder_rules.watched(ladder, file),
        ladder_rules.arms(ladder, document["collect_task"], document["finetune"], file),
        ladder_rules.fine_tuned_alike(document, ladder, file),
        _keys(document, ladder, file),
        _vocabularies(document, ladder, file),
        _shapes(document, ladder, file),
        _lengths(document, ladder, file),
        question_rules.check(document, ladder, file),
    )


def _raise_each(*rules: Iterator[UserError]) -> None:
    raise_all(list({str(error): error for error in chain(*rules)}.values()))  # cells share blocks, and so errors


def notices(document: Mapping[str, Any], file: Path) -> list[str]:
    """Warnings before training: arms that no step compares with another, tasks with too few seeds for an interval,
    questions that will get no verdict.

    Args:
        document: one that `check` lets pass.
    """
    ladder = params.parse(LadderConfig, document["ladder"], "ladder", file)
    seeds: dict[str, int] = {}
    for task, names in _cells(document, ladder):
        count = len(blocks.in_force(document["finetune"], names)["seeds"])
        seeds[task] = min(count, seeds.get(task, count))
    few = [f"{task} has {count}" for task, count in seeds.items() if count < FEWEST_SEEDS]
    of_seeds = f"of fewer than {FEWEST_SEEDS} no interval and no verdict can be given; write e.g. [1, 2, 3]"
    return [
        *([f"{file}: finetune: seeds: {', '.join(few)}: {of_seeds}"] if few else []),
        *_alone(ladder, document, file),
        *question_rules.notices(document, ladder, file),
    ]


def _cells(document: Mapping[str, Any], ladder: LadderConfig) -> Iterator[tuple[str, list[str]]]:
    """Every cell but for its draws: its task, and the names of its blocks."""
    for task in document["collect_task"]:
        for start in ladder.starts:
            for arm in ladder.arms_of(task, start):
                yield task, [start, task, arm]


def _alone(ladder: LadderConfig, document: Mapping[str, Any], file: Path) -> Iterator[str]:
    """Arms that no step compares, each once for all starts."""
    lines: dict[tuple[str, str], str] = {}
    every = {name: arm.climb for name, arm in ladder.arms.items() if arm.again is None}
    for task in document["collect_task"]:
        for start in ladder.starts:
            climbs = {name: arm.climb for name, arm in ladder.arms_of(task, start).items() if arm.again is None}
            arms = without_variants(climbs, document["finetune"])
            variants = {role(climb) for name, climb in climbs.items() if name not in arms}
            for arm in [name for name in climbs if name not in arms and len(ladder.starts) == 1]:
                if not any(climbs[arm] == climb for climb in arms.values()):
                    line = f"{file}: finetune.{arm}: on {task}, no step compares an arm that is fine-tuned otherwise"
                    lines.setdefault((task, arm), f"{line}; write these values into {ALL} or {task} for all arms")
            for arm in uncompared(arms):
                more = advice(arms, [arm], every)
                is_there = more is not None and more.role in variants
                beside = f" {would_show(more).en}" if more is not None and not is_there else ""
                line = f"{file}: ladder.arms.{arm}: on {task}, no step compares this arm with another.{beside}"
                lines.setdefault((task, arm), line)
    yield from lines.values()


def _cell(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """There is a task and a cell: else `compare` has nothing to read."""
    tasks = document["collect_task"]
    if not tasks:
        remedy = "add a labelled set: `adaptbert add-task FILE...`"
        yield BadParams(Code.UNKNOWN_KEY, f"{file}: collect_task", "no task, so nothing to compare", remedy)
    elif not any(ladder.arms_of(task, start) for task in tasks for start in ladder.starts):
        problem = "no task has an arm from any start, so nothing to compare"
        remedy = "name a task and a start in an arm, or leave out its lists `tasks` and `starts`"
        yield BadParams(Code.CONTRADICTION, f"{file}: ladder.arms", problem, remedy)


def _keys(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """A rung is a file and a folder by its key, so the corpora of one arm cannot be too many."""
    longest: dict[str, str] = {}
    for task in document["collect_task"]:
        for start in ladder.starts:
            for name, arm in ladder.arms_of(task, start).items():
                key = rung_key(arm.climb, task, start, ladder.draws)
                longest[name] = max(longest.get(name, ""), key, key=len)
    for name, key in longest.items():
        if len(key) > MOST_OF_KEY:
            problem = f"its longest key has {len(key)} characters, more than {MOST_OF_KEY}: {shortened(key)}"
            remedy = "give the corpora shorter names, or name fewer in the list"
            yield BadParams(Code.BAD_NAME, f"{file}: ladder.arms.{name}.domain_transfer", problem, remedy)


def _general(document: Mapping[str, Any], file: Path) -> Iterator[UserError]:
    if GENERAL not in document["collect"]:
        remedy = "name the text that pretrain is trained on so"
        yield BadParams(Code.UNKNOWN_KEY, f"{file}: collect", f"no corpus '{GENERAL}'", remedy)


def _vocabularies(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """A start with random weights needs a vocabulary to train; corpora that are read for one exist."""
    for start, weights in ladder.starts.items():
        values = blocks.in_force(document["tokenizer"], [start])
        lacking = [key for key in OF_VOCABULARIES if values.get(key) in (None, [])]
        if weights["init"] == RANDOM and lacking:
            problem = f"start '{start}' has random weights, so its vocabulary is trained: {', '.join(lacking)} missing"
            yield BadParams(Code.CONTRADICTION, f"{file}: tokenizer.{ALL}", problem, "add it, as in presets/demo.yaml")
        yield from _no_corpora(document, ["corpora"], [start], file)
        yield from _no_corpora(document, ["extend", "corpora"], [start], file)


def _no_corpora(
    document: Mapping[str, Any], path: Sequence[str], names: Sequence[str], file: Path
) -> Iterator[UserError]:
    """Names in a list of corpora of the section `tokenizer` that are those of none."""
    section, corpora, labelled = document["tokenizer"], document["collect"], document["collect_task"]
    named: Any = blocks.in_force(section, names)
    for part in path:
        named = named.get(part) or {}  # a key may say null
    place = ".".join(["tokenizer", blocks.owner(section, names, path), *path])
    for name in named:
        if name in labelled and name not in corpora:
            problem = f"'{name}' is a labelled set, and a vocabulary is trained on corpora"
            remedy = "put its text into a corpus of collect, and name that"
            yield BadParams(Code.UNKNOWN_KEY, f"{file}: {place}", problem, remedy)
        else:
            yield from ladder_rules.unknown(file, place, [name], corpora, "collect")


def _shapes(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """The options of a task must fit its task type."""
    section = document["finetune"]
    for task, names in _cells(document, ladder):
        collected, values = document["collect_task"][task], blocks.in_force(section, names)
        written = {name: values[name] for name in SHAPES if name in values}
        options = ShapeConfig.model_validate(written)
        if conflict := mismatch(options, collected["shape"], values["max_length"]):
            block = blocks.owner(section, names, [next(iter(written))]) if written else task
            yield BadParams(Code.CONTRADICTION, f"{file}: finetune.{block}", *conflict)
        has_classes = TARGETS[collected["target"]].has_confidence
        for key in sorted(key for key in OF_CLASSES if values.get(key) is not None and not has_classes):
            place = f"{file}: finetune.{blocks.owner(section, names, [key])}.{key}"
            problem = f"{key} and target '{collected['target']}': regression has no classes"
            yield BadParams(Code.CONTRADICTION, place, problem, "remove the key")


def _lengths(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """Documents must fit the positions of the encoder; a checkpoint has its own number of positions."""
    read = [("tokenize", [start]) for start in ladder.starts]
    read += [("finetune", names) for _, names in _cells(document, ladder)]
    for stage, names in read:
        encoder, length = ladder.starts[names[0]].get("encoder"), blocks.in_force(document[stage], names)["max_length"]
        if encoder is not None and length > encoder["max_positions"]:
            block, positions = blocks.owner(document[stage], names, ["max_length"]), encoder["max_positions"]
            problem = f"max_length {length} > ladder.starts.{names[0]}.encoder.max_positions {positions}"
            remedy = f"write at most {positions}, or raise max_positions"
            yield BadParams(Code.CONTRADICTION, f"{file}: {stage}.{block}.max_length", problem, remedy)
