"""Worker processes: results as of `map`, in order; reported errors; no process left behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adaptbert.errors import BadParams, Temporary
from adaptbert.runtime import worker_pool
from adaptbert.runtime.worker_pool import FEW, batch_workers, in_order, workers
from tests.support.imports import ROOT


def square(number: int) -> tuple[int, int]:
    """Also who did it; the earlier takes longer."""
    time.sleep(0.02 * (number % 3 == 0))
    return number**2, os.getpid()


def refuse(number: int) -> int:
    if number == 20:
        raise ValueError(f"not {number}")
    return number


def die(number: int) -> int:
    if number == 20:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("count", [1, 3])
def test_answers_come_in_order_whoever_gives_them(count: int) -> None:
    answers = list(in_order(square, range(40), count))
    assert [number for number, _ in answers] == [number**2 for number in range(40)]
    others = {process for _, process in answers} - {os.getpid()}
    assert 0 < len(others) <= count


@pytest.mark.parametrize(("items", "count"), [(0, 2), (1, 2), (FEW - 1, 2), (40, 0)])
def test_few_items_start_no_process(items: int, count: int) -> None:
    assert list(in_order(square, range(items), count)) == [(number**2, os.getpid()) for number in range(items)]


def test_items_are_read_a_few_ahead_of_the_answers() -> None:
    read = 0

    def items() -> Iterator[int]:
        nonlocal read
        while read < 200:
            read += 1
            yield read

    with closing(in_order(square, items(), 2)) as answers:
        for taken, _ in enumerate(answers, 1):
            assert read - taken <= FEW + 2 * 2 + 1
    assert read == 200


def refused_params(number: int) -> int:
    os.environ["ADAPTBERT_WORKERS"] = "many"
    return workers()


def test_an_error_is_the_function_s_own() -> None:
    """A user's error comes from another process as it is."""
    with pytest.raises(ValueError, match="not 20"):
        list(in_order(refuse, range(40), 2))
    with pytest.raises(BadParams, match=r"\n  write e.g. 8, or unset it$") as refused:
        list(in_order(refused_params, range(40), 1))
    assert (refused.value.exit_code, str(refused.value.place)) == (78, "ADAPTBERT_WORKERS")


def test_a_killed_worker_is_reported_with_a_code_for_retries() -> None:
    with pytest.raises(
        Temporary, match=r"AB-180 workers: one of 2 worker processes was killed\n  run again; .* ADAPTBERT_WORKERS"
    ):
        list(in_order(die, range(40), 2))


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADAPTBERT_WORKERS", "5")
    assert workers() == 5
    monkeypatch.delenv("ADAPTBERT_WORKERS")
    for cores, expected in ((1, 0), (2, 2), (64, 4)):
        monkeypatch.setattr(worker_pool, "cores", lambda cores=cores: cores)
        assert workers() == expected
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    assert [batch_workers(default) for default in (0, 2)] == [0, 2]
    monkeypatch.setenv("ADAPTBERT_BATCH_WORKERS", "3")
    assert (batch_workers(0), batch_workers(2), workers()) == (3, 3, 4)


PROGRAM = """
import itertools, signal, sys
from adaptbert.runtime import signals
from adaptbert.runtime.user_errors import user_errors
from adaptbert.runtime.worker_pool import in_order
from tests.runtime.test_worker_pool import square

def stop_there(frame, event, _):
    if [frame.f_code.co_name, event] == sys.argv[1:] and "threading.py" in frame.f_code.co_filename:
        sys.settrace(None)
        signal.raise_signal(signal.SIGINT)
    return stop_there

def work():
    signals.raise_at_once()
    for number, (_, process) in enumerate(in_order(square, itertools.count(), 2)):
        print(process, flush=True)
        if number == 10 and sys.argv[1:]:
            sys.settrace(stop_there)

if __name__ == "__main__":
    with user_errors("the same command goes on from here"):
        work()
"""


def begun(folder: Path, *place: str) -> "subprocess.Popen[str]":
    """It prints who gives the answers; with a place, a signal comes there."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipe, command = subprocess.PIPE, [sys.executable, str(program), *place]
    return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 75), (signal.SIGINT, 75)])
def test_workers_end_with_the_process_that_started_them(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """Also when the signal comes to all, as from a terminal."""
    process = begun(tmp_path)
    assert process.stdout is not None
    seen: set[str] = set()
    while len(seen) < 2:  # on a busy machine one of them may begin late
        seen.add(line := process.stdout.readline())
        assert line
    process.kill() if number == signal.SIGKILL else os.killpg(process.pid, number)
    _, printed = process.communicate(timeout=120)  # which waits until the last of them has let go of the pipe
    assert process.returncode == code
    assert "Traceback" not in printed


@pytest.mark.parametrize(("function", "event"), [("__enter__", "return"), ("__exit__", "call")])
def test_a_signal_inside_the_executor_leaves_no_lock_taken(tmp_path: Path, function: str, event: str) -> None:
    """An exception at these places leaves one taken, for which the process would wait for ever."""
    process = begun(tmp_path, function, event)
    _, printed = process.communicate(timeout=120)
    assert (process.returncode, printed) == (75, "stopped by SIGINT; the same command goes on from here\n")


def test_a_path_that_is_too_long_for_sockets_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches would be waited for for ever; without processes there are no sockets."""
    monkeypatch.setenv("ADAPTBERT_BATCH_WORKERS", "1")
    monkeypatch.setattr(tempfile, "tempdir", "/" + 74 * "t")
    assert batch_workers(0) == 1
    monkeypatch.setattr(tempfile, "tempdir", "/" + 75 * "t")
    with pytest.raises(BadParams, match=r"AB-109 TMPDIR: its path has 76 characters, .* at most 75\n  write a shorter"):
        batch_workers(0)
    monkeypatch.setenv("ADAPTBERT_BATCH_WORKERS", "0")
    assert batch_workers(0) == 0
