"""The user's files, copied into the project and tracked by DVC, so that a second clone can pull them.

A folder anywhere -> data/own/<file>, and data/own/<file>.dvc, which is committed. Each file has its own .dvc
file, so that DVC reports a missing one, instead of a changed folder.
"""

import filecmp
import hashlib
import os
import shutil
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from adaptbert.codes import Code
from adaptbert.core.files import FullDisk, atomic_write
from adaptbert.data.formats import SUFFIXES, format_of
from adaptbert.data.read_text import check_regular
from adaptbert.errors import BadData, UserError, failures_of, raise_all
from adaptbert.report.language import bytes_of
from adaptbert.runtime.locks import Busy, stage_lock

if TYPE_CHECKING:
    from dvc.repo import Repo

OWN = Path("data/own")
BLOCK = 4 << 20
_SHOWN = 10


@dataclass(frozen=True)
class CopySummary:
    """What `bring` did.

    Attributes:
        files: in data/own.
        copied: how many of them were copied; the others were up to date.
        left_out: other names in the folder that they come from; folders end with a slash.
    """

    files: list[Path]
    copied: int
    left_out: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        size = bytes_of(sum(path.stat().st_size for path in self.files))
        summary = f"{OWN}: {len(self.files)} files, {size}, {self.copied} of them copied now"
        if self.left_out:
            names = ", ".join(self.left_out[:_SHOWN])
            more = f" and {len(self.left_out) - _SHOWN} more" if len(self.left_out) > _SHOWN else ""
            summary += f"\nleft out (a folder, or a name that tells no known format): {names}{more}"
        return summary


def bring_folder(folder: Path, *, force: bool) -> CopySummary:
    """Copy the data files at the top of `folder` into data/own, see `bring`.

    Raises:
        BadData: no such folder; a file cannot be read or would overwrite another one, or there is none.
    """
    if folder.is_file():
        remedy = f"name the folder that holds your files; --data {quote(str(folder.parent))} takes all that lie there"
        raise BadData(Code.FILE, f"--data {folder}", "is a file, not a folder", remedy)
    if not folder.is_dir():
        raise BadData(Code.FILE, f"--data {folder}", "no such folder", "give the folder that holds your files")
    files, left_out, failures = list[Path](), list[str](), list[UserError]()
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.suffix == ".dvc":
            continue
        if path.is_dir() or format_of(path) is None:
            left_out.append(f"{path.name}/" if path.is_dir() else path.name)
        elif not path.name.isprintable():
            problem = "a name that is not UTF-8, or has control characters"
            failures.append(BadData(Code.FILE, path.parent / ascii(path.name), problem, "rename it"))
        else:
            failures += failures_of(check_regular, path, str(path))
            files.append(path)
    raise_all(failures)
    if not files:
        known = ", ".join(suffix.removeprefix(".") for suffix in SUFFIXES)
        problem = f"no data file among {len(left_out)} names"
        raise BadData(Code.FILE, folder, problem, f"put {known} files into it")
    summary = bring({source: OWN / source.name for source in files}, force=force)
    return replace(summary, left_out=left_out)


def bring(places: Mapping[Path, Path], *, force: bool = False) -> CopySummary:
    """Copy files to their places in data/own and record them: all, or none where one of them fails.

    Equal files stay; a file with other bytes is replaced if its old bytes are in DVC's cache.

    Args:
        force: replace also files that are not in the cache.

    Raises:
        BadData: a file cannot be read or would overwrite another one, or DVC refuses.
        FullDisk: there is no room.
        Busy: another DVC process is at work; what is copied stays.
    """
    if Path(os.path.realpath(OWN)) != Path.cwd().resolve() / OWN:
        problem = "is, or lies behind, a link, and DVC records no files behind a link"
        raise BadData(Code.FILE, OWN, problem, "remove the link (the files stay where they are)")
    with stage_lock("data-own"), open_repository() as repo:
        OWN.mkdir(parents=True, exist_ok=True)
        for left in OWN.glob(".*.part"):  # of a killed process: the lock excludes others
            left.unlink()
        cache = Path(repo.cache.local.path)
        copies = {source: target for source, target in places.items() if not _is_copy(source, target)}
        if not force:
            raise_all([_collision(target) for target in copies.values() if not _may_be_replaced(target, cache)])
        _check_room(copies, cache)
        _copy_all(copies)
    record([*places.values()])
    return CopySummary([*places.values()], len(copies))


def free_place(source: Path, task: str, taken: Collection[Path]) -> Path:
    """Where a file of a task is copied to: by its own name, or behind that of the task where another file has its name.

    A file that DVC has recorded keeps its name also where it is not there, as in a clone before `dvc pull`.

    Args:
        taken: places of other files of the task.

    Raises:
        BadData: both names are those of other files.
    """
    for target in (OWN / source.name, OWN / f"{task}.{source.name}"):
        # Unpacked files may have one size and one time without being equal, so the bytes are read.
        is_equal = target.is_file() and source.is_file() and filecmp.cmp(source, target, shallow=False)
        is_free = not os.path.lexists(target) and not os.path.lexists(f"{target}.dvc")
        if target not in taken and (is_equal or is_free):
            return target
    problem = f"holds other bytes than {source}, and so does {OWN / source.name}"
    raise BadData(Code.ALREADY_THERE, target, problem, f"rename {source.name}, or the task: --name NAME")


def record(files: Sequence[Path]) -> None:
    """`dvc add`: copies the files into DVC's cache and writes a .dvc file for each; idempotent.

    Raises:
        UserError: see `open_repository`.
    """
    with open_repository() as repo:
        # Else DVC would write each file once more, to link it to its cache with a copy.
        repo.add([path.as_posix() for path in files], relink=False)


@contextmanager
def open_repository() -> Iterator["Repo"]:
    """The repository of the current folder.

    Without git (an unpacked archive) DVC needs `core.no_scm`, in this process as in the Makefile.

    Raises:
        Busy: another DVC process is at work.
        BadData: DVC refuses.
    """
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo

    here = Path.cwd()
    has_git = any((folder / ".git").exists() for folder in (here, *here.parents))
    try:
        with warnings.catch_warnings():
            # DVC asks pygtrie by a name that pygtrie will drop; a user cannot change that.
            warnings.filterwarnings("ignore", message=".*_NoneStep", category=DeprecationWarning)
            with Repo(config=None if has_git else {"core": {"no_scm": True}}) as repo:
                yield repo
    except LockError:
        raise Busy(Code.LOCKED, OWN, "another DVC process is at work here", "wait for it, and run again") from None
    except DvcException as error:
        problem = f"DVC cannot record files here: {' '.join(str(error).split())}"
        remedy = "mend that and run the same command again; what is copied is not copied twice"
        raise BadData(Code.DVC, OWN, problem, remedy) from None


def _is_copy(source: Path, target: Path) -> bool:
    """Whether the target is up to date. Equal size and modification time count as equal: copies keep both."""
    if target.is_symlink() or not target.is_file():
        return False
    return source.samefile(target) or filecmp.cmp(source, target)


def _may_be_replaced(target: Path, cache: Path) -> bool:
    """Whether there is no such file, or its bytes are in DVC's cache."""
    if target.is_symlink() or not target.is_file():
        return True
    with target.open("rb") as file:
        digest = hashlib.file_digest(file, "md5").hexdigest()
    return (cache / digest[:2] / digest[2:]).is_file()


def _collision(target: Path) -> BadData:
    problem = "holds other bytes than the file of this name in the folder, and DVC does not have them"
    remedy = f"keep them (dvc add {target}), move the file away, or say --force"
    return BadData(Code.ALREADY_THERE, target, problem, remedy)


def _check_room(copies: Collection[Path], cache: Path) -> None:
    """A copy is on disk twice: in data/own and in DVC's cache."""
    cache = next(place for place in (cache, *cache.parents) if place.exists())
    size = sum(source.stat().st_size for source in copies)
    needed = {OWN: 2 * size} if OWN.stat().st_dev == cache.stat().st_dev else {OWN: size, cache: size}
    for place, size in needed.items():
        free = shutil.disk_usage(place).free
        if size > free:
            remedy = "make room, move DVC's cache (dvc cache dir FOLDER), or write their paths into params.yaml"
            raise FullDisk(Code.DISK_FULL, place, f"{size:,} bytes needed, {free:,} free", remedy)


def _copy_all(copies: Mapping[Path, Path]) -> None:
    """Each under a temporary name first; all are renamed together at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = ("copying", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as shown, ExitStack() as parts:
        bar = shown.add_task("", total=sum(source.stat().st_size for source in copies))
        for source, target in copies.items():
            copy(source, parts.enter_context(atomic_write(target)), lambda size: shown.update(bar, advance=size))


def copy(source: Path, target: Path, advance: Callable[[int], object]) -> None:
    """The bytes and the time of change of `source`; `target` is a new name.

    Args:
        advance: called with the bytes done since its last call.

    Raises:
        BadData: `source` cannot be read, or changed meanwhile.
    """
    with _readable(source):
        before = source.stat()
    with target.open("wb") as file:
        for block in _blocks(source):
            file.write(block)
            advance(len(block))
    with _readable(source):
        after = source.stat()
    if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise BadData(Code.FILE, source, "changed while it was copied", "run again when nothing writes to it")
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))


def _blocks(source: Path) -> Iterator[bytes]:
    with _readable(source), source.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


@contextmanager
def _readable(source: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise BadData(Code.FILE, source, problem, "check the file and its permissions") from None
