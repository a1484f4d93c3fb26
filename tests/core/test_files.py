"""Writes are atomic; the files that `kill -9` leaves are removed by the next writer and never recorded by DVC."""

import errno
import os
import subprocess
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from adaptbert.core.files import atomic_write, full_disk, write_json
from adaptbert.errors import Unwritable
from tests.support.project import ROOT, environment

WRITER = """
import sys, time
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from adaptbert.core.files import atomic_write
with atomic_write(Path(sys.argv[1])) as part:
    if sys.argv[2] == "folder":
        part.mkdir()
        part = part / "inside"
    part.write_text("half")
    print(part, flush=True)
    time.sleep(60)
"""


def begun(target: Path, how: str) -> "tuple[subprocess.Popen[str], Path]":
    """A process in the middle of writing."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, target, how], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def killed(target: Path, how: str) -> Path:
    process, part = begun(target, how)
    process.kill()
    process.communicate()
    assert part.read_text() == "half"
    return part


@pytest.mark.parametrize("how", ["file", "folder"])
def test_what_a_kill_left_goes_when_the_target_is_written(tmp_path: Path, how: str) -> None:
    target, other = tmp_path / "[1] metrics.json", tmp_path / "metrics.json"
    killed(target, how)
    leftover = killed(other, how)
    write_json(target, {"a": 1})
    assert leftover.exists(), "of another target"
    write_json(other, {})
    assert sorted(path.name for path in tmp_path.iterdir()) == [target.name, other.name]


def test_a_file_does_not_replace_a_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/kept").write_text("kept")
    with pytest.raises(Unwritable, match="out: a folder, not a file"):
        write_json(tmp_path / "out", {})
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "kept"]
    with atomic_write(tmp_path / "out") as part:
        part.mkdir()
        (part / "new").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "new"]


def test_what_another_process_is_writing_stays(tmp_path: Path) -> None:
    process, part = begun(tmp_path / "out", "file")
    try:
        write_json(tmp_path / "out", {})
        assert part.read_text() == "half"
    finally:
        process.kill()
        process.communicate()


def test_a_process_id_that_is_reused(tmp_path: Path) -> None:
    """As in a container that was started again: the same number, and not the process that wrote this."""
    for pid in (os.getpid(), os.getppid()):
        left = tmp_path / f".out.{pid}.part"
        left.mkdir()
        os.utime(left, (1e9, 1e9))
    with atomic_write(tmp_path / "out") as part:
        part.mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    "command", [("git", "check-ignore", "--no-index"), (sys.executable, "-m", "dvc", "check-ignore")]
)
def test_neither_dvc_nor_git_sees_it(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Nor what a kill leaves of DVC's own files."""
    left = [f"metrics/finetune/.a.json.77.part{inside}" for inside in ("", "/x")] + ["metrics/.AbCdEf_hij-lmnop.tmp"]
    done = subprocess.run(
        [*command, *left, "metrics/metrics.json"], cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True
    )
    assert done.stdout.splitlines() == left, done.stderr


def test_a_full_disk_of_temporary_files_is_named(
    tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of the output, which has room."""
    monkeypatch.setenv("TMPDIR", str(small_disk))
    problem = (
        f"no space left on the disk of {small_disk}, where temporary files lie, [0-9,]+ are free\n  make room there"
    )
    with pytest.raises(Unwritable, match=f"^AB-189 {tmp_path}/out: {problem}"), atomic_write(tmp_path / "out"):
        (small_disk / "rows").write_bytes(bytes(5 * 2**20))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with (
        pytest.raises(Unwritable, match=r"^AB-189 .*/disk/out: no space left on the disk, more than [0-9,]+ bytes are"),
        atomic_write(small_disk / "out") as part,
    ):
        part.write_bytes(bytes(5 * 2**20))


def test_one_disk_is_never_taken_for_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others write meanwhile: what is free is less each time that somebody asks."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    free = count(1000, -1)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=next(free)))
    error = full_disk(OSError(errno.ENOSPC, "", str(tmp_path / "models/x")))
    assert str(error).startswith(f"AB-189 {tmp_path}/models/x: no space left on the disk, 1,000 are free\n")


def test_an_error_names_the_file_of_the_user(tmp_path: Path) -> None:
    """And not the temporary one beside it."""
    with pytest.raises(FileNotFoundError) as caught, atomic_write(tmp_path / "out") as part:
        part.read_bytes()
    assert caught.value.filename == str(tmp_path / "out")
