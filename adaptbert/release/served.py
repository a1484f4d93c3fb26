"""A release behind `mlflow models serve`. The registry keeps a copy of this file, which MLflow runs to load a model.

The body of a request is {"inputs": [row, ...]}, with a row as `Predictor.answers` takes it, and the response has an
answer for each, in their order. A row that cannot be answered has an `error`; the others do not notice.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from mlflow.models import set_model
from mlflow.pyfunc import PythonModel

from adaptbert.prediction.predictor import Answer, Predictor
from adaptbert.release.record import MODEL

RELEASE = "release"
"""The name of the folder among the artifacts of a model."""
PARAMS = {"probabilities": False}
"""What a request may set under `params`, and its defaults."""
LONGEST = 100_000
"""Characters of a row. One of a million, read in windows, would keep all others waiting for a minute."""

# MLflow warns that it does not check rows. It may not: for one, which has an error of its own, it would refuse all.
logging.getLogger("mlflow.types.type_hints").setLevel(logging.ERROR)


class Served(PythonModel):  # type: ignore[misc]  # no type information is shipped with MLflow
    """The model of a release, for requests that come side by side."""

    def load_context(self, context: Any) -> None:
        """Opens the model."""
        self._predictor = Predictor.load(Path(context.artifacts[RELEASE]) / MODEL)
        self._lock = Lock()

    def predict(
        self, model_input: list[dict[str, Any] | list[str] | str], params: dict[str, Any] | None = None
    ) -> list[Mapping[str, Any]]:
        """The answers to rows."""
        options = {**PARAMS, **(params or {})}
        return [*self._in_turn(self._predictor.answers(model_input, **options, longest=LONGEST))]

    def _in_turn(self, answers: Iterator[Answer]) -> Iterator[Answer]:
        """The same answers. MLflow calls from many threads, and two cannot use one tokenizer at a time; so a request
        waits for a batch of each other, not for all of its rows."""
        while True:
            with self._lock:
                answer = next(answers, None)
            if answer is None:
                return
            yield answer


set_model(Served())
