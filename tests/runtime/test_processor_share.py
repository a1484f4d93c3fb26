"""The share of the processor that a process gets, and what the progress line says of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adaptbert.runtime import libraries, processor_share
from adaptbert.runtime.processor_share import ProcessorShare
from adaptbert.runtime.progress import Progress
from tests.support.imports import ROOT
from tests.training.test_loop import LoggedRun

COUNTED = Path("/proc/self/schedstat").is_file() and hasattr(os, "sched_setaffinity")


def write(folder: Path, times: dict[str, tuple[int, int]]) -> None:
    for thread, (ran, waited) in times.items():
        (folder / thread).mkdir(exist_ok=True)
        (folder / thread / "schedstat").write_text(f"{ran} {waited} 7\n", encoding="ascii")


def test_it_is_counted_over_all_threads_since_it_was_asked(tmp_path: Path) -> None:
    write(tmp_path, {"1": (1_000, 500), "2": (0, 0)})
    share = ProcessorShare(tmp_path)
    assert share.read() is None, "no time has passed"
    write(tmp_path, {"1": (1_600, 700), "2": (100, 100), "3": (50, 50)})  # a new thread
    assert share.read() == pytest.approx(750 / 1_100)
    write(tmp_path, {"1": (1_700, 700)})
    assert share.read() == 1.0
    assert ProcessorShare(tmp_path / "no such system").read() is None


BUSY = """
import os, sys, time
from adaptbert.runtime.processor_share import ProcessorShare
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
share, over = ProcessorShare(), time.monotonic() + float(sys.argv[1])
while time.monotonic() < over:
    pass
print(share.read())
"""


@pytest.mark.skipif(not COUNTED, reason="this system does not count how long threads wait")
def test_two_processes_on_one_core_get_half_of_it_each() -> None:
    command = [sys.executable, "-c", BUSY]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*command, "4"], env=env, stdout=subprocess.DEVNULL) as other:
        measured = subprocess.run([*command, "1.5"], env=env, stdout=subprocess.PIPE, text=True, check=True)
        other.wait()
    assert 0.05 < float(measured.stdout) < 0.75


@pytest.mark.parametrize(
    ("throttled", "why"), [([0, 0], "other processes are at work"), ([3, 4], "the CPU quota of its container")]
)
def test_the_line_says_so_and_why(
    throttled: list[int], why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counted, shares = iter([*throttled, 4, 4]), iter([None, 0.254, 0.9])
    monkeypatch.setattr(processor_share, "times_throttled", lambda: next(counted))
    monkeypatch.setattr(ProcessorShare, "read", lambda _: next(shares))
    run = LoggedRun()
    shown = Progress(20, run)
    shown.tell(10, {"tokens": 100}, 1.0)
    shown.tell(20, {"tokens": 200}, 1.0)
    slow, fast = capsys.readouterr().out.splitlines()
    assert slow.endswith(f" left  gets 25% of the processor time that it could use: {why}")
    assert fast.endswith(" left")


@pytest.mark.parametrize(("here", "physical", "used"), [(4, 2, "2"), (2, 64, "2"), (3, None, "3")])
def test_threads_are_as_many_as_cores_that_may_be_used(
    here: int, physical: int | None, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "cores", lambda: here)
    monkeypatch.setattr("psutil.cpu_count", lambda logical: physical)
    assert libraries.threads()["OMP_NUM_THREADS"] == used


@pytest.mark.parametrize(("value", "there"), [(None, True), ("true", True), ("False", False)])
def test_variables_for_the_same_bits_are_set_where_they_are_wanted(
    value: str | None, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {} if value is None else {libraries.DETERMINISTIC: value})
    libraries.prepare_libraries()
    assert (os.environ.keys() >= libraries.SAME_BITS.keys()) is there
