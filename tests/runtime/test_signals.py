"""Signals, sent to a process of its own: where it ends, with which code, and what it leaves."""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from adaptbert.runtime import signals
from tests.support.project import alive, wait_until

PROGRAM = """
import signal, sys, time
from pathlib import Path
from adaptbert.runtime import signals
from adaptbert.runtime.user_errors import user_errors
from adaptbert.core.files import atomic_write

class Slow:
    def __del__(self):
        print("ready", flush=True)
        time.sleep(1)

class Signalled:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

class LastToGo:
    def __del__(self, sleep=time.sleep):
        sleep(0.2)

def at_once():
    with atomic_write(Path("out")) as part:
        part.write_text("half")
        print("ready", flush=True)
        time.sleep(60)

def deferred():
    with signals.deferred():
        print("ready", flush=True)
        for step in range(100):
            time.sleep(0.05)
            if signals.received():
                raise signals.Interrupted(f"{signals.received()} after a whole step")

def last_step():
    with signals.deferred():
        print("ready", flush=True)
        time.sleep(0.5)
        Path("whole").touch()
    time.sleep(60)

def measured():
    with signals.deferred():
        with signals.at_once():
            print("ready", flush=True)
            time.sleep(60)

def held():
    with signals.held():
        print("ready", flush=True)
        time.sleep(0.5)
        Path("whole").touch()
    time.sleep(60)

def two_ways():
    signal.pthread_sigmask(signal.SIG_BLOCK, signals.TAKEN)
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signals.PASSED_ON)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals.TAKEN)

def destructor():
    Slow()
    time.sleep(60)

def destructor_before_held():
    sys.last_to_go = LastToGo()  # so that Python takes longer to shut down than `_raise_again` waits
    Signalled()
    with signals.held():
        pass

def destructor_before_the_end():
    sys.last_to_go = LastToGo()
    Signalled()

def work():
    signals.raise_at_once()
    globals()[sys.argv[1]]()

with user_errors("the same command goes on from here"):
    work()
"""
AGAIN = "; the same command goes on from here\n"


def start(how: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, how]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize(
    ("how", "number", "line", "left"),
    [
        *(("at_once", number, "stopped by {}", []) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)),
        *(("deferred", number, "{} after a whole step", []) for number in (signal.SIGTERM, signal.SIGHUP)),
        pytest.param("last_step", signal.SIGTERM, "stopped by {}", ["whole"], id="after the last step"),
        pytest.param("measured", signal.SIGINT, "stopped by {}", [], id="while it measures: at once"),
        pytest.param("held", signal.SIGINT, "stopped by {}", ["whole"], id="in a held block: at its end"),
        # Python prints what is raised there and goes on: the stage of a killed DVC went on for minutes.
        pytest.param("destructor", signal.SIGTERM, "stopped by {}", [], id="in a destructor: after it"),
    ],
)
def test_where_a_signal_ends_the_process(
    tmp_path: Path, how: str, number: signal.Signals, line: str, left: list[str]
) -> None:
    """Outside training nothing is left half-written, in training the step is finished."""
    with start(how, tmp_path) as process:
        process.send_signal(number)
        _, printed = process.communicate(timeout=120)
    assert (process.returncode, printed) == (75, line.format(number.name) + AGAIN)
    assert [path.name for path in tmp_path.iterdir()] == left


@pytest.mark.parametrize(
    ("seconds", "second", "codes"),
    [
        pytest.param(signals.SECONDS_OF_ONE + 0.5, signal.SIGINT, [128 + signal.SIGINT], id="on the spot"),
        pytest.param(0.5, signal.SIGINT, [], id="soon after: the first by another way"),
        pytest.param(signals.SECONDS_OF_ONE + 60, signals.PASSED_ON, [], id="passed on, however late"),
    ],
)
@pytest.mark.parametrize("first", [signal.SIGTERM, signals.PASSED_ON])
def test_the_second_signal_ends_the_process(
    first: signal.Signals, seconds: float, second: signal.Signals, codes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the moments of the signals, which no busy machine delays here."""
    moments, ended = iter([1.0, 1.0 + seconds]), list[int]()
    monkeypatch.setattr(signals, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    monkeypatch.setattr(signals, "os", SimpleNamespace(_exit=ended.append))
    for name, value in (("_received", []), ("_first", 0.0)):
        monkeypatch.setattr(signals, name, value)
    # It raises at the end of the block where a test before this one has run a stage in this process.
    with suppress(signals.Interrupted), signals.deferred():
        signal.raise_signal(first)
        signal.raise_signal(second)
        assert signals.received() == "SIGTERM"
    assert ended == codes


def test_a_signal_that_comes_two_ways_at_once_is_one(tmp_path: Path) -> None:
    """Ctrl-C, from the terminal and passed on by the flow: the second was raised while the first was made a message."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, "two_ways"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (75, f"stopped by SIGINT{AGAIN}")


@pytest.mark.parametrize(
    ("how", "code", "printed"),
    [("destructor_before_held", 75, f"stopped by SIGTERM{AGAIN}"), ("destructor_before_the_end", 0, "")],
)
def test_a_signal_inside_a_destructor_does_not_kill_a_process_that_is_ending(how: str, code: int, printed: str) -> None:
    """The alarm that should raise it again would come while Python shuts down, and nothing catches it there."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (code, printed)


def test_a_helper_whose_helper_was_killed_ends_likewise() -> None:
    """A rank whose process for batches was killed: the stage says that it was lost, and not that there is a fault."""
    code = "from adaptbert.runtime import signals; signals.follow_parent(); raise RuntimeError({!r})"
    for words, status in ((f"{signals.HELPER_KILLED} 7) is killed by signal: Killed. ", -signal.SIGKILL), ("ours", 1)):
        done = subprocess.run([sys.executable, "-c", code.format(words)], capture_output=True, text=True, timeout=120)
        assert (done.returncode, "Traceback" in done.stderr) == (status, status == 1)


PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
time.sleep(60)
"""
CHILD = """
import os, time
from pathlib import Path
from adaptbert.runtime import signals
signals.raise_at_once()
signals.die_with_parent()
Path("child").write_text(str(os.getpid()))
try:
    time.sleep(60)
except signals.Interrupted:
    Path("signalled").write_text("to stop")
"""
LATE = """
import os, time
parent = os.getppid()
with open("part", "w") as file:
    file.write(str(os.getpid()))
os.rename("part", "late")
while os.getppid() == parent:
    time.sleep(0.01)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal")
def test_a_stage_gets_a_signal_when_its_parent_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, CHILD], cwd=tmp_path) as parent:
        wait_until((tmp_path / "child").exists, 120)
        parent.kill()
    wait_until((tmp_path / "signalled").exists, 120)


def test_a_stage_whose_parent_was_killed_before_it_could_ask_stops(tmp_path: Path) -> None:
    """Importing takes a second or two, in which it gets no signal that DVC has ended."""
    with subprocess.Popen([sys.executable, "-c", PARENT, LATE + CHILD], cwd=tmp_path, start_new_session=True) as parent:
        wait_until((tmp_path / "late").exists, 120)
        parent.kill()
    pid = int((tmp_path / "late").read_text())
    wait_until(lambda: not alive(pid), 60)
    assert not (tmp_path / "child").exists()


COMMAND = """
import signal, time
from adaptbert.cli import app
from adaptbert.runtime import signals

@app.command()
def slow(takes: bool = False):
    if takes:
        signals.raise_at_once()
    print("ready", flush=True)
    time.sleep(60)

app()
"""


@pytest.mark.parametrize(
    ("options", "number", "code"),
    [
        ((), signal.SIGINT, 128 + signal.SIGINT),
        ((), signal.SIGTERM, -signal.SIGTERM),
        (("--takes",), signal.SIGINT, 75),
        (("--takes",), signal.SIGTERM, 75),
    ],
)
def test_a_command_ends_by_a_signal_unless_it_can_go_on(
    options: tuple[str, ...], number: signal.Signals, code: int
) -> None:
    """A caller tries again what ends with 75."""
    command = [sys.executable, "-c", COMMAND, "slow", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert "Traceback" not in process.communicate(timeout=60)[1]
    assert process.returncode == code


def test_nohup_stays_in_force() -> None:
    code = "import signal; from adaptbert.runtime import signals; signals.raise_at_once(); signal.raise_signal(1)"
    for before, ends in ((signal.SIG_IGN, 0), (signal.SIG_DFL, 1)):
        set_before = f"import signal; signal.signal(signal.SIGHUP, signal.Handlers({int(before)})); {code}"
        assert subprocess.run([sys.executable, "-c", set_before], capture_output=True).returncode == ends
