"""plan.json: every stage that DVC makes of params.yaml, each with the names that it is made of.

DVC makes its stages from this file, because it cannot look up the checkpoint of an arm, count replicates or leave
combinations out (docs/decisions/0019). It holds names, and those values that DVC would not find: it stops at a key of
params.yaml that is missing. The values of `pretrain`, `domain_transfer`, `task_transfer`, `finetune` and `compare` stay
there, free for `dvc exp run -S`.

A checkpoint is named by what it was trained on and never by an arm, so arms with the same steps share it, and another
name of an arm trains none again. Its key is also its folder below models/<stage>, its metrics file and its MLflow run.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from adaptbert.codes import Code
from adaptbert.config.schema.bases import FOLDERS, Climb
from adaptbert.config.schema.section import Section
from adaptbert.core.seeds import seed_of
from adaptbert.errors import BadParams

if TYPE_CHECKING:
    from adaptbert.config.recipe import Recipe

SCRATCH, PRETRAIN, DOMAIN_TRANSFER, TASK_TRANSFER = "scratch", "pretrain", "domain_transfer", "task_transfer"
MEASURE, FINETUNE = "measure", "finetune"
RANDOM = "none"
"""Stands in the key of a checkpoint before its corpora where the weights began at random."""

PLAN = Path("plan.json")
MOST_BYTES = 30_000_000
"""Of plan.json: some 70,000 checkpoints and cells, far more than DVC can run."""
WRITE = "run `adaptbert plan`, which writes it from params.yaml, then the same command again"

Values = dict[str, Any]
"""Values in force, for DVC to compare."""


def seed_of_replicate(seed: int, replicate: int) -> int:
    """The first replicate has the seed of params.yaml, so that one is what it was before there were several."""
    return seed if replicate <= 1 else seed_of(seed, f"draw {replicate}")


class CorpusEntry(Section):
    """A corpus that is collected, and what DVC watches of it."""

    path: str
    values: Values


class TaskEntry(Section):
    """A labelled set that is collected, and the files or folders that DVC watches of it."""

    train: str
    dev: str
    test: str
    values: Values


class Entry(Section):
    """A stage that is made of names: the vocabulary or text of a base, a checkpoint, its measures, or the fine-tuning
    of a task by an arm (a cell), whose seeds are repeated inside."""

    base: str
    init: str = ""
    """What DVC watches of the weights of a base: the folder of a checkpoint, or a file that never changes."""
    dictionary: str = ""
    """Of the words of a base, which DVC watches."""
    replicate: int = 0
    """From 1; 0: a checkpoint, or a cell on one, that has no replicates."""
    checkpoint: Annotated[str, Field(alias="from")] = ""
    """What it starts from or measures: a folder below models/."""
    corpus: str = ""
    task: str = ""
    arm: str = ""
    values: Values = Field(default_factory=dict)
    """Those that do not stand in a section of the stage's name: of other sections, and `overrides` by name."""

    @property
    def has_own_values(self) -> bool:
        """Whether its arm is fine-tuned otherwise than others."""
        return self.arm in self.values.get("overrides", {})

    def names(self) -> dict[str, str]:
        """What it is made of: base, replicate, corpus, task, arm."""
        names = {name: getattr(self, name) for name in ("base", "corpus", "task", "arm")}
        replicate = {"replicate": str(self.replicate)} if self.checkpoint else {}
        return {name: value for name, value in names.items() if value} | replicate


class Plan(Section):
    """All entries by key; the names of the tables are those of the stages."""

    code: dict[str, str] = Field(default_factory=dict)
    """Stage -> a digest of the code that decides what it writes (adaptbert.config.code_digest)."""
    collect: dict[str, CorpusEntry] = Field(default_factory=dict)
    collect_task: dict[str, TaskEntry] = Field(default_factory=dict)
    validation: Values = Field(alias="validate", default_factory=dict)
    tokenizer: dict[str, Entry] = Field(default_factory=dict)
    tokenize: dict[str, Entry] = Field(default_factory=dict)
    pretrain: dict[str, Entry] = Field(default_factory=dict)
    domain_transfer: dict[str, Entry] = Field(default_factory=dict)
    task_transfer: dict[str, Entry] = Field(default_factory=dict)
    measure: dict[str, Entry] = Field(default_factory=dict)
    finetune: dict[str, Entry] = Field(default_factory=dict)
    compare: Values = Field(default_factory=dict)

    def parents(self) -> dict[str, str | None]:
        """Every checkpoint by its folder below models/ -> the one that it starts from; in the order of training."""
        found: dict[str, str | None] = {}
        for base in self.pretrain:
            found |= {f"{SCRATCH}/{base}": None, f"{PRETRAIN}/{base}": f"{SCRATCH}/{base}"}
        found |= {f"{DOMAIN_TRANSFER}/{key}": entry.checkpoint for key, entry in self.domain_transfer.items()}
        return found | {f"{TASK_TRANSFER}/{key}": entry.checkpoint for key, entry in self.task_transfer.items()}

    def shown(self) -> dict[str, str]:
        """Folder of a checkpoint -> its name in tables and on the page: by base and replicate only where there are
        several."""
        several_bases = len(self.pretrain) > 1
        trained = (*self.domain_transfer.values(), *self.task_transfer.values())
        several_replicates = len({entry.replicate for entry in trained}) > 1
        names = {}
        for folder in self.parents():
            stage, _, key = folder.partition("/")
            if stage in (SCRATCH, PRETRAIN):
                names[folder] = folder if several_bases else stage
                continue
            entry = self.domain_transfer[key] if stage == DOMAIN_TRANSFER else self.task_transfer[key]
            path = key.removesuffix(f"-{entry.base}-{entry.replicate}")
            own = [*([entry.base] if several_bases else []), *([str(entry.replicate)] if several_replicates else [])]
            names[folder] = f"{stage}/{'-'.join([path, *own])}"
        return names

    def climb(self, folder: str) -> Climb:
        """What the weights of a checkpoint have been trained on."""
        stage, _, key = folder.partition("/")
        if stage in (SCRATCH, PRETRAIN):
            return Climb(is_random=stage == SCRATCH)
        if stage == DOMAIN_TRANSFER:
            below = self.climb(self.domain_transfer[key].checkpoint)
            return Climb(below.is_random, (*below.corpora, self.domain_transfer[key].corpus))
        below = self.climb(self.task_transfer[key].checkpoint)
        return Climb(below.is_random, below.corpora, with_task_text=True)


class _File(Section):
    """plan.json as a whole: another key beside `plan` would be a variable of dvc.yaml, or replace one."""

    plan: Plan


def read(path: Path = PLAN) -> Plan:
    """plan.json as it is.

    Raises:
        BadParams: missing, no file, or not what `adaptbert plan` writes.
    """
    if path.is_dir():
        raise BadParams(Code.PLAN_IS_OLD, path, "a folder, not a file", f"move it away, then {WRITE}")
    if not path.is_file():
        raise BadParams(Code.PLAN_IS_OLD, path, "the file is missing", WRITE)
    if path.stat().st_size > MOST_BYTES:
        problem = f"larger than {MOST_BYTES // 10**6} MB"
        raise BadParams(Code.PLAN_IS_OLD, path, problem, f"name fewer arms, tasks or replicates, then {WRITE}")
    try:
        return _File.model_validate(json.loads(path.read_text(encoding="utf-8"))).plan
    except (ValueError, RecursionError):  # the last: nested thousands deep
        raise BadParams(Code.PLAN_IS_OLD, path, "not a file of `adaptbert plan`", WRITE) from None


def expand(recipe: "Recipe") -> Plan:
    """Every checkpoint that an arm of a task needs, and every cell; without the code."""
    return _Tables(recipe).filled()


class _Tables:
    """The tables of a plan while they are filled."""

    def __init__(self, recipe: "Recipe") -> None:
        self._recipe = recipe
        self._domain: dict[str, Entry] = {}
        self._task: dict[str, Entry] = {}
        self._random: dict[str, None] = {}

    def filled(self) -> Plan:
        recipe = self._recipe
        cells = {key: cell for task in recipe.tasks for base in recipe.bases for key, cell in self._cells(task, base)}
        return Plan.model_validate(
            {
                "collect": {
                    name: CorpusEntry(path=corpus.path, values=_dumped(corpus))
                    for name, corpus in recipe.corpora.items()
                },
                "collect_task": {
                    name: TaskEntry(
                        train=task.train,
                        dev=task.dev,
                        test=task.test,
                        values=_dumped(task),
                    )
                    for name, task in recipe.tasks.items()
                },
                "validate": {
                    "limits": _dumped(recipe.limits),
                    "corpora": list(recipe.corpora),
                    "tasks": list(recipe.tasks),
                },
                "tokenizer": {base: self._of_base("tokenizer", base, init=self._init(base)) for base in recipe.bases},
                "tokenize": {
                    base: self._of_base("tokenize", base, dictionary=self._dictionary(base)) for base in recipe.bases
                },
                "pretrain": {base: self._of_base(PRETRAIN, base, init=self._init(base)) for base in recipe.bases},
                "domain_transfer": self._domain,
                "task_transfer": self._task,
                "measure": self._measured(),
                "finetune": cells,
                "compare": {"again": recipe.again},
            }
        )

    def _cells(self, task: str, base: str) -> Iterator[tuple[str, Entry]]:
        count = self._recipe.compare.replicates
        for arm, config in self._recipe.arms_of(task, base).items():
            climb = config.climb
            first = count + 1 if config.again is not None else 1  # an A/A arm has the replicates after
            replicates = range(first, first + count) if climb.corpora or climb.with_task_text else (0,)
            for replicate in replicates:
                checkpoint = self._checkpoint(climb, task, base, replicate)
                key = "-".join([task, arm, base, *([str(replicate)] if replicate else [])])
                yield key, self._entry(FINETUNE, checkpoint, replicate, task=task, arm=arm, base=base)

    def _checkpoint(self, climb: Climb, task: str, base: str, replicate: int) -> str:
        """The folder of the checkpoint; it and those below it are added to the tables."""
        if climb.with_task_text:
            below = self._checkpoint(Climb(climb.is_random, climb.corpora), task, base, replicate)
            key = key_of(climb, task, base, replicate)
            self._task[key] = self._entry(TASK_TRANSFER, below, replicate, task=task, base=base)
            return f"{TASK_TRANSFER}/{key}"
        if climb.corpora:
            below = self._checkpoint(Climb(climb.is_random, climb.corpora[:-1]), task, base, replicate)
            key = key_of(climb, task, base, replicate)
            self._domain[key] = self._entry(DOMAIN_TRANSFER, below, replicate, corpus=climb.corpora[-1], base=base)
            return f"{DOMAIN_TRANSFER}/{key}"
        if climb.is_random:
            self._random.setdefault(base)
        return f"{SCRATCH if climb.is_random else PRETRAIN}/{base}"

    def _measured(self) -> dict[str, Entry]:
        """Every checkpoint that an arm needs, and every base.

        Bases, corpora and tasks have different names, so the keys of two stages are never equal.
        """
        found = [(f"{RANDOM}-{base}", f"{SCRATCH}/{base}", base, 0) for base in self._random]
        found += [(base, f"{PRETRAIN}/{base}", base, 0) for base in self._recipe.bases]
        found += [(key, f"{DOMAIN_TRANSFER}/{key}", each.base, each.replicate) for key, each in self._domain.items()]
        found += [(key, f"{TASK_TRANSFER}/{key}", each.base, each.replicate) for key, each in self._task.items()]
        return {key: self._entry(MEASURE, folder, replicate, base=base) for key, folder, base, replicate in found}

    def _entry(self, stage: str, checkpoint: str, replicate: int, **names: str) -> Entry:
        values = {} if stage == FINETUNE else {"seed": self._recipe.seed, "measure": self._of_section(MEASURE, names)}
        if overrides := self._recipe.overriding(stage, names):
            values["overrides"] = overrides
        return Entry.model_validate({**names, "replicate": replicate, "from": checkpoint, "values": values})

    def _of_base(self, stage: str, base: str, **watched: str) -> Entry:
        recipe, names = self._recipe, {"base": base}
        values: Values = {} if stage == "tokenize" else {"base": _dumped(recipe.bases[base])}
        if stage == PRETRAIN:
            values |= {"seed": recipe.seed, "measure": self._of_section(MEASURE, names)}
            if overrides := recipe.overriding(stage, names):
                values["overrides"] = overrides
        else:
            values[stage] = self._of_section(stage, names)
        return Entry(base=base, values=values, **watched)  # type: ignore[arg-type]

    def _of_section(self, section: str, names: Mapping[str, str]) -> Values:
        return _dumped(self._recipe.values(section, names))

    def _init(self, base: str) -> str:
        folder = f"{FOLDERS}{base}"
        return folder if self._recipe.bases[base].checkpoint == folder else f"{FOLDERS}README.md"

    def _dictionary(self, base: str) -> str:
        return str(self._recipe.values("tokenize", {"base": base}).words.dictionary)


def _dumped(section: Section) -> Values:
    return section.model_dump(exclude_none=True)


def key_of(climb: Climb, task: str, base: str, replicate: int) -> str:
    """Of a checkpoint above general pre-training: task (of task transfer), corpora, base and replicate."""
    path = [*([task] if climb.with_task_text else []), *([RANDOM] if climb.is_random else []), *climb.corpora]
    return "-".join([*path, base, str(replicate)])
