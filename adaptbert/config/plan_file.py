"""plan.json: made of params.yaml and the code by `adaptbert plan`, and held against them before anything runs.

DVC reads both files before its first stage, so a stage cannot write this one for the run that it is in.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config import plan as planning
from adaptbert.config.code_digest import ROOT, code_digest
from adaptbert.config.plan import FINETUNE, MEASURE, PRETRAIN, SCRATCH, UNCHANGED, Entry, Plan
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import DOMAIN, FOLDERS, GENERAL, RANDOM, TRANSFERS, TrainedOn
from adaptbert.config.schema.section import Section
from adaptbert.core.files import atomic_write
from adaptbert.errors import BadParams, UserError, raise_all, shortened

CORPORA, TOKENIZED = "data/validated/corpora", "data/tokenized"
"""Outputs of dvc.yaml that a project may lack."""
_MOST_SHOWN = 3


def plan(recipe: Recipe) -> Plan:
    """What params.yaml and the code stand for today."""
    return expand(recipe).model_copy(update={"code": {stage: code_digest(stage) for stage in stages()}})


def stages() -> list[str]:
    """Those whose code decides what they write."""
    return sorted(path.stem for path in (ROOT / "stages").glob("*.py") if path.stem not in ("__init__", "plan"))


# ---- params.yaml -> entries


def expand(recipe: Recipe) -> Plan:
    """Every checkpoint that an arm of a task needs, and every cell; without the code."""
    return _Expansion(recipe).plan()


class _Expansion:
    """The entries of a recipe.

    Attributes:
        transfers: stage -> the checkpoints above general pre-training, by key; they are found with the cells.
        random: bases with an arm that begins with random weights.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.transfers: dict[str, dict[str, Entry]] = {stage: {} for stage in TRANSFERS}
        self.random: dict[str, None] = {}

    def plan(self) -> Plan:
        recipe = self.recipe
        tables: dict[str, Any] = {"tokenizer": {}, "tokenize": {}, PRETRAIN: {}}
        tables["collect"] = {name: Entry(path=each.path, values=_dumped(each)) for name, each in recipe.corpora.items()}
        tables["collect_task"] = {
            name: Entry(train=each.train, dev=each.dev, test=each.test, values=_dumped(each))
            for name, each in recipe.tasks.items()
        }
        sets = {"corpora": list(recipe.corpora), "tasks": list(recipe.tasks)}
        tables["validate"] = {"limits": _dumped(recipe.limits), **sets}
        for base, weights in recipe.bases.items():
            names, of_base = {"base": base}, {"base": _dumped(weights)}
            folder = f"{FOLDERS}{base}"
            init = folder if weights.checkpoint == folder else UNCHANGED
            vocabulary, documents = recipe.values("tokenizer", names), recipe.values("tokenize", names)
            text, values = CORPORA if recipe.corpora else UNCHANGED, of_base | {"tokenizer": _dumped(vocabulary)}
            tables["tokenizer"][base] = Entry(base=base, init=init, text=text, values=values)
            watched, values = documents.words.dictionary, {"tokenize": _dumped(documents)}
            tables["tokenize"][base] = Entry(base=base, dictionary=watched, values=values)
            values = of_base | self._measured_with(base) | self._overrides(PRETRAIN, names)
            text, heldout = (
                f"{TOKENIZED}/{base}/{kind}/{GENERAL}" if recipe.has_general_text else UNCHANGED
                for kind in ("corpora", "heldout")
            )
            tables[PRETRAIN][base] = Entry(base=base, init=init, text=text, heldout=heldout, values=values)
        tables |= {FINETUNE: self._cells()} | self.transfers
        return Plan.model_validate(tables | {MEASURE: self._measured()})

    def _cells(self) -> dict[str, Entry]:
        cells = {}
        for names in self.recipe.cells():
            base, task, arm = names["base"], names["task"], names["arm"]
            trained_on = self.recipe.arms[arm].trained_on
            for replicate in range(1, self.recipe.compare.replicates + 1) if trained_on.steps else (0,):
                checkpoint = self._checkpoint(trained_on, task, base, replicate)
                key = "-".join([task, arm, base, *([str(replicate)] if replicate else [])])
                cells[key] = self._entry(FINETUNE, checkpoint, replicate, task=task, arm=arm, base=base)
        return cells

    def _checkpoint(self, trained_on: TrainedOn, task: str, base: str, replicate: int) -> str:
        """The folder of the checkpoint; it and those below it are added to the tables."""
        if trained_on.steps:
            key, stage = key_of(trained_on, task, base, replicate), trained_on.steps[-1]
            below = self._checkpoint(trained_on.below, task, base, replicate)
            self.transfers[stage][key] = self._entry(stage, below, replicate, **trained_on.names(task), base=base)
            return f"{stage}/{key}"
        if trained_on.is_random:
            self.random.setdefault(base)
        return f"{SCRATCH if trained_on.is_random else PRETRAIN}/{base}"

    def _measured(self) -> dict[str, Entry]:
        """Every checkpoint that an arm needs, and every base.

        Bases, corpora and tasks have different names, so the keys of two stages are never equal.
        """
        checkpoints = [(f"{RANDOM}-{base}", f"{SCRATCH}/{base}", base, 0) for base in self.random]
        checkpoints += [(base, f"{PRETRAIN}/{base}", base, 0) for base in self.recipe.bases]
        for stage, table in self.transfers.items():
            checkpoints += [(key, f"{stage}/{key}", each.base, each.replicate) for key, each in table.items()]
        return {key: self._entry(MEASURE, folder, replicate, base=base) for key, folder, base, replicate in checkpoints}

    def _entry(self, stage: str, checkpoint: str, replicate: int, **names: str) -> Entry:
        values = {} if stage == FINETUNE else self._measured_with(names["base"])
        values |= self._overrides(stage, names)
        if stage in TRANSFERS:
            own = names.get("task") or names["corpus"]
            is_control = own == GENERAL and DOMAIN in self.recipe.corpora
            names["beside"] = DOMAIN if is_control else GENERAL if self.recipe.has_general_text else own
        return Entry.model_validate({**names, "replicate": replicate, "from": checkpoint, "values": values})

    def _measured_with(self, base: str) -> dict[str, Any]:
        return {"seed": self.recipe.seed, "measure": _dumped(self.recipe.values(MEASURE, {"base": base}))}

    def _overrides(self, stage: str, names: Mapping[str, str]) -> dict[str, Any]:
        differing = self.recipe.overriding(stage, names)
        return {"overrides": differing} if differing else {}


def key_of(trained_on: TrainedOn, task: str, base: str, replicate: int) -> str:
    """Of a checkpoint above general pre-training: task (of task transfer), corpora, base and replicate."""
    return "-".join([*trained_on.path(task), base, str(replicate)])


def _dumped(section: Section) -> dict[str, Any]:
    return section.model_dump(exclude_none=True)


# ---- entries <-> the file


def text(planned: Plan) -> str:
    """As the file has it: a line for each entry, so that a diff shows what is more and what is fewer.

    JSON, because DVC reads the file for every stage: of 400 entries, `dvc status` took four times as long with YAML.
    """
    tables = []
    for table, entries in planned.model_dump(by_alias=True, exclude_unset=True).items():
        lines = ",".join(f"\n   {_in_a_line(key)}: {_in_a_line(entry)}" for key, entry in entries.items())
        tables.append(f"\n  {_in_a_line(table)}: {{{lines}}}")
    return f'{{"plan": {{{",".join(tables)}\n}}}}\n'


def _in_a_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def write(planned: Plan, path: Path = planning.PLAN) -> None:
    """Replace the file."""
    with atomic_write(path) as part:
        part.write_text(text(planned), encoding="utf-8")


def check(recipe: Recipe, codes_of: Iterable[str] = (), path: Path = planning.PLAN) -> None:
    """Raise where the file is not what params.yaml stands for: more, fewer or other entries, or in another order.

    Args:
        codes_of: the stages whose code is looked at as well.
    """
    raise_all(errors(recipe, codes_of, path))


def errors(recipe: Recipe, codes_of: Iterable[str] = (), path: Path = planning.PLAN) -> list[UserError]:
    """The error that `check` raises, if there is one."""
    try:
        written = planning.read(path)
    except UserError as error:
        return [error]
    before, after = _by_address(written), _by_address(expand(recipe))
    differences = [
        *_named("missing", [entry for entry in after if entry not in before]),
        *_named("to be removed", [entry for entry in before if entry not in after]),
        *_named("different", [entry for entry in after if entry in before and after[entry] != before[entry]]),
    ]
    if not differences and [*before] != [*after]:  # the report has this order, and DVC compares params without it
        moved = dict.fromkeys(one.partition("@")[0] for one, other in zip(before, after, strict=True) if one != other)
        differences = [f"in another order: {', '.join(moved)}"]
    if differences:
        return [
            BadParams(Code.PLAN_IS_OLD, path, f"older than {recipe.file}: {'; '.join(differences)}", planning.WRITE)
        ]
    if edited := [stage for stage in codes_of if code_digest(stage) != written.code.get(stage)]:
        return [BadParams(Code.PLAN_IS_OLD, path, f"older than the code of {', '.join(edited)}", planning.WRITE)]
    return []


def stages_of(planned: Plan) -> list[str]:
    """DVC's names of all that it makes of a plan, with the stages that are always there."""
    return ["plan", *_by_address(planned), "compare"]


def _by_address(planned: Plan) -> dict[str, Any]:
    """DVC's names of the stages, with their entries."""
    tables = planned.model_dump(by_alias=True, exclude={"code"})
    validate = tables.pop("validate")
    entries = {f"{table}@{key}": entry for table, each in tables.items() for key, entry in each.items()}
    return {"validate": validate} | entries


def _named(what: str, entries: list[str]) -> list[str]:
    shown = ", ".join(map(shortened, entries[:_MOST_SHOWN]))
    rest = f" and {len(entries) - _MOST_SHOWN} more" if len(entries) > _MOST_SHOWN else ""
    return [f"{what}: {shown}{rest}"] if entries else []
