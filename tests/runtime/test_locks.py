"""One process at a time works on a stage, and a lock never outlives its holder."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adaptbert.errors import Temporary, Unwritable
from adaptbert.runtime.locks import FINISHED, ROOT, finish, remove_finished, stage_lock

HOLDER = """
import os, sys, time
from adaptbert.runtime.locks import stage_lock
with stage_lock("pretrain"):
    if sys.argv[1] == "fork" and os.fork() == 0:
        os.write(1, b"child\\n")
        time.sleep(60)
    os.write(1, b"held\\n")
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def holder(how: str = "alone") -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, how], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        lines = {process.stdout.readline() for _ in range(2 if how == "fork" else 1)}
        assert "held\n" in lines
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_a_second_process_waits_says_so_and_then_names_the_holder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptbert.runtime.locks.SILENT_SECONDS", 0.3)
    with holder() as process:
        works = rf"process {process.pid} on \S+ works on this stage"
        began = time.monotonic()
        message = f"AB-159 .work/pretrain: {works}"
        with pytest.raises(Temporary, match=message) as caught, stage_lock("pretrain", patience=1):
            pass
        assert time.monotonic() - began > 0.9
        assert caught.value.exit_code == 75
        assert re.fullmatch(f"{works}: waiting 1 s for it to end\n", capsys.readouterr().out)
        with pytest.raises(Temporary), stage_lock("pretrain", patience=0.1):
            pass
        with stage_lock("finetune-section-domain", patience=0):
            assert capsys.readouterr().out == ""


def test_something_else_in_its_place_is_reported_and_stays(inside: Path) -> None:
    (inside / ROOT).touch()
    message = f"AB-184 {ROOT}: not a folder, and one belongs there\n  move it away"
    with pytest.raises(Unwritable, match=message), stage_lock("pretrain", patience=0):
        pass
    assert (inside / ROOT).is_file()


def test_a_forked_child_does_not_hold_it_for_its_dead_parent() -> None:
    with holder("fork") as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        with stage_lock("pretrain", patience=1):
            pass


def test_state_goes_when_dvc_has_recorded_the_stage_and_not_before(inside: Path) -> None:
    metrics = inside / "metrics.json"
    metrics.write_text("{}")
    with stage_lock("pretrain") as folder:
        (folder / "run").mkdir()
        finish(folder, metrics)
    lock = inside / "dvc.lock"
    remove_finished(lock)
    lock.write_text("stages:\n  other:\n    md5: 0123\n")
    remove_finished(lock)
    assert (ROOT / "pretrain/run").is_dir()
    lock.write_text(f"stages:\n  pretrain:\n    md5: {(ROOT / 'pretrain' / FINISHED).read_text()}\n")
    with holder():
        remove_finished(lock)
        assert (ROOT / "pretrain/run").is_dir(), "somebody works on it"
    remove_finished(lock)
    assert not (ROOT / "pretrain").exists()


def test_a_folder_that_another_stage_has_just_locked_anew_stays(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks for finished stages as well, between the end of the lock's file and that of the folder."""
    metrics, rmdir = inside / "metrics.json", os.rmdir
    metrics.write_text("{}")
    with stage_lock("pretrain") as folder:
        finish(folder, metrics)
    lock = inside / "dvc.lock"
    lock.write_text((folder / FINISHED).read_text())

    def late(*given: Any, **more: Any) -> None:
        (folder / "lock").touch()
        rmdir(*given, **more)

    with monkeypatch.context() as raced:
        raced.setattr(os, "rmdir", late)
        remove_finished(lock)
    assert [path.name for path in folder.iterdir()] == ["lock"]
    with stage_lock("pretrain", patience=0):
        pass
