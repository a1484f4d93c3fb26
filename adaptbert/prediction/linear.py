"""The linear model that the report compares with, as a predictor: fitted on the labels of the task, in seconds."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from adaptbert.codes import Code
from adaptbert.comparison.baselines import fitted, fitted_on
from adaptbert.data import labelled_set
from adaptbert.data.rows import Row
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData, BadParams
from adaptbert.prediction.predictor import Answer, Predictor

TASKS = Path("data/validated/tasks")


class LinearPredictor(Predictor):
    """A linear model of all training rows, also where each seed of the comparison has some of them. See `load`."""

    _model: Callable[[Sequence[Any]], list[Any]]

    @classmethod
    def load(cls, folder: str | Path, precision: str | None = None) -> Self:
        """The one of the task that the checkpoint in a folder was fine-tuned on.

        Raises:
            BadData: no fine-tuned checkpoint; the labels of its task do not lie here.
        """
        predictor = super().load(folder, precision)
        data = TASKS / predictor.task_name
        if not data.is_dir():
            remedy = "run this in the folder of the project, after `dvc repro validate`"
            raise BadData(Code.FILE, data, "no such folder, and the linear model is fitted on its labels", remedy)
        task = TaskDescription.read(data)
        train, dev = (fitted_on(task, labelled_set.split(data, split)) for split in ("train", "dev"))
        *_, predictor._model = fitted(task, train, dev, seed=1).values()
        return predictor

    def _predicted(self, rows: list[Row], *, probabilities: bool) -> list[Answer]:
        if probabilities:
            raise BadParams(Code.CONTRADICTION, "--probabilities", "a linear model gives none here", "leave it out")
        return self._shown(rows, self._model([row.values for row in rows]))
