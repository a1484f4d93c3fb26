"""A release behind `mlflow models serve`. The registry keeps a copy of this file, which MLflow runs to load a model.

The body of a request is {"inputs": [row, ...]}, with a row as `Predictor.answers` takes it, and the response has an
answer for each, in their order. A row that cannot be answered has an `error`; the others do not notice.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from mlflow.models import set_model
from mlflow.pyfunc import PythonModel

from adaptbert.prediction.predictor import Predictor
from adaptbert.release.record import MODEL

RELEASE = "release"
"""The name of the folder among the artifacts of a model."""
PARAMS = {"probabilities": False}
"""What a request may set under `params`, and its defaults."""

# MLflow warns that it does not check rows. It may not: it would refuse all of them for one, which has an error of its own.
logging.getLogger("mlflow.types.type_hints").setLevel(logging.ERROR)


class Served(PythonModel):
    """The model of a release, for requests that come side by side."""

    def load_context(self, context: Any) -> None:
        """Opens the model."""
        self._predictor = Predictor.load(Path(context.artifacts[RELEASE]) / MODEL)
        # MLflow calls from many threads, and a tokenizer that two of them use fails; each row has all cores this way.
        self._lock = Lock()

    def predict(
        self, model_input: list[dict[str, Any] | list[str] | str], params: dict[str, Any] | None = None
    ) -> list[Mapping[str, Any]]:
        """The answers to rows."""
        options = {**PARAMS, **(params or {})}
        with self._lock:
            return [*self._predictor.answers(model_input, **options, stops=False)]


set_model(Served())
