"""Savepoints: what is written comes back bit for bit, or the one before it does, or nothing is taken for granted."""

import os
import random
import resource
import shutil
import signal
from pathlib import Path
from unittest import mock

import pytest
import torch

from adaptbert.errors import BadData, Unwritable
from adaptbert.training.savepoints import Savepoints, State

VALUES = {"curve": [{"step": 1, "loss": 0.1 + 0.2}], "nothing": float("nan")}


def state(step: int) -> State:
    torch.manual_seed(step)
    tensors = {
        "weights/a": torch.randn(40, 7),
        "weights/b": torch.randn(3).bfloat16(),
        "optimizer/0/step": torch.tensor(2.0),
    }
    return State(step, tensors, {**VALUES, "at": step})


def assert_equal(loaded: State | None, step: int) -> None:
    assert loaded is not None
    assert loaded.step == loaded.values["at"] == step
    assert loaded.values["curve"] == VALUES["curve"]
    expected = state(step)
    assert loaded.tensors.keys() == expected.tensors.keys()
    for name, tensor in expected.tensors.items():
        assert loaded.tensors[name].dtype == tensor.dtype
        assert torch.equal(loaded.tensors[name], tensor)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A folder with the savepoints of steps 3 and 5."""
    points = Savepoints(tmp_path / "run")
    for step in (3, 5):
        points.save(state(step))
    return points.folder


def test_the_last_two_by_step_remain_whatever_their_times(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    points = Savepoints(folder)
    assert points.latest() is None
    for step in (9, 10, 100):
        points.save(state(step))
    os.utime(files(folder)[-1], (0, 0))
    assert [int(path.name[:8]) for path in files(folder)] == [10, 100]
    assert_equal(points.latest(), 100)


def damages(content: bytes) -> dict[str, bytes]:
    """40 kinds of damage."""
    draw = random.Random(0)
    kinds = {"empty": b"", "zero tail": content[:-64] + bytes(64), "longer": content + b"x", "reversed": content[::-1]}
    kinds |= {f"cut at {cut}": content[:cut] for cut in draw.sample(range(1, len(content)), 11)}
    for place in draw.sample(range(8 * len(content)), 25):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        kinds[f"bit {place}"] = bytes(flipped)
    return kinds


def test_every_damage_is_detected_and_the_savepoint_before_is_loaded(
    two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = files(two)[-1]
    for name, damaged in damages(newest.read_bytes()).items():
        copy = tmp_path / name
        shutil.copytree(two, copy)
        (copy / newest.name).write_bytes(damaged)
        assert_equal(Savepoints(copy).latest(), 3)
        assert f"{newest.name} is damaged and set aside" in capsys.readouterr().err, name
        assert [path.suffix for path in sorted(copy.iterdir())] == [".safetensors", ".bad"]


def test_when_all_are_damaged_the_run_does_not_start_anew(two: Path) -> None:
    for path in files(two):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BadData, match=r"AB-124 .*each of its 2 savepoints is damaged\n  remove .* to train again"):
        Savepoints(two).latest()


class Crash(BaseException):
    pass


def crash(*_: object, **__: object) -> None:
    raise Crash


SAVEPOINTS = "adaptbert.training.savepoints"


@pytest.mark.parametrize(
    ("step_of_writing", "remains"),
    [("os.fsync", 5), (f"{SAVEPOINTS}.file_digest", 5), ("pathlib.Path.replace", 5), (f"{SAVEPOINTS}.sync", 5),
     ("pathlib.Path.unlink", 8)],
)  # fmt: skip
def test_a_crash_at_any_point_of_writing_leaves_the_one_before_or_the_new_one(
    two: Path, step_of_writing: str, remains: int
) -> None:
    with mock.patch(step_of_writing, crash), pytest.raises(Crash):
        Savepoints(two).save(state(8))
    assert_equal(Savepoints(two).latest(), remains)
    assert list(two.glob(".*")) == [], "what the crash left is cleared away"
    Savepoints(two).save(state(8))
    assert_equal(Savepoints(two).latest(), 8)


def test_a_disk_that_does_not_give_back_what_was_written_leaves_what_was_there(two: Path) -> None:
    before = list(two.iterdir())
    with mock.patch(f"{SAVEPOINTS}.file_digest", return_value="other"), pytest.raises(OSError, match="read back"):
        Savepoints(two).save(state(8))
    assert list(two.iterdir()) == before


def test_a_full_disk_leaves_what_was_there(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on the size of files stands for the disk: the same error, without a file system of our own. The temporary
    folder of the system, which may have room, is not used."""
    monkeypatch.setenv("TMPDIR", "/nowhere")
    before = files(two)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(Unwritable, match="larger than a file may be here"):
            Savepoints(two).save(state(8))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, old)
    assert files(two) == before
    assert list(two.glob(".*")) == []
    assert_equal(Savepoints(two).latest(), 5)
