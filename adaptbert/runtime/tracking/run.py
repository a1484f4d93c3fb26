"""Tracking: every stage is an MLflow run, in a SQLite file of the project unless MLFLOW_TRACKING_URI names a server.

Stages read nothing from it, and it cannot stop a stage: when the store does not answer, the stage prints a warning and
goes on without tracking.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from adaptbert.runtime.origin import Recipe, origin, run_name
from adaptbert.runtime.redaction import redacted
from adaptbert.runtime.signals import Interrupted
from adaptbert.runtime.tracking.store import SECONDS, Store

FLUSH_SECONDS = 10.0
FLUSH_ROWS = 500
MARK = "mlflow_run"
KINDS = {"metrics": ("Metric", 1000), "tags": ("RunTag", 100), "params": ("Param", 100)}
"""MLflow's classes, and most of each that it takes in one call."""
LONGEST = 6000
"""Characters of a value that MLflow takes."""
RECIPE = (
    "A recipe: all values of its params.yaml are parameters of this run, its stages are child runs. Stages that were "
    "up to date stay with the recipe that ran them. Metrics are scores times 100 and, under `steps`, differences of "
    "them; intervals are in the report."
)


class Run:
    """One MLflow run. Its methods do not wait for MLflow; metrics are collected and sent every few seconds.

    Args:
        store: makes the calls. None: nothing is tracked.
        tags: of a new run.
        parent: the run that it lies below.
        labels: tags of the runs below this one.
        begin: logs what comes first.

    Attributes:
        id: empty when nothing is tracked, or not yet.
    """

    def __init__(
        self,
        store: Store | None = None,
        tags: Mapping[str, str] | None = None,
        parent: "Run | None" = None,
        labels: Mapping[str, str] | None = None,
        begin: "Callable[[Run], None]" = lambda run: None,
    ) -> None:
        self._store, self._tags, self._parent, self._labels, self._begin = store, tags or {}, parent, labels, begin
        self.id, self._is_open = "", False
        self._last: dict[str, int] = {}  # by metric, the last step that an earlier process logged
        self._metrics: list[tuple[str, float, int, int]] = []
        self._flushed = time.monotonic()

    def go_on(self, folder: Path) -> None:
        """Continue the run that an interrupted process marked in `folder`, if any, so that its curves go on."""
        mark = folder / MARK

        def note(_store: Store) -> None:
            folder.mkdir(parents=True, exist_ok=True)
            mark.write_text(self.id, encoding="utf-8")

        self._open(mark.read_text(encoding="utf-8") if mark.is_file() else "")
        self._call(note)

    def log_metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        """Metrics of an optimizer step; the same names in every stage: `train/mlm_loss`, `test/f1_macro` ..."""
        now = time.time_ns() // 1_000_000
        self._metrics += [(name, float(value), now, step) for name, value in metrics.items()]
        if len(self._metrics) > FLUSH_ROWS or time.monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Send the collected metrics."""
        rows, self._metrics, self._flushed = self._metrics, [], time.monotonic()
        self._log("metrics", rows)

    def log_machine(self, step: int) -> None:
        """The load of processor, memory and GPUs, read here without the thread that MLflow would start for it.

        MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING=false leaves it out; GPUs need the package nvidia-ml-py.
        """
        is_off = os.environ.get("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "").lower() == "false"
        if is_off or self._store is None or self._store.failed:
            return
        self._open()
        with suppress(Exception):  # an error of a monitor must not stop training
            for monitor in _monitors():
                monitor.collect_metrics()
                self.log_metrics({f"system/{name}": load for name, load in monitor.aggregate_metrics().items()}, step)
                monitor.clear_metrics()

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Names for searching and grouping runs."""
        self._log("tags", [(name, redacted(str(value))[:LONGEST]) for name, value in tags.items()])

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Dotted keys of params.yaml and their values."""
        self._log("params", [(name, redacted(str(value))[:LONGEST]) for name, value in params.items()])

    def log_artifact(self, path: Path, folder: str | None = None) -> None:
        """A file, or the files of a folder; each is read later and must exist until the stage ends."""
        here = path.resolve()
        if not here.is_dir():
            self._call(lambda store: store.client.log_artifact(self.id, str(here), folder))
            return
        for inner in sorted(here.iterdir()):  # MLflow's thread pool for folders would outlive the stage
            below = f"{folder}/{inner.name}" if folder else inner.name
            self.log_artifact(inner, below if inner.is_dir() else folder)

    def log_input(self, name: str, digest: str, context: str) -> None:
        """A data set that was read; `context`: its use, such as training or evaluation."""

        def log(store: Store) -> None:
            from mlflow.entities import Dataset, DatasetInput, InputTag

            data = Dataset(name=name, digest=digest[:36], source_type="dvc", source=name)
            read = DatasetInput(data, [InputTag("mlflow.data.context", context)])
            store.client.log_inputs(self.id, datasets=[read])

        self._call(log)

    def conclude_recipe(self, metrics: Mapping[str, float]) -> None:
        """End the run of the recipe with these metrics: all of its stages have run."""
        if self._parent is not None:
            self._parent.log_metrics(metrics)
            self._parent.close("FINISHED")

    @contextmanager
    def child(self, name: str, tags: Mapping[str, str]) -> Iterator["Run"]:
        """A run below this one, e.g. a seed below its cell, with the labels of this one as tags."""
        self._open()
        child = Run(self._store, {"mlflow.runName": name, **(self._labels or {}), **tags}, self)
        with child.closing():
            yield child

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Marks the run FINISHED when the block ends, FAILED when it raises, KILLED when it is interrupted."""
        status = "FAILED"
        try:
            yield
            status = "FINISHED"
        except Interrupted:
            status = "KILLED"
            raise
        finally:
            self.close(status)

    def close(self, status: str) -> None:
        """Send what is left, and end the run with a status of MLflow."""
        self.flush()
        self._call(lambda store: store.ended(self.id, status))

    def _log(self, kind: str, rows: Sequence[tuple[Any, ...]]) -> None:
        def log(store: Store) -> None:
            from mlflow import entities

            name, most = KINDS[kind]
            new = [row for row in rows if kind != "metrics" or row[3] > self._last.get(row[0], -1)]
            for first in range(0, len(new), most):
                entries = [getattr(entities, name)(*row) for row in new[first : first + most]]
                store.client.log_batch(self.id, **{kind: entries})

        self._call(log)

    def _call(self, call: Callable[[Store], object]) -> None:
        store = self._store
        if store is not None and not store.failed:
            self._open()
            store.do(lambda: call(store))

    def _open(self, earlier: str = "") -> None:
        """Before any other call: begin this run, or go on with an earlier one."""
        store = self._store
        if store is not None and not self._is_open:
            self._is_open = True
            if self._parent is not None:
                self._parent._open()
            store.do(lambda: self._begin_or_go_on(store, earlier))
            self._begin(self)

    def _begin_or_go_on(self, store: Store, earlier: str) -> None:
        if not (earlier and store.is_active(earlier)):
            below = {"mlflow.parentRunId": self._parent.id} if self._parent is not None else {}
            self.id = store.begun({**self._tags, **below})
            return
        self.id = earlier
        store.client.update_run(earlier, status="RUNNING")
        store.mark(earlier).write_text(str(os.getpid()), encoding="ascii")
        store.client.set_tag(earlier, "resumed", "true")
        for name in store.client.get_run(earlier).data.metrics:
            self._last[name] = max(point.step for point in store.client.get_metric_history(earlier, name))


class _RecipeRun(Run):
    """The run of which the stages of a recipe are children; the first of them creates it.

    It is SCHEDULED until the last one ends it, because no process belongs to it that could be killed.
    """

    def __init__(self, store: Store, recipe: Recipe) -> None:
        tags = {"mlflow.runName": recipe.name, "mlflow.source.name": recipe.path.name, "mlflow.note.content": RECIPE}
        super().__init__(store, {**tags, "stage": "recipe", "recipe": recipe.name})
        self._recipe = recipe

    def _begin_or_go_on(self, store: Store, earlier: str) -> None:
        with store.locked("recipe"):
            of_recipe = f"tags.stage = 'recipe' and tags.recipe = '{self._recipe.name}'"
            for run in store.client.search_runs([store.experiment], of_recipe, max_results=1):
                self.id = run.info.run_id
                return
            self.id = store.client.create_run(store.experiment, tags=self._tags).info.run_id
            store.client.update_run(self.id, status="SCHEDULED")
        self.log_params(self._recipe.params)
        self.log_artifact(self._recipe.path)


@contextmanager
def open_run(
    stage: str, labels: Mapping[str, str], params: Mapping[str, Any], params_path: Path, seconds: float = SECONDS
) -> Iterator[Run]:
    """The run of a stage that begins now, or goes on (`Run.go_on`).

    Args:
        labels: the stage's options that are names, such as `task`, `arm`, `start` and `draw`; they become tags of this
            run and of its child runs, and parameters of this run.
        params: dotted keys and values.
        params_path: logged as an artifact.
        seconds: most that the stage waits for MLflow, at its end.
    """
    store = Store(seconds)
    if store.pauses():
        yield Run()
        return

    def begin(run: Run) -> None:
        run.log_params({**labels, **params})  # labels as well: charts of MLflow have axes for parameters, not for tags
        run.log_artifact(params_path)
        packages = "\n".join(sorted(f"{package.name}=={package.version}" for package in distributions()))
        store.do(lambda: store.client.log_text(run.id, packages, "environment.txt"))

    recipe = Recipe.read(params_path)
    tags = {"mlflow.runName": run_name(stage, labels), "stage": stage, "recipe": recipe.name, **labels, **origin(stage)}
    run = Run(store, tags, _RecipeRun(store, recipe), labels, begin)
    began = time.monotonic()
    try:
        with run.closing():
            yield run
            run.log_metrics({"cost/seconds": time.monotonic() - began})
    finally:
        store.close()


@cache
def _monitors() -> list[Any]:
    from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
    from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor

    monitors: list[Any] = [CPUMonitor()]
    with suppress(ImportError, RuntimeError):  # no nvidia-ml-py; no GPU
        monitors.append(GPUMonitor())
    return monitors
