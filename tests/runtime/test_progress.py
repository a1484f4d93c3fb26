"""What a user sees while a model trains, and what the tracking run gets of it."""

import io
import sys
import threading
from pathlib import Path

import pytest
from mlflow import MlflowClient

from adaptbert.runtime import progress
from adaptbert.runtime.progress import Progress, StatusLine
from adaptbert.runtime.tracking import run as tracking
from adaptbert.runtime.tracking.run import open_run
from adaptbert.runtime.tracking.store import tracking_uri
from tests.training.test_loop import LoggedRun

ERASE, SHOWN_CURSOR = "\r\x1b[2K", "\x1b[?25h"


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


@pytest.fixture(autouse=True)
def _undisturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that the tests run on may be busy, and the line would say so."""
    monkeypatch.setattr(progress, "processor_times", lambda: (0, 0))


def test_a_line_tells_step_loss_speed_and_time_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    run = LoggedRun()
    shown = Progress(100, run)
    shown.begin(20, {"tokens": 5_000, "chosen": 700})  # of an earlier process
    clock.now += 4
    assert not shown.is_due()
    with shown.paused():
        clock.now += 1_000  # measuring
    clock.now += 6
    assert shown.is_due()
    shown.tell(40, {"tokens": 9_000, "chosen": 1_700}, 2.5)
    assert not shown.is_due()
    assert capsys.readouterr().out == "  step     40/100  loss 2.500  400 tokens/s  0:30 left\n"
    assert run.metrics == [("train/tokens_per_second", 400.0, 40)]


def test_the_line_says_that_the_process_waits_for_the_processor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter([(0, 0), (0, 0), (100, 300), (1_000, 400)])
    monkeypatch.setattr(progress, "processor_times", lambda: next(times))
    shown = Progress(20, LoggedRun())
    shown.begin(0, {})
    shown.tell(10, {"tokens": 100}, 1.0)
    shown.tell(20, {"tokens": 200}, 1.0)
    slow, fast = capsys.readouterr().out.splitlines()
    assert slow.endswith(
        " left  gets 25% of the processor time that it could use: other processes, or a quota, have the rest"
    )
    assert fast.endswith(" left")


def in_terminal(monkeypatch: pytest.MonkeyPatch, stream: str = "stdout", columns: int = 100) -> Terminal:
    """To be called in the test itself: before it, pytest sets the streams once more."""
    terminal = Terminal()
    monkeypatch.setattr(sys, stream, terminal)
    for name, value in {"TERM": "xterm", "COLUMNS": str(columns), "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    return terminal


def written_over(terminal: Terminal) -> list[str]:
    """What stood in the line of the bar, one after the other; without what it begins with, a bar of nothing."""
    return terminal.getvalue().split(ERASE)[1:]


def test_in_a_terminal_a_bar_is_written_over(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, run = in_terminal(monkeypatch), LoggedRun()
    shown = Progress(20, run)
    shown.begin(0, {})
    with shown.closing():
        for step in range(5, 21, 5):
            clock.now += 1
            assert shown.is_due()
            shown.tell(step, {"tokens": 100 * step}, 1.0)
        shown.note("warning: a spike")
    bars = written_over(terminal)
    assert [bar.count("━") for bar in bars[:4]] == [7, 15, 22, 30]
    assert all(bar.endswith(" left") for bar in bars[:4])
    assert bars[4].startswith("  warning: a spike\n"), "above the bar, on a line of its own"
    assert "\n" not in "".join(bars[:4])
    assert bars[-1].endswith(f"0:00 left\n{SHOWN_CURSOR}"), "what is printed next has a line of its own"
    assert {step for _, _, step in run.metrics} == {20}, "not logged twice a second"


def test_a_killed_process_leaves_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = in_terminal(monkeypatch)
    with StatusLine(terminal, 20).closing():
        assert terminal.getvalue().endswith(SHOWN_CURSOR)


def test_a_narrow_terminal_does_not_wrap(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = in_terminal(monkeypatch, columns=40)
    shown = Progress(20, LoggedRun())
    clock.now += 1
    with shown.closing():
        shown.tell(10, {"tokens": 100}, 1.0)
    assert written_over(terminal)[0] == "step     10/20  loss 1.000  100 tokens/…"


def test_a_terminal_that_cannot_write_over_a_line_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = in_terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    line = StatusLine(terminal, 20)
    with line.closing():
        line.show(10, "half")
    assert terminal.getvalue() == "  half\n"


def test_what_is_printed_to_another_stream_stays_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`adaptbert predict -o -`: answers go to stdout, a bar to stderr."""
    terminal = in_terminal(monkeypatch, "stderr")
    with StatusLine(terminal, None).closing():
        print("an answer")
        print("a warning", file=sys.stderr)
    assert capsys.readouterr().out == "an answer\n"
    assert "a warning\n" in terminal.getvalue()
    assert "an answer" not in terminal.getvalue()


def test_the_record_says_how_busy_the_machine_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under MLflow's own names, without a thread; in a run that goes on no step twice; and a failure stops nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    threads = {thread.name for thread in threading.enumerate()}
    for steps in ((5, 10), (10, 15)):
        with open_run("pretrain", {}, {}, tmp_path / "params.yaml") as run:
            run.go_on(tmp_path / "work")
            for step in steps:
                run.log_machine(step)
    assert {thread.name for thread in threading.enumerate()} == threads
    client = MlflowClient(tracking_uri())
    for name in ("cpu_utilization_percentage", "system_memory_usage_percentage", "system_memory_usage_megabytes"):
        points = client.get_metric_history(run.id, f"system/{name}")
        assert [point.step for point in points] == [5, 10, 15], name
        assert all(point.value >= 0 for point in points)
    assert 0 < client.get_run(run.id).data.metrics["system/system_memory_usage_percentage"] < 100

    monkeypatch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "false")
    with open_run("pretrain", {}, {}, tmp_path / "params.yaml") as silent:
        silent.log_metrics({"loss": 1.0}, 5)
        silent.log_machine(5)
        silent.flush()
    assert not [name for name in client.get_run(silent.id).data.metrics if name.startswith("system/")]

    monkeypatch.delenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING")
    monkeypatch.setattr(tracking, "_monitors", fail)
    with open_run("pretrain", {}, {}, tmp_path / "params.yaml") as undisturbed:
        undisturbed.log_metrics({"loss": 1.0}, 5)
        undisturbed.log_machine(5)
    assert client.get_run(undisturbed.id).info.status == "FINISHED"


def fail() -> list[object]:
    raise OSError("no /proc")
