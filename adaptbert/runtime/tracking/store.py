"""The store of MLflow: a thread that calls it, and what a process leaves in `.work/mlflow/` for the next one."""

import importlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from filelock import FileLock

from adaptbert.core.processes import has_ended
from adaptbert.runtime.redaction import redacted

EXPERIMENT = "adaptbert"
KIND = {"mlflow.experimentKind": "custom_model_development"}
"""Makes the pages of newer versions of MLflow begin with runs, not with traces of language models."""
SECONDS = 20.0
PAUSE_SECONDS = 300.0

# A dead server costs seconds, not the minutes of MLflow's defaults, and cannot ask for a longer wait.
DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",  # one line of ours says what failed
}
LIBRARIES = ("mlflow", "alembic", "sqlalchemy", "urllib3")


def project_root() -> Path:
    """The project's folder, also from a copy that `dvc exp run --temp` or `--queue` made below it."""
    here = Path.cwd().resolve()
    copies = (folder for folder in here.parents if folder.parts[-3:] == (".dvc", "tmp", "exps"))
    return next((folder.parents[2] for folder in copies), here)


def tracking_uri() -> str:
    """MLFLOW_TRACKING_URI, else mlflow.db in the project's folder by its absolute path."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{project_root() / 'mlflow.db'}"


class Store:
    """The experiment of this project in the store that `tracking_uri` names, and the thread that calls it.

    Calls are made in their order, and `do` waits for none of them; one that hangs blocks only a daemon thread. With the
    first that fails, tracking ends: the others are dropped, and stages that begin in the next minutes do not try.

    Args:
        seconds: most that this process waits at its end.

    Attributes:
        client, experiment: for calls, in the thread.
        failed: whether tracking has ended.
    """

    client: Any
    experiment: str

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds, self.failed, self._failing = seconds, False, threading.Lock()
        self._folder = project_root() / ".work" / "mlflow" / sha256(redacted(tracking_uri()).encode()).hexdigest()[:8]
        self._down = self._folder / "down"
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="mlflow", daemon=True)

    def pauses(self) -> bool:
        """Whether it failed an earlier stage not long ago; says so."""
        since = self._down.stat().st_mtime if self._down.exists() else 0.0
        if not since <= time.time() < since + PAUSE_SECONDS:  # a time in the future is from another clock
            return False
        until = time.strftime("%H:%M:%S", time.localtime(since + PAUSE_SECONDS))
        again = f"to try again now: rm {os.path.relpath(self._down)}"
        print(f"warning: no tracking until {until}, because MLflow did not answer; {again}", file=sys.stderr)
        return True

    def do(self, call: Callable[[], object]) -> None:
        """Queue a call; what a call does in its turn is done at once, not behind what waits."""
        if threading.current_thread() is self._thread:
            call()
            return
        if self._thread.ident is None:
            self._make(self._prepare)
            self._calls.put(self._connect)
            self._thread.start()
        self._calls.put(call)

    def close(self) -> None:
        """Wait until every call is made, or the time is over; a thread that hangs ends with the process."""
        self._calls.put(None)
        if self._thread.is_alive() and not self.failed:
            self._thread.join(self._seconds)
        if self._thread.is_alive():
            self._give_up(TimeoutError(f"its calls took more than {self._seconds:g} seconds"))

    def locked(self, name: str) -> FileLock:
        """A lock among the processes of this project, for what one of them makes for all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self._folder / f"{name}.lock")

    def mark(self, run_id: str) -> Path:
        """The file that holds the process of a run while it is open."""
        return self._folder / f"{run_id}.run"

    def begun(self, tags: Mapping[str, str]) -> str:
        """The id of a new run."""
        run_id: str = self.client.create_run(self.experiment, tags=dict(tags)).info.run_id
        self.mark(run_id).write_text(str(os.getpid()), encoding="ascii")
        return run_id

    def ended(self, run_id: str, status: str) -> None:
        """FINISHED, FAILED or KILLED."""
        self.client.set_terminated(run_id, status)
        self.mark(run_id).unlink(missing_ok=True)

    def is_active(self, run_id: str) -> bool:
        """Whether a run is there; else it was removed, or is in another store."""
        return bool(self.client.search_runs([self.experiment], f"attributes.run_id = '{run_id}'", max_results=1))

    def _prepare(self) -> None:
        """Slow steps that do not depend on the store, outside of the time limit: imports, and a new mlflow.db.

        MLflow takes ten seconds for its tables; stages that begin together wait for the one that creates them.
        """
        os.environ.update({name: os.environ.get(name, value) for name, value in DEFAULTS.items()})
        from mlflow import MlflowClient

        if not tracking_uri().startswith("http"):
            importlib.import_module("mlflow.store.tracking.sqlalchemy_store")  # else the first call imports it
        for library in LIBRARIES:
            logging.getLogger(library).setLevel(os.environ["MLFLOW_LOGGING_LEVEL"])
        if not os.environ.get("MLFLOW_TRACKING_URI"):
            with self.locked("tables"):
                if not (project_root() / "mlflow.db").is_file():
                    MlflowClient(tracking_uri()).get_experiment_by_name(EXPERIMENT)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            self._make(call)

    def _make(self, call: Callable[[], object]) -> None:
        if not self.failed:
            try:
                call()
            except Exception as error:  # no error of the store or the network may stop training
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        with self._failing:
            if self.failed:
                return
            self.failed = True
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._down.touch()
        reason = redacted(str(error)).splitlines()[0] if str(error) else type(error).__name__
        sys.stderr.write(f"warning: MLflow did not answer ({reason}); the stage goes on without tracking\n")

    def _connect(self) -> None:
        """Find or create the experiment; end the runs of processes that were killed, or lost the store."""
        from mlflow import MlflowClient

        self.client = MlflowClient(tracking_uri())
        if (experiment := self.client.get_experiment_by_name(EXPERIMENT)) is not None:
            self.experiment = experiment.experiment_id
        else:
            local = None if os.environ.get("MLFLOW_TRACKING_URI") else (project_root() / "mlartifacts").as_uri()
            self.experiment = self.client.create_experiment(EXPERIMENT, artifact_location=local, tags=KIND)
        self._down.unlink(missing_ok=True)
        for mark in sorted(self._folder.glob("*.run")):
            try:
                is_left = has_ended(int(mark.read_text(encoding="ascii")), mark.stat().st_mtime)
            except (OSError, ValueError):  # another process has ended the run meanwhile, or it is being written
                continue
            if is_left and self.is_active(mark.stem):
                self.client.set_tag(mark.stem, "record", "incomplete")
                self.client.set_terminated(mark.stem, "KILLED")
            if is_left:
                mark.unlink(missing_ok=True)
