"""The older schema: one start in `pretrain`, rungs and cells in tables. Every command and stage refuses it, once."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from adaptbert.base.config import Config
from adaptbert.base.expansion import DOMAIN_TRANSFER, PRETRAIN, SCRATCH, TASK_TRANSFER
from adaptbert.base.ladder import Climb
from adaptbert.codes import Code
from adaptbert.errors import BadParams, UserError

_TABLES = {"domain_transfer", "task_transfer", "finetune"}
_PRESENT = {"draws", "starts", "arms"}


class OlderRung(Config):
    """One rung of task transfer."""

    task: str
    start: Annotated[str, Field(alias="from")]
    """The rung that it starts from: a folder below models/."""


class OlderCell(Config):
    """One task x arm."""

    task: str
    arm: str
    start: Annotated[str, Field(alias="from")]


class OlderLadder(Config):
    """The tables of rungs and cells."""

    domain_transfer: list[str] = Field(default_factory=list)
    task_transfer: dict[str, OlderRung] = Field(default_factory=dict)
    finetune: dict[str, OlderCell] = Field(default_factory=dict)

    def climb(self, rung: str) -> Climb | None:
        """What the weights of a rung have been trained on; None: there is no such rung."""
        stage, _, key = rung.partition("/")
        if rung in (SCRATCH, PRETRAIN):
            return Climb(is_random=rung == SCRATCH)
        if stage == DOMAIN_TRANSFER and key in self.domain_transfer:
            return Climb(corpora=(key,))
        if stage == TASK_TRANSFER and key in self.task_transfer:
            below = self.climb(self.task_transfer[key].start)
            is_last = below is not None and not below.with_task_text
            return Climb(below.is_random, below.corpora, with_task_text=True) if below and is_last else None
        return None

    def rungs(self) -> list[str]:
        """Every rung above general pre-training, by its folder below models/."""
        texts = [f"{TASK_TRANSFER}/{key}" for key in self.task_transfer]
        return [*(f"{DOMAIN_TRANSFER}/{corpus}" for corpus in self.domain_transfer), *texts]


def is_older(document: Mapping[str, Any]) -> bool:
    """Whether a file is of the older schema: a ladder of tables, or one start in `pretrain`."""
    ladder, pretrain = document.get("ladder", {}), document.get("pretrain", {})
    if not isinstance(ladder, Mapping) or _PRESENT & ladder.keys():
        return False
    return bool(_TABLES & ladder.keys()) or (isinstance(pretrain, Mapping) and "init" in pretrain)


def refuse(document: Mapping[str, Any], file: Path) -> None:
    """Raise for a file of the older schema: one error in place of one for every key, with the ladder that it becomes.

    Raises:
        BadParams: it is one.
    """
    if is_older(document):
        problem = "of an older schema, with rungs and cells in tables and one start in pretrain"
        remedy = "run `adaptbert migrate`, which rewrites it, and keeps your values, your comments and the older file"
        raise BadParams(Code.OLDER_PARAMS, file, problem, f"{remedy}{_as_new(document, file)}")


def _as_new(document: Mapping[str, Any], file: Path) -> str:
    """The new section, if there can be one; else `adaptbert migrate` says what is in the way."""
    migration = import_module("adaptbert.project.migration.document")  # only here, because every stage passes by
    ladder_text = import_module("adaptbert.project.migration.ladder_text")
    try:
        new = migration.migrated(document, file)
    except UserError:
        return ""
    return f"; its ladder will be\n\n{ladder_text.text(new.document['ladder'])}"
