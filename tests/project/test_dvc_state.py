"""What a killed DVC leaves beside dvc.lock: marks, copies, locks; and what stands where DVC writes."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from adaptbert.base.files import Blocked
from adaptbert.project import dvc_files
from tests.support.small_graph import dvc


@pytest.mark.parametrize("name", ["lock", "rwlock", "rwlock.lock"])
@pytest.mark.parametrize("put", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_among_the_state_of_dvc(project: Path, name: str, put: Callable[[Path], None]) -> None:
    path = Path(".dvc/tmp", name)
    path.unlink(missing_ok=True)
    put(path)
    with pytest.raises(Blocked) as refused:
        dvc_files.mend()
    assert str(refused.value) == (
        f"AB-184 {path}: not a file, and DVC writes one there\n  move it away while no DVC is at work"
    )


@pytest.mark.parametrize(
    "graph", ["", "[]", "stages: []", "stages: {a: 1}", "stages: {a: {outs: [{}]}}", "[" * 200_000]
)
def test_a_graph_of_another_form_is_left_to_dvc(project: Path, graph: str) -> None:
    Path("dvc.yaml").write_text(graph)
    assert dvc_files.mend() == []


MARKS = ["", '{"write": {"/x": {"pi', "[]", '{"a": 5}', '{"read": {"/x": [{"cmd": "dvc"}]}}']
MARKS += ["[" * 200_000, '{"write": {"/x": {"pid": 1e999}}}']


@pytest.mark.parametrize("text", MARKS, ids=range(len(MARKS)))
def test_marks_that_are_cut(project: Path, text: str) -> None:
    """DVC refuses to run until somebody removes the file."""
    Path(".dvc/tmp/rwlock").write_text(text)
    (line,) = dvc_files.mend()
    assert line == (
        ".dvc/tmp/rwlock cannot be read (a DVC that was killed may leave it so): removed; only a running DVC needs it"
    )
    assert not Path(".dvc/tmp/rwlock").exists()


def test_marks_of_a_number_that_another_process_has_now(project: Path) -> None:
    """As after the restart of a container: DVC would wait for this process for ever."""
    mark = {"pid": os.getpid(), "cmd": "dvc repro"}
    marks = {"write": {str(project / "out/one"): mark}, "read": {str(project / "in.txt"): [mark]}}
    Path(".dvc/tmp/rwlock").write_text(json.dumps(marks))
    assert dvc_files.mend() == []
    assert json.loads(Path(".dvc/tmp/rwlock").read_text()) == marks, "this process has lived longer: it may be DVC"
    long_ago = time.time() - 10**6
    os.utime(".dvc/tmp/rwlock", (long_ago, long_ago))
    assert dvc_files.mend() == []
    assert json.loads(Path(".dvc/tmp/rwlock").read_text()) == {"write": {}, "read": {}}
    Path("in.txt").write_text("another text")
    assert dvc("repro").returncode == 0


def test_copies_that_dvc_had_begun(project: Path) -> None:
    """Beside outputs only, and only names such as DVC gives."""
    for name in ("out/.AbCdEf_hij-lmnopqrstuv.tmp", "out/.mine.tmp", ".AbCdEf_hij-lmnopqrstuv.tmp"):
        Path(name).write_text("half")
    assert dvc_files.mend() == ["out/.AbCdEf_hij-lmnopqrstuv.tmp removed: a copy that DVC had begun when it was killed"]
    assert Path("out/.mine.tmp").is_file()
    Path("dvc.yaml").write_text("stages: {")
    assert dvc_files.mend() == [], "DVC itself reports it"


def test_a_lock_of_git_is_reported(project: Path) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".git/index.lock").touch()
    (line,) = dvc_files.mend()
    assert line.startswith("warning: .git/index.lock is there: a git is at work here, or a git or DVC was killed;")
    assert line.endswith("If no git is at work: rm .git/index.lock")


def test_where_dvc_never_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert dvc_files.mend() == []
    assert list(tmp_path.iterdir()) == []
