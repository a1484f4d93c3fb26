"""Tracking: every stage is an MLflow run, in a SQLite file of the project unless MLFLOW_TRACKING_URI names a server.

Stages read nothing from it, and it cannot stop a stage: when the store does not answer, the stage prints a warning and
goes on without tracking.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from adaptbert.runtime.redaction import redacted
from adaptbert.runtime.signals import Interrupted
from adaptbert.runtime.tracking import store as mlflow_store
from adaptbert.runtime.tracking.origin import Recipe, note, origin, run_name
from adaptbert.runtime.tracking.recorder import SECONDS, Recorder
from adaptbert.runtime.tracking.store import Opened, Store, project_root, tracking_uri
from adaptbert.runtime.tracking.store_state import StoreState

FLUSH_SECONDS = 10.0
FLUSH_ROWS = 500
MARK = "mlflow_run"


class Run:
    """One MLflow run. Its methods do not wait for MLflow; metrics are collected and sent every few seconds.

    Args:
        recorder: makes the calls. None: nothing is tracked.
        tags: of a new run; computed in the thread of the recorder.
        begin: logs what comes first.
        recipe: the recipe of the run; None: that of its parent.
        names: tags that its child runs have as well.
    """

    def __init__(
        self,
        recorder: Recorder[Store] | None = None,
        tags: Callable[[Store], Mapping[str, str]] = lambda _store: {},
        begin: "Callable[[Run], None] | None" = None,
        recipe: Recipe | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self._recorder, self._tags, self._begin, self._recipe = recorder, tags, begin, recipe
        self._names = names or {}
        self._is_open = False
        self._opened: Opened | None = None
        self._metrics: list[tuple[str, float, int, int]] = []
        self._flushed = time.monotonic()

    @property
    def id(self) -> str:
        """Empty when nothing is tracked, or not yet."""
        return self._opened.run_id if self._opened else ""

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
        points, self._metrics, self._flushed = self._metrics, [], time.monotonic()
        self._call(lambda store: store.log_metrics(self._opened_run(), points))

    def log_machine(self, step: int) -> None:
        """The load of processor, memory and GPUs: the system metrics of MLflow, on a page of their own.

        Read here, without the thread that MLflow would start. MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING=false leaves them
        out; those of GPUs need the package nvidia-ml-py.
        """
        if not self._is_tracked() or os.environ.get("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "").lower() == "false":
            return
        self._open("")
        with suppress(Exception):  # an error of a monitor must not stop training
            for monitor in _monitors():
                monitor.collect_metrics()
                figures = {f"system/{name}": value for name, value in monitor.aggregate_metrics().items()}
                monitor.clear_metrics()
                self.log_metrics(figures, step)

    def set_tags(self, tags: Mapping[str, str]) -> None:
        """Names for searching and grouping runs."""
        as_text = {name: redacted(str(value)) for name, value in tags.items()}
        self._call(lambda store: store.log_tags(self.id, as_text))

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Dotted keys of params.yaml and their values."""
        as_text = {name: redacted(str(value)) for name, value in params.items()}
        self._call(lambda store: store.log_params(self.id, as_text))

    def log_artifact(self, path: Path, folder: str | None = None) -> None:
        """A file, or a folder with its content; it is read later and must exist until the stage ends."""
        here = path.resolve()
        self._call(lambda store: store.log_artifact(self.id, here, folder))

    def log_text(self, text: str, name: str) -> None:
        """A small file from a string."""
        self._call(lambda store: store.log_text(self.id, text, name))

    def log_input(self, name: str, digest: str, context: str) -> None:
        """A data set that was read; `context`: its use, such as training or evaluation."""
        self._call(lambda store: store.log_input(self.id, name, digest, context))

    def conclude_recipe(self, metrics: Mapping[str, float]) -> None:
        """End the run of the recipe with these metrics: all of its stages have run."""
        if self._recipe is not None:
            recipe, results = self._recipe, dict(metrics)
            self._call(lambda store: store.conclude(recipe, results))

    @contextmanager
    def child(self, name: str, tags: Mapping[str, str]) -> Iterator["Run"]:
        """A run below this one, e.g. a seed below its cell, with the names of this one as tags."""
        self._open("")
        own = {"mlflow.runName": name, **self._names, **tags}
        child = Run(self._recorder, lambda _store: {**own, "mlflow.parentRunId": self.id})
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
            self.flush()
            self._call(lambda store: store.close(self.id, status))

    def _opened_run(self) -> Opened:
        assert self._opened is not None
        return self._opened

    def _is_tracked(self) -> bool:
        return self._recorder is not None and not self._recorder.failed

    def _open(self, earlier: str) -> None:
        """Open the run at the first call; the stage waits only for a run with `begin`."""
        if self._recorder is None or self._is_open:
            return
        self._is_open = True

        def open_run(store: Store) -> None:
            self._opened = store.open(self._tags(store), earlier)

        self._recorder.do(open_run)
        if self._begin is not None:
            self._begin(self)
            self._recorder.wait()
            with suppress(Exception):
                _monitors()  # the load of the processor is counted from here

    def _call(self, call: Callable[[Store], object]) -> None:
        if self._recorder is not None and self._is_tracked():
            self._open("")
            self._recorder.do(call)


@contextmanager
def open_run(
    stage: str,
    labels: Mapping[str, str],
    params: Mapping[str, Any],
    params_path: Path,
    seconds: float = SECONDS,
) -> Iterator[Run]:
    """The run of a stage that begins now, or goes on (`Run.go_on`).

    Args:
        labels: the stage's options that are names, such as `task`, `arm`, `start` and `draw`; they become tags of this
            run and of its child runs, and parameters of this run.
        params: dotted keys and values.
        params_path: logged as an artifact.
        seconds: most that the stage waits for MLflow, all calls together.
    """

    def begin(run: Run) -> None:
        run.log_params({**labels, **params})  # names as well: charts of MLflow have axes for parameters, not for tags
        run.log_artifact(params_path)
        run.log_text("\n".join(sorted(f"{d.name}=={d.version}" for d in distributions())), "environment.txt")

    state = StoreState(project_root(), redacted(tracking_uri()))
    if _pauses(state):
        yield Run()
        return
    recipe, code = Recipe.read(params_path), origin()
    tags = {
        "mlflow.runName": run_name(stage, labels),
        "mlflow.source.name": f"stages/{stage}.py",
        "mlflow.note.content": note(stage, code),
        "stage": stage,
        "recipe": recipe.name,
        **labels,
        **code,
    }

    def under_its_recipe(store: Store) -> dict[str, str]:
        return {**tags, "mlflow.parentRunId": store.recipe(recipe)}

    recorder = Recorder(
        lambda: mlflow_store.prepare(state),
        lambda: Store(state),
        lambda error: _give_up(error, state),
        seconds,
    )
    run = Run(recorder, under_its_recipe, begin, recipe, labels)
    began = time.monotonic()
    try:
        with run.closing():
            yield run
            run.log_metrics({"cost/seconds": time.monotonic() - began})
    finally:
        recorder.close()


def _pauses(state: StoreState) -> bool:
    """Whether the store failed for an earlier stage not long ago; then prints a warning."""
    until = state.paused_until()
    if until is None:
        return False
    down = os.path.relpath(state.down)
    when = time.strftime("%H:%M:%S", time.localtime(until))
    print(
        f"warning: no tracking until {when}, because MLflow did not answer; to try again now: rm {down}",
        file=sys.stderr,
    )
    return True


def _give_up(error: Exception, state: StoreState) -> None:
    if mlflow_store.is_down(error):
        state.failed()
    reason = redacted(str(error)).splitlines()[0] if str(error) else type(error).__name__
    sys.stderr.write(f"warning: MLflow did not answer ({reason}); the stage goes on without tracking\n")


@cache
def _monitors() -> list[Any]:
    from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
    from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor

    monitors: list[Any] = [CPUMonitor()]
    with suppress(ImportError, RuntimeError):  # no nvidia-ml-py; no GPU
        monitors.append(GPUMonitor())
    return monitors
