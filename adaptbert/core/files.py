"""Atomic writes: a file or folder is written beside its target under a temporary name, then renamed; and full disks."""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.core.processes import has_ended
from adaptbert.errors import Unwritable


@contextmanager
def atomic_write(target: Path) -> Iterator[Path]:
    """A path to write a file or folder to; it replaces `target` when the block ends without an exception.

    The temporary name lies in the target's own folder (never in $TMPDIR, which may be another file system).
    When the block raises, its files are removed and `target` stays unchanged. Files of a process that was killed in
    the block are removed when the same target is written again.

    Raises:
        Unwritable: there is no room for it; or a file was written, and the target is a folder, which may hold files of
            the user.
    """
    make_folder(target.parent)
    _remove_leftovers(target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield temporary
        for path in [*temporary.rglob("*"), temporary] if temporary.is_dir() else [temporary]:
            sync(path)
        if target.is_dir():
            if not temporary.is_dir():
                raise Unwritable(Code.BLOCKED, target, "a folder, not a file", "move it away, then run again")
            shutil.rmtree(target)
        temporary.replace(target)
        sync(target.parent)
    except Exception as error:
        if full := full_disk(error, target, size(temporary)):  # before it is removed: what is free now is too little
            raise full from error
        if isinstance(error, OSError) and str(temporary) in f"{error.filename} {error}":
            error.filename = str(target)  # which the user has named
        raise
    finally:
        _remove(temporary)


def make_folder(path: Path) -> None:
    """Create a folder and its parents where they do not exist.

    Raises:
        Unwritable: something else stands where one of them belongs.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        blocking = next(place for place in (*reversed(path.parents), path) if not place.is_dir())
        problem = "not a folder, and one belongs there"
        raise Unwritable(Code.BLOCKED, blocking, problem, "move it away, or rename it") from None


def _remove_leftovers(target: Path) -> None:
    """Temporary files of processes that have ended; those of live processes stay."""
    for path in target.parent.glob(f".{escape(target.name)}.*.part"):
        with suppress(FileNotFoundError):  # its process has just ended well
            pid = path.name.removesuffix(".part").rpartition(".")[2]
            if pid.isdecimal() and has_ended(int(pid), path.stat().st_mtime):
                _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_json(target: Path, values: Mapping[str, Any]) -> None:
    """Keys in their order, floats as Python prints them, no time and no run id: equal results have equal bytes."""
    with atomic_write(target) as path:
        path.write_text(json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file that this project wrote."""
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return values


def file_digest(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk, so that they survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_ERRNO = re.compile(r"\bos error (\d+)\b|\[Errno (\d+)\]")
"""Number of an error in messages of Python, and of libraries that raise no OSError: safetensors, pyarrow."""
_OF_SQLITE = "database or disk is full"
_FULL = {
    errno.EROFS: ("the file system is read-only", "mount it for writing, or work in another folder"),
    errno.EFBIG: ("larger than a file may be here", "raise `ulimit -f` and run again"),
    errno.ENOSPC: ("no space left on the disk", "make room and run again"),
    errno.EDQUOT: ("the quota is used up", "make room and run again"),
}
"""Number of an error of a disk -> the problem and the remedy."""


def full_disk(error: Exception, place: Path | None = None, written: int | None = None) -> Unwritable | None:
    """The error for users, if the disk is the cause; else None.

    Args:
        place: what was to be written; None: what the error names.
        written: bytes of it that lie on the disk.
    """
    match = _ERRNO.search(str(error))
    code = int(match[1] or match[2]) if match else errno.ENOSPC if _OF_SQLITE in str(error) else None
    named = place or (Path(os.fsdecode(error.filename)) if isinstance(error, OSError) and error.filename else None)
    needed = "" if written is None else f", more than {written:,} bytes are needed"
    if code not in _FULL:
        return None
    what, remedy = _FULL[code]
    problem = f"{what}{needed}"
    if code in (errno.ENOSPC, errno.EDQUOT):
        temporary, output = (  # a library may have written into the first
            next(each for each in (place, *place.parents) if each.is_dir())
            for place in map(Path.absolute, (Path(os.environ.get("TMPDIR") or "/tmp"), named or Path()))
        )
        by_disk = {folder.stat().st_dev: folder for folder in (temporary, output)}
        free, full = min((shutil.disk_usage(folder).free, folder) for folder in by_disk.values())
        problem += f", {free:,} are free"
        if full != output:
            problem = f"{what} of {temporary}, where temporary files lie, {free:,} are free"
            remedy = "make room there, or set TMPDIR to another folder, and run again"
    return Unwritable(Code.DISK_FULL, "output" if named is None else str(named), problem, remedy)


def size(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    return sum(entry.stat().st_size for entry in [path, *path.rglob("*")] if entry.is_file())
