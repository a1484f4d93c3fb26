"""release.json: which model a release is, what supports it, and from which files it was made."""

from pathlib import Path
from typing import Literal, Self

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
    """Of an encoder; of a linear model the name of its baseline."""
    base: str
    """The name in params.yaml; empty for a linear model."""
    replicate: int
    """Of the checkpoint that was fine-tuned; 0 where it is trained once, and for a linear model."""
    seed: int
    """Of the fine-tuning; 0 for a linear model."""
    cell: str
    """Key of `plan.finetune` and folder of models/finetune; empty for a linear model."""
    type: Type
    """Of the task."""
    metric: str
    score: float
    """Of the arm on the test split, the mean of its runs; of a linear model its own."""
    low: float | None
    high: float | None
    """The interval of `score`; null where nothing was repeated."""
    supported: bool
    """Whether it is the model that the report says to take."""
    reason: str
    """Why another one was taken; empty where it is supported."""
    adaptbert: str
    """Version of the library."""
    commit: str
    """Of git; empty without git."""
    made_from: dict[str, str]
    """Path in the project -> md5 as in dvc.lock."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The record in the folder of a release.

        Raises:
            BadData: it is no JSON, a field is missing or of another type, or there is one that is unknown.
        """
        return super().read(folder / FILE)
