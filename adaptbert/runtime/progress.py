"""Progress of a training run: a bar in a terminal, elsewhere lines after 5, 15, 35, 75 seconds and then each minute,
with step, loss, speed and the time left; the tracking run has the speed.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

from adaptbert.runtime.mlflow import Run

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINE_SECONDS = 5.0
"""Seconds until the first line; from line to line they are twice as long, up to `MOST_TIMES` as long."""
MOST_TIMES = 12
BAR_SECONDS = 0.5
BAR_WIDTH = 30


class StatusLine:
    """How far a run is: a bar with a text in a terminal, elsewhere the text as a line, often in the beginning.

    Args:
        stream: stdout or stderr. Lines that others print to it appear above the bar.
        total: the amount of work; None where it is unknown, and no bar is drawn.
    """

    def __init__(self, stream: TextIO, total: int | None) -> None:
        self._stream = stream
        self._bar = _bar(stream, total) if stream.isatty() else None
        self.begin()

    def begin(self) -> None:
        """The work begins now."""
        self._shown, self._times = time.monotonic(), 1

    def is_due(self) -> bool:
        """Whether it is time to show progress again."""
        return time.monotonic() - self._shown > (LINE_SECONDS * self._times if self._bar is None else BAR_SECONDS)

    def show(self, done: int, text: str) -> None:
        """Show that `done` of the total is done."""
        self._shown, self._times = time.monotonic(), min(2 * self._times, MOST_TIMES)
        if self._bar is None:
            print(f"  {text}", file=self._stream, flush=True)
        else:
            self._bar.update(self._bar.task_ids[0], completed=done, description=text, refresh=True)

    @contextmanager
    def closing(self) -> Iterator[None]:
        """The bar is drawn in this block; after it, however it ends, what is printed has a line of its own."""
        if self._bar is None:
            yield
            return
        with self._bar:
            self._bar.console.show_cursor()  # rich hides it, and a killed process could not restore it
            yield


def _bar(stream: TextIO, total: int | None) -> "Bar | None":
    """A bar; None for a terminal that cannot overwrite a line. rich is imported here because that takes 0.1 s."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    console = Console(file=stream, soft_wrap=True)  # lines above the bar come as a whole: the guard reads them
    if not console.is_interactive:
        return None
    text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True))
    shown = Progress(
        *([] if total is None else [BarColumn(BAR_WIDTH)]),
        text,
        console=console,
        auto_refresh=False,  # no thread beside training
        redirect_stdout=stream is sys.stdout,  # the other stream may be a file
        redirect_stderr=stream is sys.stderr,
    )
    shown.add_task("", total=total)
    return shown


class Progress:
    """Speed and time left of the training of this process, without pauses (measuring, saving).

    Args:
        steps: at which the run ends.
        run: gets `train/tokens_per_second` and the load of the machine.
        label: of this training, among several of the process.
    """

    def __init__(self, steps: int, run: Run, label: str = "") -> None:
        self._steps, self._run, self._label = steps, run, label
        self.line = StatusLine(sys.stdout, steps)
        self.begin(0, {})

    def begin(self, step: int, counts: Mapping[str, int]) -> None:
        """Training begins after `step` steps with these counts."""
        self._first, self._counts = step, dict(counts)
        self._began = self._recorded = time.monotonic()
        self.line.begin()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What happens in this block is not training."""
        paused = time.monotonic()
        try:
            yield
        finally:
            self._began += time.monotonic() - paused

    def tell(self, step: int, counts: Mapping[str, int], loss: float) -> None:
        """Show how far training is after `step` steps with these counts, and record the speed."""
        now = time.monotonic()
        seconds = max(1e-9, now - self._began)
        speed = (counts["tokens"] - self._counts.get("tokens", 0)) / seconds
        left = int(seconds / (step - self._first) * (self._steps - step))
        parts = [
            *([self._label] if self._label else []),
            f"step {step:>6,}/{self._steps:,}",
            f"loss {loss:.3f}",
            f"{speed:,.0f} tokens/s",
            f"{left // 60}:{left % 60:02d} left",
        ]
        self.line.show(step, "  ".join(parts))
        if step == self._steps or now - self._recorded > LINE_SECONDS:
            self._run.log_metrics({"train/tokens_per_second": speed}, step)
            if self._run.id:
                self._run.log_metrics(load_of_machine(), step)
            self._recorded = now


def load_of_machine() -> dict[str, float]:
    """The load of processor, memory and GPUs under MLflow's names, read without the thread that MLflow would start, and
    the memory of this process, which keeps what it frees.

    MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING=false leaves it out; GPUs need the package nvidia-ml-py.
    """
    loads: dict[str, float] = {}
    if os.environ.get("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "").lower() != "false":
        with suppress(Exception):  # an error of a monitor must not stop training
            import psutil

            _monitor().collect_metrics()
            loads = {f"system/{name}": load for name, load in _monitor().aggregate_metrics().items()}
            loads["system/process_memory_megabytes"] = psutil.Process().memory_info().rss / 1e6
            for monitor in _monitor().monitors:
                monitor.clear_metrics()
    return loads


@cache
def _monitor() -> Any:
    from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

    return SystemMetricsMonitor("")
