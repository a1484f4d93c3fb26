"""The ladder of a recipe: which rungs are trained, and which rung each arm of each task starts from.

DVC reads the same section to make its stages (dvc.yaml), so that a cell that is not listed here does not exist.
"""

from typing import Annotated

from pydantic import Field

from adaptbert.base.config import Config

SCRATCH = "scratch"
PRETRAIN = "pretrain"
GENERAL = "general"
"""The corpus that `pretrain` is trained on; dvc.yaml names it."""


class TaskRung(Config):
    """One task-transfer rung."""

    task: str
    start: Annotated[str, Field(alias="from")]
    """The rung that it starts from: a folder below models/, such as `domain_transfer/domain`."""


class Cell(Config):
    """One task x arm."""

    task: str
    arm: str
    start: Annotated[str, Field(alias="from")]


class LadderConfig(Config):
    """Which rungs and cells exist."""

    domain_transfer: list[str]
    """Corpora to transfer to. `general` is the control: as much further training, on general text."""
    task_transfer: dict[str, TaskRung]
    finetune: dict[str, Cell]

    def rungs(self) -> list[str]:
        """Every rung by the folder of its checkpoint below models/, in the order of training; `scratch` first."""
        return list(self.starts())

    def starts(self) -> dict[str, str | None]:
        """Every rung -> the rung that it starts from."""
        starts: dict[str, str | None] = {SCRATCH: None, PRETRAIN: SCRATCH}
        starts |= {f"domain_transfer/{corpus}": PRETRAIN for corpus in self.domain_transfer}
        return starts | {f"task_transfer/{key}": rung.start for key, rung in self.task_transfer.items()}

    def arms_of(self, task: str) -> dict[str, str]:
        """Each arm of a task -> the rung that it starts from."""
        return {cell.arm: cell.start for cell in self.finetune.values() if cell.task == task}

    def tasks(self) -> list[str]:
        """Tasks that have a cell, in the order of their first cell."""
        return list(dict.fromkeys(cell.task for cell in self.finetune.values()))

    def arms(self) -> list[str]:
        """Arms that have a cell, in the order of their first cell."""
        return list(dict.fromkeys(cell.arm for cell in self.finetune.values()))
