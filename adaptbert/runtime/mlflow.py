"""MLflow: every stage is a run, in a SQLite file of the project unless MLFLOW_TRACKING_URI names a server.

Stages read nothing from it, and it neither delays nor ends one (docs/decisions/0014). Calls go to a queue, and a thread
makes them in their order; a stage waits at its end alone, for 20 s at most. With the first call that fails, repeats of
MLflow's own included (adaptbert.runtime.libraries), tracking ends for this process; where a server failed, also for
those of the same command that begin in the next five minutes. What a process leaves for the next one lies in
`.work/mlflow/<store>/`: `down`, with the group of its processes, and for each open run `<id>.run`, with its process.
"""

import logging
import os
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from queue import SimpleQueue
from shlex import quote
from typing import Any

from filelock import FileLock

from adaptbert.codes import Code
from adaptbert.config import load
from adaptbert.core.files import atomic_write
from adaptbert.core.processes import has_ended
from adaptbert.errors import Temporary
from adaptbert.runtime.libraries import MLFLOW
from adaptbert.runtime.origin import NO_ADDRESS, origin, project_root, recipe_name, run_name, tracking_uri
from adaptbert.runtime.redaction import redacted
from adaptbert.runtime.signals import Interrupted

EXPERIMENT = "adaptbert"
KIND = {"mlflow.experimentKind": "custom_model_development"}  # its pages begin with runs, not with traces
SECONDS, PAUSE_SECONDS, FLUSH_SECONDS, SILENT_SECONDS = 20.0, 300.0, 10.0, 10.0
MARK = "mlflow_run"
RECIPE = (
    "A recipe: all values of its params.yaml are parameters of this run, its stages are child runs. Stages that were "
    "up to date stay with the recipe that ran them. Metrics are scores times 100 and, under `differences`, differences "
    "of them; intervals are in the report."
)
KINDS = {"metrics": "Metric", "tags": "RunTag", "params": "Param"}


@dataclass(eq=False)
class Run:
    """One MLflow run, begun by its first call. No method waits for MLflow.

    Attributes:
        store: by default, nothing is tracked.
        tags: of a new run; `labels` are those of the runs below it, too.
        parent: by default the run of the recipe.
        begin: logs what comes first.
        id: empty when nothing is tracked, or not yet.
    """

    store: "Store" = field(default_factory=lambda: Store(None))
    tags: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    parent: "Run | None" = None
    begin: "Callable[[Run], None]" = lambda run: None
    id: str = field(default="", init=False)
    _is_open: bool = field(default=False, init=False)
    _last: dict[str, int] = field(default_factory=dict, init=False)  # metric -> last step of an earlier process
    _metrics: list[tuple[str, float, int, int]] = field(default_factory=list, init=False)
    _flushed: float = field(default_factory=time.monotonic, init=False)

    def go_on(self, folder: Path) -> None:
        """Continue, before any other call, the run that an interrupted process marked in `folder`, if any."""
        self._open(folder / MARK)

    def log_metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        """Metrics of an optimizer step; the same names in every stage: `train/mlm_loss`, `test/f1_macro` ..."""
        self._metrics += _rows(metrics, step)
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Send the collected metrics, which else go every few seconds."""
        rows, self._metrics, self._flushed = self._metrics, [], time.monotonic()
        new = (row for row in rows if row[3] > self._last.get(row[0], -1))
        self._call(lambda store: store.log(self.id, "metrics", new))

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Names for searching and grouping runs."""
        self._call(lambda store: store.log(self.id, "tags", tags.items()))

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Dotted keys of params.yaml and their values."""
        self._call(lambda store: store.log(self.id, "params", params.items()))

    def log_artifact(self, path: Path) -> None:
        """A file, or the files of a folder one by one: MLflow's threads for folders would outlive the stage.

        Each is read later and must exist until the stage ends.
        """
        here = path.resolve()
        for file in sorted(here.rglob("*")) if here.is_dir() else [here]:
            if file.is_file():
                folder = None if here in (file, file.parent) else str(file.parent.relative_to(here))
                self._call(lambda store, *what: store.client.log_artifact(self.id, *what), str(file), folder)

    def log_input(self, name: str, digest: str, context: str) -> None:
        """A data set that was read; `context`: its use, such as training or evaluation."""

        def log(store: Store) -> None:
            from mlflow.entities import Dataset, DatasetInput, InputTag

            data = Dataset(name=name, digest=digest[:36], source_type="dvc", source=name)
            store.client.log_inputs(self.id, datasets=[DatasetInput(data, [InputTag("mlflow.data.context", context)])])

        self._call(log)

    def conclude_recipe(self, metrics: Mapping[str, float]) -> None:
        """End the run of the recipe with these metrics: all of its stages have run."""
        rows = _rows(metrics, 0)
        self._call(lambda store: store.log(store.recipe, "metrics", rows))
        self._call(lambda store: store.client.set_terminated(store.recipe, "FINISHED"))

    def child(self, name: str, tags: Mapping[str, str]) -> AbstractContextManager["Run"]:
        """A run below this one, e.g. of a seed, with the labels of this one as tags."""
        self._open()
        return Run(self.store, {"mlflow.runName": name, **tags}, self.labels, self).closing()

    @contextmanager
    def closing(self) -> Iterator["Run"]:
        """Marks the run FINISHED when the block ends, FAILED when it raises, KILLED when it is interrupted."""
        status = "FAILED"
        try:
            yield self
            status = "FINISHED"
        except Interrupted:
            status = "KILLED"
            raise
        finally:
            self.flush()
            self._call(lambda store: store.client.set_terminated(self.id, status))
            self._call(lambda store: store.mark(self.id).unlink(missing_ok=True))

    def _call(self, call: "Callable[..., object]", *arguments: Any) -> None:
        self._open()
        self.store.do(lambda store: call(store, *arguments))

    def _open(self, note: Path | None = None) -> None:
        """Begin this run, before any other call, or go on with the one that is noted; note it."""
        if not self._is_open:
            self._is_open = True
            self.store.do(lambda store: self._begin_or_go_on(store, note))
            self.begin(self)

    def _begin_or_go_on(self, store: "Store", note: Path | None) -> None:
        earlier = note.read_text(encoding="utf-8") if note is not None and note.is_file() else ""
        if not store.has(earlier):
            tags = {key: redacted(tag) for key, tag in {**self.labels, **self.tags}.items()}
            tags["mlflow.parentRunId"] = self.parent.id if self.parent else store.recipe
            earlier = store.client.create_run(store.experiment, tags=tags).info.run_id
        else:
            store.client.update_run(earlier, status="RUNNING")
            store.client.set_tag(earlier, "resumed", "true")
            for name in store.client.get_run(earlier).data.metrics:
                self._last[name] = max(point.step for point in store.client.get_metric_history(earlier, name))
        self.id = earlier
        store.mark(self.id).write_text(str(os.getpid()), encoding="ascii")
        if note is not None:
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(self.id, encoding="utf-8")


def _rows(metrics: Mapping[str, float], step: int) -> list[tuple[str, float, int, int]]:
    now = time.time_ns() // 1_000_000
    return [(name, float(value), now, step) for name, value in metrics.items()]


@contextmanager
def open_run(
    stage: str, labels: Mapping[str, str], params: Mapping[str, Any], params_path: Path, seconds: float = SECONDS
) -> Iterator[Run]:
    """The run of a stage that begins now, or goes on (`Run.go_on`).

    Args:
        labels: the stage's options that are names, such as `task`, `arm`, `base` and `replicate`; they become tags of
            this run and of its child runs, and parameters of this run.
        params: dotted keys and values; `params_path` is logged as an artifact.
        seconds: most that the stage waits for MLflow, at its end.
    """
    store = Store(params_path, seconds)
    if store.pauses():
        yield Run()
        return

    def begin(run: Run) -> None:
        run.log_params({**labels, **params})  # labels as well: charts of MLflow have axes for parameters, not for tags
        store.do(lambda _: store.keep_params(run.id))
        packages = "\n".join(sorted(f"{package.name}=={package.version}" for package in distributions()))
        store.do(lambda _: store.client.log_text(run.id, packages, "environment.txt"))

    tags = {"mlflow.runName": run_name(stage, labels), "stage": stage, "recipe": store.name, **origin(stage)}
    run = Run(store, tags, labels, begin=begin)
    began = time.monotonic()
    try:
        with run.closing():
            yield run
            run.log_metrics({"cost/seconds": time.monotonic() - began})
    finally:
        store.close()


@contextmanager
def open_store() -> Iterator["Store"]:
    """The store of this project for a command, which waits for its answers and stops with its first error.

    Raises:
        Temporary: it does not answer, or cannot be opened.
    """
    store = Store(None)
    try:
        store._prepare()
        yield store.connected()
    except Exception as error:
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        of_a_store = MlflowException, SQLAlchemyError, sqlite3.Error, UnusableStore, ImportError  # the last of a driver
        if not isinstance(error, of_a_store):
            raise
        remedy = "start its server or name another one in MLFLOW_TRACKING_URI, then run again"
        raise Temporary(
            Code.UNREACHABLE, redacted(tracking_uri()), f"MLflow failed: {_reason(error)}", remedy
        ) from None


def _reason(error: Exception) -> str:
    return redacted(str(error)).splitlines()[0] if str(error) else type(error).__name__


class UnusableStore(Exception):
    """A store that MLflow could not work with, or not in reasonable time."""


class Store:
    """The experiment of this project in the store that `tracking_uri` names, and the thread that calls it.

    Args:
        params: the file whose values are the recipe; None: no call is made.
        seconds: most that this process waits at its end.

    Attributes:
        name: of the recipe.
        client, experiment, recipe: for calls; `recipe` is the run of which the stages are children.
        failed: whether tracking has ended.
    """

    client: Any
    experiment: str
    recipe: str

    def __init__(self, params: Path | None, seconds: float = SECONDS) -> None:
        self._params, self._seconds = params, seconds
        self.failed, self._may_fail = params is None, threading.Lock()
        self.name = recipe_name(params) if params else ""
        self._folder = project_root() / ".work/mlflow" / sha256(redacted(tracking_uri()).encode()).hexdigest()[:8]
        self._down = self._folder / "down"
        self._calls: SimpleQueue[Callable[[Store], object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="mlflow", daemon=True)

    def pauses(self) -> bool:
        """Whether its server failed an earlier stage of the same command not long ago; says so."""
        is_ours = self._down.is_file() and self._down.read_text(encoding="ascii") == str(os.getpgrp())
        since = self._down.stat().st_mtime if is_ours else 0.0
        if not since <= time.time() < since + PAUSE_SECONDS:  # a time in the future is from another clock
            return False
        until = time.strftime("%H:%M:%S", time.localtime(since + PAUSE_SECONDS))
        again = f"to try again now: rm {os.path.relpath(self._down)}"
        print(f"warning: no tracking until {until}, because MLflow failed; {again}", file=sys.stderr)
        return True

    def do(self, call: "Callable[[Store], object]") -> None:
        """Queue a call; nothing waits for it, and one that hangs blocks only a daemon thread."""
        if self.failed:
            return
        if self._thread.ident is None:
            self._make(Store._prepare)
            self._calls.put(Store._connect)
            self._thread.start()
        self._calls.put(call)

    def close(self) -> None:
        """Wait until every call is made, or the time is over; a thread that hangs ends with the process."""
        self._calls.put(None)
        if self._thread.is_alive() and not self.failed:
            self._thread.join(self._seconds)
        if self._thread.is_alive():
            self._give_up(TimeoutError(f"its calls took more than {self._seconds:g} seconds"))

    def connected(self) -> "Store":
        """This store with its client and its experiment, which is made where it is not there."""
        from mlflow import MlflowClient

        self.client = MlflowClient(tracking_uri())
        experiment = self.client.get_experiment_by_name(EXPERIMENT)
        if experiment is None:
            local = None if os.environ.get("MLFLOW_TRACKING_URI") else (project_root() / "mlartifacts").as_uri()
            self.experiment = str(self.client.create_experiment(EXPERIMENT, artifact_location=local, tags=KIND))
        elif experiment.lifecycle_stage == "active":
            self.experiment = str(experiment.experiment_id)
        else:
            command = f"mlflow experiments restore --experiment-id {experiment.experiment_id}"
            where = f"MLFLOW_TRACKING_URI={quote(tracking_uri())}"
            raise UnusableStore(f"its experiment {EXPERIMENT} was deleted; to have it back: {where} {command}")
        return self

    def log(self, run_id: str, kind: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Metrics, tags or params, as their classes in MLflow take them; without credentials."""
        from mlflow import entities

        safe = rows if kind == "metrics" else [(key, redacted(str(value))) for key, value in rows]
        self.client.log_batch(run_id, **{kind: [getattr(entities, KINDS[kind])(*row) for row in safe]})

    def keep_params(self, run_id: str) -> None:
        """params.yaml as an artifact; without credentials, which a comment in it may have."""
        assert self._params is not None
        self.client.log_text(run_id, redacted(self._params.read_text(encoding="utf-8")), self._params.name)

    def has(self, run_id: str) -> bool:
        """Whether a run is there; else it was removed, or is in another store."""
        condition = f"attributes.run_id = '{run_id}'"
        return bool(run_id and self.client.search_runs([self.experiment], condition, max_results=1))

    def mark(self, run_id: str) -> Path:
        """The file that holds the process of a run while it is open."""
        return self._folder / f"{run_id}.run"

    def _prepare(self) -> None:
        """Slow steps that do not depend on the store, outside of the time limit: imports, and a new mlflow.db.

        Stages that begin together wait for the one that makes it.
        """
        os.environ.update({**MLFLOW, **os.environ})
        import mlflow

        if not tracking_uri().startswith("http"):
            import mlflow.store.tracking.sqlalchemy_store  # noqa: F401 - else the first call imports it
        for library in ("mlflow", "alembic", "sqlalchemy", "urllib3"):
            logging.getLogger(library).setLevel(os.environ["MLFLOW_LOGGING_LEVEL"])
        self._folder.mkdir(parents=True, exist_ok=True)
        if not os.environ.get("MLFLOW_TRACKING_URI"):
            with FileLock(self._folder / "tables.lock"):
                _make_tables((project_root() / "mlflow.db").resolve(), self._folder / "tables.db")

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            self._make(call)

    def _make(self, call: "Callable[[Store], object]") -> None:
        if not self.failed:
            try:
                call(self)
            except Exception as error:  # no error of the store or the network may stop training
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        if not self._may_fail.acquire(blocking=False):  # once, from whichever thread
            return
        self.failed = True
        if not tracking_uri().startswith("sqlite:"):  # a file costs the next stage little
            with suppress(OSError):
                self._down.write_text(str(os.getpgrp()), encoding="ascii")
        sys.stderr.write(f"warning: MLflow failed ({_reason(error)}); the stage goes on without tracking\n")

    def _connect(self) -> None:
        """Find or create experiment and recipe; end the runs of processes that were killed, or lost the store."""
        with FileLock(self._folder / "recipe.lock"):  # stages that begin together have one experiment and one recipe
            self.connected()
            if not self.failed:  # it answers in time
                self._down.unlink(missing_ok=True)
            self.recipe = self._run_of_recipe()
        for mark in self._folder.glob("*.run"):
            with suppress(OSError, ValueError):  # another process has ended the run meanwhile, or it is being written
                if has_ended(int(mark.read_text(encoding="ascii")), mark.stat().st_mtime):
                    if self.has(mark.stem):
                        self.client.set_tag(mark.stem, "record", "incomplete")
                        self.client.set_terminated(mark.stem, "KILLED")
                    mark.unlink()

    def _run_of_recipe(self) -> str:
        """The recipe's run, SCHEDULED until `conclude_recipe`: no process belongs to it that could be killed."""
        assert self._params is not None
        condition = f"tags.stage = 'recipe' and tags.recipe = '{self.name}'"
        tags = {"mlflow.runName": self.name, "mlflow.source.name": self._params.name, "mlflow.note.content": RECIPE}
        tags |= {"stage": "recipe", "recipe": self.name}
        there = self.client.search_runs([self.experiment], condition, max_results=1)
        info = (there[0] if there else self.client.create_run(self.experiment, tags=tags)).info
        if info.status == "RUNNING":  # new, or of a process that was killed here
            self.log(info.run_id, "params", load.flatten(load.read(self._params)).items())
            self.keep_params(info.run_id)
            self.client.update_run(info.run_id, status="SCHEDULED")
        return str(info.run_id)


def _make_tables(file: Path, fresh: Path) -> None:
    """Make mlflow.db, or give one of an older MLflow its new tables: in another file (`fresh`), which replaces it then.
    MLflow takes ten seconds for them, and can do nothing with what it had begun when it was killed."""
    from mlflow.store.db.utils import _get_latest_schema_revision
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    if NO_ADDRESS.search(str(file)):
        raise UnusableStore(f"the path {file} has a ? or a % code, which means something else in an address: rename it")
    if file.exists() and not file.is_file():  # MLflow would try again for more than a minute
        raise UnusableStore(f"{file.name} is no file")
    newest = _get_latest_schema_revision()
    while _version(file) != newest and file.exists() and time.time() - file.stat().st_mtime < SILENT_SECONDS:
        time.sleep(0.5)  # `mlflow server` may be making them
    if _version(file) == newest:
        return
    for leftover in fresh.parent.glob(f"{fresh.name}*"):
        leftover.unlink()
    if file.exists():
        with closing(sqlite3.connect(file)) as old, closing(sqlite3.connect(fresh)) as new:
            old.backup(new)
    try:
        SqlAlchemyStore(f"sqlite:///{fresh}", "mlartifacts")._dispose_engine()
    except Exception as error:
        reason, name = str(error).partition("\n")[0], file.name
        stay = f"; its rows stay there, and after `mv {name} {name}.old` a new one is made" if file.exists() else ""
        raise UnusableStore(f"the tables of {name} cannot be made: {reason}{stay}") from error
    with atomic_write(file) as part:
        shutil.move(fresh, part)


def _version(file: Path) -> str:
    """The version of the tables of an mlflow.db; empty without them."""
    if not file.is_file():
        return ""
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True)) as store:
        there = store.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
        (version,) = store.execute("SELECT max(version_num) FROM alembic_version").fetchone() if there else ("",)
        return version or ""
