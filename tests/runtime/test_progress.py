"""What a user sees while a model trains, and what the record gets of it."""

import io
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from mlflow import MlflowClient

from adaptbert.runtime import progress
from adaptbert.runtime.peak_flops import matmul_peak
from adaptbert.runtime.progress import Progress
from adaptbert.runtime.tracking import run as tracking
from adaptbert.runtime.tracking.run import open_run
from tests.training.test_loop import Kept


class Clock:
    """Time that passes when it is told to."""

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


def flop(counts: Mapping[str, int]) -> float:
    return 1e6 * counts["tokens"] + 1e3 * counts["chosen"]


def test_a_line_tells_step_loss_speed_share_and_time_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    run = Kept()
    shown = Progress(100, run, flop, lambda: 1e9)
    shown.begin(20, {"tokens": 5_000, "chosen": 700})  # of an earlier process
    clock.now += 4
    assert not shown.is_due()
    with shown.paused():
        clock.now += 1_000  # measuring
    clock.now += 6
    assert shown.is_due()
    shown.tell(40, {"tokens": 9_000, "chosen": 1_700}, 2.5)
    assert not shown.is_due()
    assert capsys.readouterr().out == "  step     40/100  loss 2.500  400 tokens/s  40% of peak  0:30 left\n"
    assert run.metrics == [("train/tokens_per_second", 400.0, 40), ("train/share_of_peak", pytest.approx(0.4001), 40)]


def test_the_peak_is_asked_when_there_is_something_to_tell_and_costs_no_speed(clock: Clock) -> None:
    run = Kept()

    def peak() -> float:
        clock.now += 50
        return 1e9

    shown = Progress(4, run, flop, peak)
    shown.begin(0, {})
    for step in (1, 2):
        clock.now += 10
        shown.tell(step, {"tokens": 4_000 * step, "chosen": 0}, 1.0)
    assert [value for name, value, _ in run.metrics if name == "train/tokens_per_second"] == [400.0, 400.0]
    assert clock.now == 100 + 2 * 60


def test_without_a_count_of_operations_no_share_is_told(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress(10, Kept())
    shown.begin(0, {})
    clock.now += 10
    shown.tell(10, {"tokens": 1_000}, 1.0)
    assert capsys.readouterr().out == "  step     10/10  loss 1.000  100 tokens/s  0:00 left\n"


def test_in_a_terminal_a_bar_is_written_over(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, run = Terminal(), Kept()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "100")
    shown = Progress(20, run)
    shown.begin(0, {})
    with shown.closing():
        for step in range(5, 21, 5):
            clock.now += 1
            assert shown.is_due()
            shown.tell(step, {"tokens": 100 * step}, 1.0)
        shown.note("warning: a spike")
        shown.tell(20, {"tokens": 2_000}, 1.0)
    lines = terminal.getvalue().split(progress.CLEAR)[1:]
    assert [line.count("#") for line in lines] == [7, 15, 22, 30, 0, 30]
    assert lines[4] == "  warning: a spike\n"
    assert all(len(line) < 100 for line in lines)
    assert lines[5].endswith("0:00 left\n"), "what is printed next has a line of its own"
    assert "\n" not in "".join(lines[:4])
    assert {step for _, _, step in run.metrics} == {20}, "the record is not asked twice a second"


def test_a_narrow_terminal_does_not_wrap(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    shown = Progress(20, Kept())
    clock.now += 1
    shown.tell(10, {"tokens": 100}, 1.0)
    (line,) = terminal.getvalue().split(progress.CLEAR)[1:]
    assert len(line) == 39


def test_the_peak_of_this_machine() -> None:
    """Measured once; training's random numbers are left alone."""
    matmul_peak.cache_clear()
    state = torch.get_rng_state()
    peak = matmul_peak(torch.float32, seconds=0.01)
    assert torch.equal(torch.get_rng_state(), state)
    assert 1e8 < peak < 1e17
    assert matmul_peak(torch.float32, seconds=0.01) == peak
    assert matmul_peak.cache_info().hits == 1


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
    client = MlflowClient(tracking.tracking_uri())
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
