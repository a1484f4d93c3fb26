"""release.json: which model a release is, what supports it, and from which files it was made."""

from pathlib import Path
from typing import Literal

from adaptbert.config.schema.task_types import Type
from adaptbert.core.record import Record

RELEASES = Path("releases")
FILE, MODEL, PREDICTIONS, SUMS = "release.json", "model", "predictions.parquet", "SHA256SUMS"


class Release(Record):
    """The record of a release, which is the folder `releases/<task>/<version>`."""

    task: str
    version: int
    kind: Literal["encoder", "linear"]
    arm: str
    """Name of the arm; of a linear model, of its baseline."""
    base: str
    """The name in params.yaml; empty for a linear model."""
    replicate: int
    """Number of the checkpoint that was fine-tuned; 0 where it is trained once, and for a linear model."""
    seed: int
    """Seed of the fine-tuning; 0 for a linear model."""
    cell: str
    """Key of `plan.finetune` and folder of models/finetune; empty for a linear model."""
    type: Type
    """Type of the task."""
    metric: str
    score: float
    """Score on the test split that is to be expected: the mean of the runs of the arm, or that of the baseline."""
    low: float | None
    high: float | None
    """The interval of `score`; null where nothing was repeated."""
    supported: bool
    """Whether it is the model of the report's answer, and nothing is open about it."""
    reason: str
    """Reason why it was named; empty where it was not."""
    adaptbert: str
    """Version of the library."""
    commit: str
    """Commit of git; empty without git."""
    made_from: dict[str, str]
    """Path in the project -> md5 as in dvc.lock, of all that model and comparison were made from."""

    @classmethod
    def numbers(cls, task: str) -> list[int]:
        """The numbers of the releases of a task, of which a clone may have the records of DVC alone."""
        names = {path.name.removesuffix(".dvc") for path in (RELEASES / task).glob("*")}
        return sorted(int(name) for name in names if name.isdecimal())
