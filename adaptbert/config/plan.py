"""plan.json: every stage that DVC makes of params.yaml, each with the names that it is made of.

DVC makes its stages from this file, because it cannot look up the checkpoint of an arm, count replicates or leave
combinations out (docs/decisions/0019). It holds names, and those values that DVC would not find: it stops at a key of
params.yaml that is missing. The values of `pretrain`, `domain_transfer`, `task_transfer`, `finetune` and `compare` stay
there, free for `dvc exp run -S`.

A checkpoint is named by what it was trained on and never by an arm, so arms with the same steps share it, and another
name of an arm trains none again. Its key is also its folder below models/<stage>, its metrics file and its MLflow run.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from adaptbert.codes import Code
from adaptbert.config.schema.bases import FOLDERS, TRANSFERS
from adaptbert.config.schema.section import Section
from adaptbert.core.seeds import seed_of
from adaptbert.errors import BadParams

SCRATCH, PRETRAIN, MEASURE, FINETUNE = "scratch", "pretrain", "measure", "finetune"
TRAINED = (PRETRAIN, *TRANSFERS, FINETUNE)
"""The stages that train, in the order in which they can run."""

PLAN = Path("plan.json")
WRITE = "run `adaptbert plan`, which writes it from params.yaml, then the same command again"

UNCHANGED = f"{FOLDERS}README.md"
"""A file that never changes: DVC cannot leave a path out, so it watches this one in the place of what is not there."""

Values = dict[str, Any]
"""Values in force, for DVC to compare."""


def seed_of_replicate(seed: int, replicate: int) -> int:
    """The first replicate has the seed of params.yaml, so that one is what it was before there were several."""
    return seed if replicate <= 1 else seed_of(seed, f"draw {replicate}")


class Entry(Section):
    """What DVC makes a stage of: the names and the values that it stands for, and the files that DVC watches."""

    path: str = ""
    """Path of a corpus; a task has three."""
    train: str = ""
    dev: str = ""
    test: str = ""
    base: str = ""
    init: str = ""
    """What DVC watches of the weights of a base: the folder of a checkpoint, or `UNCHANGED`."""
    text: str = ""
    """What DVC watches of the text of the stages of a base, which may have none: a folder, or `UNCHANGED`."""
    heldout: str = ""
    """The same of the held-out text of `pretrain`."""
    dictionary: str = ""
    """Dictionary of the words of a base, which DVC watches."""
    replicate: int = 0
    """The number, from 1; 0: a checkpoint that has no replicates, or a cell on one without a search."""
    checkpoint: Annotated[str, Field(alias="from")] = ""
    """What it starts from or measures: a folder below models/."""
    corpus: str = ""
    task: str = ""
    beside: str = ""
    """The text that a step is measured on beside its own, and that domain transfer replays: `general`; where there is
    no such corpus, its own. Of the control, which is trained on general text: `domain`, of which it is the control."""
    arm: str = ""
    values: Values = {}
    """Values outside of the section of the stage's name: of other sections, and `overrides` by name."""

    @property
    def has_own_values(self) -> bool:
        """Whether its arm is fine-tuned otherwise than others."""
        return self.arm in self.values.get("overrides", {})

    def names(self) -> dict[str, str]:
        """What it is made of: base, replicate, corpus, task, arm."""
        names = {name: getattr(self, name) for name in ("base", "corpus", "task", "arm")}
        replicate = {"replicate": str(self.replicate)} if self.checkpoint else {}
        return {name: value for name, value in names.items() if value} | replicate


Table = dict[str, Entry]


class Plan(Section):
    """All entries by key; the names of the tables are those of the stages."""

    code: dict[str, str] = {}
    """Stage -> a digest of the code that decides what it writes (adaptbert.config.code_digest)."""
    collect: Table = {}
    collect_task: Table = {}
    validation: Annotated[Values, Field(alias="validate")] = {}
    tokenizer: Table = {}
    tokenize: Table = {}
    pretrain: Table = {}
    domain_transfer: Table = {}
    task_transfer: Table = {}
    measure: Table = {}
    finetune: Table = {}
    """A cell: the fine-tuning of a task by an arm, whose seeds are repeated inside."""

    def below(self, checkpoint: str) -> Iterator[tuple[str, Entry]]:
        """The steps that led to a checkpoint, the last one first: the stage and the entry of each."""
        stage, _, key = checkpoint.partition("/")
        while stage != SCRATCH:
            entry = self.table(stage)[key]
            yield stage, entry
            stage, _, key = (entry.checkpoint or SCRATCH).partition("/")

    def table(self, stage: str) -> Table:
        """The table of this name."""
        table: Table = getattr(self, stage)
        return table


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
    try:
        return _File.model_validate(json.loads(path.read_text(encoding="utf-8"))).plan
    except (ValueError, RecursionError):  # the last: nested thousands deep
        raise BadParams(Code.PLAN_IS_OLD, path, "not a file of `adaptbert plan`", WRITE) from None
