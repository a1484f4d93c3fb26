"""Signals, sent to a process of its own: where it ends, with which code, and what it leaves."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys, time
from pathlib import Path
from adaptbert.runtime import signals as interruption
from adaptbert.runtime.stage import _exit_code
from adaptbert.base.files import whole

def work():
    interruption.raise_at_once()
    if sys.argv[1] == "deferred":
        with interruption.deferred():
            print("ready", flush=True)
            for step in range(100):
                time.sleep(0.05)
                if interruption.asked():
                    raise interruption.Interrupted(f"{interruption.asked()} after a whole step")
    with whole(Path("out")) as part:
        part.write_text("half")
        print("ready", flush=True)
        time.sleep(60)

sys.exit(_exit_code(work))
"""
SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])


def start(how: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, how]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@SIGNALS
def test_outside_training_it_ends_at_once_and_leaves_nothing_half(tmp_path: Path, number: signal.Signals) -> None:
    with start("at once", tmp_path) as process:
        process.send_signal(number)
        _, told = process.communicate(timeout=10)
    assert process.returncode == 75
    assert told == f"stopped by {number.name}; the same command goes on from here\n"
    assert list(tmp_path.iterdir()) == []


@SIGNALS
def test_during_training_it_is_noted_and_the_step_is_finished(tmp_path: Path, number: signal.Signals) -> None:
    with start("deferred", tmp_path) as process:
        process.send_signal(number)
        _, told = process.communicate(timeout=10)
    assert process.returncode == 75
    assert told == f"{number.name} after a whole step; the same command goes on from here\n"


def test_the_second_signal_ends_the_process_on_the_spot(tmp_path: Path) -> None:
    with start("deferred", tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
    assert process.returncode - 128 in (signal.SIGTERM, signal.SIGINT), "whichever the kernel delivers last"


DESTRUCTOR = """
import sys, time
from adaptbert.runtime import signals as interruption
from adaptbert.runtime.stage import _exit_code

class Slow:
    def __del__(self):
        print("ready", flush=True)
        time.sleep(2)

def work():
    interruption.raise_at_once()
    Slow()
    time.sleep(60)

sys.exit(_exit_code(work))
"""


@SIGNALS
def test_a_signal_that_strikes_in_a_destructor_is_not_lost(tmp_path: Path, number: signal.Signals) -> None:
    """Python prints what is raised there and goes on: the stage of a killed DVC went on for minutes."""
    command = [sys.executable, "-c", DESTRUCTOR]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, told = process.communicate(timeout=10)
    assert (process.returncode, told) == (75, f"stopped by {number.name}; the same command goes on from here\n")


PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
time.sleep(60)
"""
CHILD = """
import os, time
from pathlib import Path
from adaptbert.runtime import signals as interruption
interruption.raise_at_once()
interruption.die_with_parent()
Path("child").write_text(str(os.getpid()))
try:
    time.sleep(60)
except interruption.Interrupted:
    Path("asked").write_text("to stop")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal")
def test_a_stage_is_asked_to_stop_when_its_parent_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, CHILD], cwd=tmp_path) as parent:
        wait_for(tmp_path / "child")
        parent.kill()
    wait_for(tmp_path / "asked")


LATE = "import time; time.sleep(1.5)\n" + CHILD


def test_a_stage_whose_parent_was_killed_before_it_could_ask_stops(tmp_path: Path) -> None:
    """Importing takes a second or two, in which nobody tells it that DVC has ended."""
    with subprocess.Popen([sys.executable, "-c", PARENT, LATE], cwd=tmp_path, start_new_session=True) as parent:
        time.sleep(0.5)
        parent.kill()
    time.sleep(3)
    assert not (tmp_path / "child").exists()


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline, path
        time.sleep(0.05)
