"""A disk that cannot be written: turns the error of the system or of a library into one with the path and the bytes."""

import errno
import os
import re
import shutil
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.errors import IO_ERROR, UserError

_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_ERRNO = re.compile(r"\bos error (\d+)\b|\[Errno (\d+)\]")
"""In the messages of libraries that raise no OSError: safetensors, pyarrow."""


class FullDisk(UserError):
    """An output cannot be written."""

    exit_code = IO_ERROR


def full_disk(error: Exception, place: Path | None = None, written: int | None = None) -> FullDisk | None:
    """The error for users, if the disk is the cause; else None.

    Args:
        place: what was to be written; None: what the error names.
        written: bytes of it that lie on the disk.
    """
    code = error.errno if isinstance(error, OSError) and error.errno is not None else _errno_in(error)
    if code not in _CODES:
        return None
    named = place or (Path(os.fsdecode(error.filename)) if isinstance(error, OSError) and error.filename else None)
    shown = "output" if named is None else str(named)
    if code == errno.EROFS:
        problem = "the file system is read-only"
        return FullDisk(Code.DISK_FULL, shown, problem, "mount it for writing, or work in another folder")
    needed = "" if written is None else f", more than {written:,} bytes are needed"
    if code == errno.EFBIG:
        problem = f"larger than a file may be here{needed}"
        return FullDisk(Code.DISK_FULL, shown, problem, "raise `ulimit -f` and run again")
    what = "the quota is used up" if code == errno.EDQUOT else "no space left on the disk"
    problem = f"{what}{needed}, {_free(named or Path()):,} are free"
    return FullDisk(Code.DISK_FULL, shown, problem, "make room and run again")


def size(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    return sum(entry.stat().st_size for entry in [path, *path.rglob("*")] if entry.is_file())


def _errno_in(error: Exception) -> int | None:
    match = _ERRNO.search(str(error))
    return int(match[1] or match[2]) if match else None


def _free(path: Path) -> int:
    """Free bytes of the disk that holds the path, or will hold it."""
    here = next((folder for folder in [path, *path.absolute().parents] if folder.is_dir()), Path("/"))
    return shutil.disk_usage(here).free
