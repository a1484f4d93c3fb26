"""Copies a file, with progress."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.errors import IO_ERROR, BadData, UserError

BLOCK = 4 << 20


class NotWritten(UserError):
    """A copy cannot be written: no space, or no permission."""

    exit_code = IO_ERROR


def copy(source: Path, target: Path, advance: Callable[[int], object]) -> None:
    """The bytes and the time of change of `source`; `target` is a new name.

    Args:
        advance: called with the bytes done since its last call.

    Raises:
        BadData: `source` cannot be read, or changed meanwhile.
        NotWritten: `target` cannot be written.
    """
    before = _stat(source)
    _write(source, target, advance)
    after = _stat(source)
    if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise BadData(Code.FILE, source, "changed while it was copied", "run again when nothing writes to it")
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))


def _write(source: Path, target: Path, advance: Callable[[int], object]) -> None:
    try:
        with target.open("wb") as file:
            for block in _blocks(source):
                file.write(block)
                advance(len(block))
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "make room and run again" if full else "make it writable and run again"
        problem = f"{source.name} cannot be copied here: {error.strerror}"
        raise NotWritten(Code.DISK_FULL, target.parent, problem, remedy) from None


def _blocks(source: Path) -> Iterator[bytes]:
    try:
        with source.open("rb") as file:
            while block := file.read(BLOCK):
                yield block
    except OSError as error:
        raise _unreadable(source, error) from None


def _stat(source: Path) -> os.stat_result:
    try:
        return source.stat()
    except OSError as error:
        raise _unreadable(source, error) from None


def _unreadable(source: Path, error: OSError) -> BadData:
    return BadData(Code.FILE, source, f"cannot be read: {error.strerror}", "check the file and its permissions")
