"""The copy of one file."""

import errno
import os
import resource
from pathlib import Path

import pytest

from adaptbert.errors import BadData
from adaptbert.project import copying


def test_a_copy_keeps_bytes_and_time_and_counts_them(tmp_path: Path) -> None:
    source, steps = tmp_path / "a", list[int]()
    source.write_bytes(os.urandom(copying.BLOCK + 7))
    os.utime(source, ns=(1, 1_234_567_890_123_456_789))
    copying.copy(source, tmp_path / "b", steps.append)
    assert (tmp_path / "b").read_bytes() == source.read_bytes()
    assert ((tmp_path / "b").stat().st_mtime_ns, sum(steps)) == (1_234_567_890_123_456_789, copying.BLOCK + 7)


def test_a_source_that_grows_meanwhile(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_text("a")
    with pytest.raises(BadData, match=r"AB-050 .*changed while it was copied"):
        copying.copy(source, tmp_path / "b", lambda _: source.write_text("longer"))


def test_a_copy_that_cannot_be_written(tmp_path: Path) -> None:
    """The system allows a file of so many bytes and no more."""
    (tmp_path / "a").write_bytes(bytes(5000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(
            copying.NotWritten, match=f"a cannot be copied here: {os.strerror(errno.EFBIG)}\n  make room"
        ):
            copying.copy(tmp_path / "a", tmp_path / "b", lambda _: None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
