"""The calls of MLflow, all of them from one thread (adaptbert.runtime.tracking.recorder)."""

import importlib
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adaptbert.runtime.redaction import redacted
from adaptbert.runtime.tracking.origin import Recipe
from adaptbert.runtime.tracking.store_state import StoreState

EXPERIMENT = "adaptbert"
KIND = {"mlflow.experimentKind": "custom_model_development"}
"""Makes the pages of newer versions of MLflow begin with runs, not with traces of language models."""
REFUSED = {401, 403, 408, 429}
"""HTTP statuses that concern the client, not a single call."""

# A dead server costs seconds, not the minutes of MLflow's defaults, and cannot ask for a longer wait.
DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",  # one line of ours says what failed
}
LIBRARIES = ("mlflow", "alembic", "sqlalchemy", "urllib3")


@dataclass
class Opened:
    """A run that is open.

    Attributes:
        last: by metric, the last step that an earlier process logged.
    """

    run_id: str
    last: dict[str, int] = field(default_factory=dict)


def project_root() -> Path:
    """The project's folder, also from a copy that `dvc exp run --temp` or `--queue` made below it."""
    here = Path.cwd().resolve()
    parts = here.parts
    for i in range(len(parts) - 2):
        if parts[i : i + 3] == (".dvc", "tmp", "exps"):
            return Path(*parts[:i])
    return here


def tracking_uri() -> str:
    """MLFLOW_TRACKING_URI, else mlflow.db in the project's folder by its absolute path."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{project_root() / 'mlflow.db'}"


def prepare(state: StoreState) -> None:
    """Slow steps that do not depend on the store: imports, and the tables of a new mlflow.db.

    MLflow takes ten seconds for the tables; stages that begin together wait for the one that creates them.
    """
    os.environ.update({name: os.environ.get(name, value) for name, value in DEFAULTS.items()})
    from mlflow import MlflowClient

    if not tracking_uri().startswith("http"):
        importlib.import_module(
            "mlflow.store.tracking.sqlalchemy_store"
        )  # else the first call imports it, within the time limit

    for library in LIBRARIES:
        logging.getLogger(library).setLevel(os.environ["MLFLOW_LOGGING_LEVEL"])
    if os.environ.get("MLFLOW_TRACKING_URI"):
        return
    with state.locked("tables"):
        if not (project_root() / "mlflow.db").is_file():
            MlflowClient(tracking_uri()).get_experiment_by_name(EXPERIMENT)


def is_down(error: Exception) -> bool:
    """Whether this error would recur with any other call; False: the store refused only this one."""
    ask = getattr(error, "get_http_status_code", None)  # an error of MLflow's, which need not be there
    status = ask() if ask is not None else 500
    return not 400 <= status < 500 or status in REFUSED


class Store:
    """The experiment of this project in the store that `tracking_uri` names; created where it is missing.

    Ends the runs that earlier processes left open.
    """

    def __init__(self, state: StoreState) -> None:
        from mlflow import MlflowClient

        self._client = MlflowClient(tracking_uri())
        self._state = state
        experiment = self._client.get_experiment_by_name(EXPERIMENT)
        if experiment is not None:
            self._experiment = experiment.experiment_id
        else:
            local = None if os.environ.get("MLFLOW_TRACKING_URI") else (project_root() / "mlartifacts").as_uri()
            self._experiment = self._client.create_experiment(EXPERIMENT, artifact_location=local, tags=KIND)
        state.down.unlink(missing_ok=True)
        for run_id in state.left_open():
            self._end(run_id)

    def open(self, tags: Mapping[str, str], earlier: str) -> Opened:
        """The run `earlier`, if it is still there, else a new one."""
        if earlier and self._is_active(earlier):
            self._client.update_run(earlier, status="RUNNING")
            self._client.set_tag(earlier, "resumed", "true")
            self._state.opened(earlier)
            names = self._client.get_run(earlier).data.metrics
            points = {name: self._client.get_metric_history(earlier, name) for name in names}
            return Opened(earlier, {name: max(point.step for point in points[name]) for name in points})
        run_id = self._client.create_run(self._experiment, tags=dict(tags)).info.run_id
        self._state.opened(run_id)
        return Opened(run_id)

    def recipe(self, recipe: Recipe) -> str:
        """The run of which the stages of a recipe are children; the first of them creates it.

        It is SCHEDULED until `conclude`, because no process belongs to it that could be killed.
        """
        with self._state.locked("recipe"):
            of_recipe = f"tags.stage = '{recipe.tags['stage']}' and tags.recipe = '{recipe.name}'"
            for run in self._client.search_runs([self._experiment], of_recipe, max_results=1):
                return str(run.info.run_id)
            run_id: str = self._client.create_run(self._experiment, tags=dict(recipe.tags)).info.run_id
            self._client.update_run(run_id, status="SCHEDULED")
        self.log_params(run_id, {name: redacted(str(value)) for name, value in recipe.params.items()})
        self.log_artifact(run_id, recipe.path.resolve(), None)
        return run_id

    def conclude(self, recipe: Recipe, metrics: Mapping[str, float]) -> None:
        """Log the results of the recipe and mark its run FINISHED."""
        run_id, now = self.recipe(recipe), time.time_ns() // 1_000_000
        self.log_metrics(Opened(run_id), [(name, value, now, 0) for name, value in metrics.items()])
        self._client.set_terminated(run_id, "FINISHED")

    def close(self, run_id: str, status: str) -> None:
        """FINISHED, FAILED or KILLED."""
        self._client.set_terminated(run_id, status)
        self._state.closed(run_id)

    def log_metrics(self, run: Opened, points: list[tuple[str, float, int, int]]) -> None:
        """Name, value, milliseconds since 1970, step; steps that an earlier process logged are left out."""
        from mlflow.entities import Metric

        rows = [Metric(name, value, when, step) for name, value, when, step in points if step > run.last.get(name, -1)]
        self._log("metrics", run.run_id, rows, 1000)

    def log_tags(self, run_id: str, tags: Mapping[str, str]) -> None:
        """Names for searching and grouping runs."""
        from mlflow.entities import RunTag

        self._log("tags", run_id, [RunTag(name, value) for name, value in tags.items()], 100)

    def log_params(self, run_id: str, params: Mapping[str, str]) -> None:
        """Dotted keys and values."""
        from mlflow.entities import Param

        self._log("params", run_id, [Param(name, value[:6000]) for name, value in params.items()], 100)

    def log_artifact(self, run_id: str, path: Path, folder: str | None) -> None:
        """A file, or a folder with its content, file by file, because MLflow's thread pool outlives this thread."""
        if path.is_dir():
            for inner in sorted(path.iterdir()):
                below = f"{folder}/{inner.name}" if folder else inner.name
                self.log_artifact(run_id, inner, below if inner.is_dir() else folder)
        else:
            self._client.log_artifact(run_id, str(path), folder)

    def log_text(self, run_id: str, text: str, name: str) -> None:
        """A small file from a string."""
        self._client.log_text(run_id, text, name)

    def log_input(self, run_id: str, name: str, digest: str, context: str) -> None:
        """A data set that was read."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        data = Dataset(name=name, digest=digest[:36], source_type="dvc", source=name)
        read = DatasetInput(data, [InputTag("mlflow.data.context", context)])
        self._client.log_inputs(run_id, datasets=[read])

    def _log(self, kind: str, run_id: str, rows: list[Any], size: int) -> None:
        """In several calls: MLflow refuses more than `size` rows of a kind in one."""
        for first in range(0, len(rows), size):
            self._client.log_batch(run_id, **{kind: rows[first : first + size]})

    def _is_active(self, run_id: str) -> bool:
        """False: the run was removed, or is in another store."""
        with _unless_gone():
            return bool(self._client.get_run(run_id).info.lifecycle_stage == "active")
        return False

    def _end(self, run_id: str) -> None:
        """A run whose process was killed, or lost the store, is incomplete."""
        with _unless_gone():
            self._client.set_tag(run_id, "record", "incomplete")
            self._client.set_terminated(run_id, "KILLED")
        self._state.closed(run_id)


@contextmanager
def _unless_gone() -> Iterator[None]:
    """In this block a run may be asked for that is not there."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        if is_down(error):
            raise
