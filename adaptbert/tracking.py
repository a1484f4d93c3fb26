"""The record: every stage is an MLflow run, in a SQLite file of the project unless MLFLOW_TRACKING_URI names a server.

Nothing here is read by a stage, and nothing here can stop one: when the store does not answer, one line says so and
the stage goes on without a record.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.interruption import Interrupted

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "adaptbert"
FLUSH_SECONDS = 10.0
FLUSH_ROWS = 500
MARK = "mlflow_run"


@dataclass
class _Store:
    """An open MLflow run.

    Attributes:
        last: by metric, the last step that an earlier process logged.
    """

    client: "MlflowClient"
    experiment_id: str
    run_id: str
    last: dict[str, int] = field(default_factory=dict)


Opener = Callable[[str], _Store]


class Run:
    """One MLflow run; metrics are gathered and written every few seconds.

    Args:
        opener: opens the run of the id that it is given, or a new one; called when there is something to write. None:
            nothing is kept.
        begin: what to write first.
    """

    def __init__(self, opener: Opener | None = None, begin: "Callable[[Run], None] | None" = None) -> None:
        self._opener, self._begin = opener, begin
        self._store: _Store | None = None
        self._metrics: list[tuple[str, float, int, int]] = []
        self._flushed = time.monotonic()

    @property
    def id(self) -> str:
        """Empty when nothing is kept."""
        return self._store.run_id if self._store else ""

    def go_on(self, folder: Path) -> None:
        """Be the run of the process that stopped here before, if `folder` knows one, so that a curve is one curve."""
        mark = folder / MARK
        self._open(mark.read_text(encoding="utf-8") if mark.is_file() else "")
        if self.id:
            folder.mkdir(parents=True, exist_ok=True)
            mark.write_text(self.id, encoding="utf-8")

    def log_metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        """Metrics of an optimizer step; the same names in every stage: `train/mlm_loss`, `test/f1_macro` ..."""
        now = time.time_ns() // 1_000_000
        last = self._store.last if self._store else {}
        self._metrics += [
            (name, float(value), now, step) for name, value in metrics.items() if step > last.get(name, -1)
        ]
        if len(self._metrics) > FLUSH_ROWS or time.monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        from mlflow.entities import Metric

        rows, self._metrics, self._flushed = self._metrics, [], time.monotonic()
        self._log_batches("metrics", [Metric(name, value, when, step) for name, value, when, step in rows], 1000)

    def log_machine(self, step: int) -> None:
        """How busy processor, memory and GPUs are: MLflow's own system metrics, which it shows on a page of their own.

        Asked from here, without the thread that MLflow would start for it. MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING=false
        leaves them out; those of GPUs need the package nvidia-ml-py.
        """
        if self._store is None or os.environ.get("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "").lower() == "false":
            return
        with suppress(Exception):  # whatever a machine answers must not stop training
            for monitor in _monitors():
                monitor.collect_metrics()
                figures = {f"system/{name}": value for name, value in monitor.aggregate_metrics().items()}
                monitor.clear_metrics()
                self.log_metrics(figures, step)

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Names by which runs are found and grouped."""
        from mlflow.entities import RunTag

        self._log_batches("tags", [RunTag(name, str(value)) for name, value in tags.items()], 100)

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Dotted keys of params.yaml and their values."""
        from mlflow.entities import Param

        self._log_batches("params", [Param(name, str(value)[:6000]) for name, value in params.items()], 100)

    def log_artifact(self, path: Path, folder: str | None = None) -> None:
        """A file, or a folder with all that is in it."""
        if path.is_dir():
            self._try(lambda client: client.log_artifacts(self.id, str(path), folder))
        else:
            self._try(lambda client: client.log_artifact(self.id, str(path), folder))

    def log_text(self, text: str, name: str) -> None:
        """A small file by its content."""
        self._try(lambda client: client.log_text(self.id, text, name))

    def log_input(self, name: str, digest: str, context: str) -> None:
        """A data set that was read; `context` is how: training, evaluation."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        data = Dataset(name=name, digest=digest[:36], source_type="dvc", source=name)
        tag = InputTag("mlflow.data.context", context)
        self._try(lambda client: client.log_inputs(self.id, datasets=[DatasetInput(data, [tag])]))

    @contextmanager
    def child(self, name: str, tags: Mapping[str, str]) -> Iterator["Run"]:
        """A run below this one, e.g. a seed below its cell."""
        self._open("")

        def opener(earlier: str) -> _Store:
            assert self._store is not None
            named = {"mlflow.runName": name, "mlflow.parentRunId": self.id, **tags}
            return _open(self._store.client, self._store.experiment_id, named, earlier)

        child = Run(opener if self._store else None)
        try:
            with child.closing():
                yield child
        finally:
            if child._opener is None:  # a store that was given up is given up by all
                self._give_up()

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Marks the run FINISHED when the block ends well, FAILED when it raises."""
        status = "FAILED"
        try:
            yield
            status = "FINISHED"
        except Interrupted:
            status = "KILLED"
            raise
        finally:
            self.flush()
            self._try(lambda client: client.set_terminated(self.id, status))

    def _log_batches(self, kind: str, rows: list[Any], size: int) -> None:
        """As many calls as it takes: MLflow refuses more than `size` rows of a kind in one."""
        for first in range(0, len(rows), size):
            batch = {kind: rows[first : first + size]}
            self._try(lambda client, batch=batch: client.log_batch(self.id, **batch))  # type: ignore[misc]

    def _open(self, earlier: str) -> None:
        if self._opener is None or self._store is not None:
            return
        try:
            self._store = self._opener(earlier)
        except Exception as error:  # whatever the store or the network does must not stop training
            self._give_up(error)
        else:
            with suppress(Exception):
                _monitors()  # the load of the processor is counted from here
            if self._begin is not None:
                self._begin(self)

    def _try(self, write: "Callable[[MlflowClient], Any]") -> None:
        self._open("")
        if self._store is None:
            return
        try:
            write(self._store.client)
        except Exception as error:  # as above
            self._give_up(error)

    def _give_up(self, error: Exception | None = None) -> None:
        self._store = self._opener = None
        if error is not None:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            print(f"warning: MLflow did not answer ({reason}); the stage goes on without a record", file=sys.stderr)


@contextmanager
def open_run(stage: str, labels: Mapping[str, str], params: Mapping[str, Any], params_path: Path) -> Iterator[Run]:
    """The run of a stage that begins now, or goes on (`Run.go_on`).

    Args:
        labels: the stage's options that are names, such as `task` and `arm`; they become tags.
        params: dotted keys and values.
        params_path: kept beside the run whole.
    """

    def begin(run: Run) -> None:
        run.log_params(params)
        run.log_artifact(params_path)
        run.log_text("\n".join(sorted(f"{d.name}=={d.version}" for d in distributions())), "environment.txt")

    run = Run(lambda earlier: _connect(stage, labels, earlier), begin)
    began = time.monotonic()
    with run.closing():
        yield run
        run.log_metrics({"cost/seconds": time.monotonic() - began})


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


def _connect(stage: str, labels: Mapping[str, str], earlier: str) -> _Store:
    # A dead server must cost seconds, not the four minutes of MLflow's own patience.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri())
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is not None:
        experiment_id = experiment.experiment_id
    else:
        local = None if os.environ.get("MLFLOW_TRACKING_URI") else (project_root() / "mlartifacts").as_uri()
        experiment_id = client.create_experiment(EXPERIMENT, artifact_location=local)
    name = " ".join([stage, *labels.values()])
    tags = {"mlflow.runName": name, "mlflow.source.name": f"stages/{stage}.py", "stage": stage, **labels, **_origin()}
    return _open(client, experiment_id, tags, earlier)


def _open(client: "MlflowClient", experiment_id: str, tags: Mapping[str, str], earlier: str) -> _Store:
    """The earlier run, if it is still there, else a new one."""
    if earlier:
        from mlflow.exceptions import MlflowException

        with suppress(MlflowException):  # removed meanwhile, or of another store
            found = client.get_run(earlier)
            if found.info.lifecycle_stage == "active":
                client.update_run(earlier, status="RUNNING")
                client.set_tag(earlier, "resumed", "true")
                last = {
                    name: max(point.step for point in client.get_metric_history(earlier, name))
                    for name in found.data.metrics
                }
                return _Store(client, experiment_id, earlier, last)
    return _Store(client, experiment_id, client.create_run(experiment_id, tags=dict(tags)).info.run_id)


@cache
def _monitors() -> list[Any]:
    from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
    from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor

    found: list[Any] = [CPUMonitor()]
    with suppress(ImportError, RuntimeError):  # no nvidia-ml-py; no GPU
        found.append(GPUMonitor())
    return found


def _origin() -> dict[str, str]:
    """Which code and which DVC stage and experiment a run comes from."""
    tags = {
        "dvc.stage": os.environ.get("DVC_STAGE", ""),
        "dvc.experiment": os.environ.get("DVC_EXP_NAME", ""),
        "git.commit": _git("rev-parse", "HEAD"),
        "git.dirty": str(bool(_git("status", "--porcelain", "--untracked-files=no"))).lower(),
    }
    return {name: value for name, value in tags.items() if value}


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, timeout=10)
        return done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
