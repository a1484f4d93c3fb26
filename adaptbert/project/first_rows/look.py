"""Shared by the checks of all kinds of sets: how much is read, and which errors the first rows can prove."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Protocol

from adaptbert.codes import Code
from adaptbert.collection.user_files import MOST_FILES
from adaptbert.errors import BadData, UserError
from adaptbert.project.first_rows.bad_rows import Extent, Notice

ROWS = 200
"""Of each file of a set that is not small."""
SMALL, SMALL_PACKED = 400_000, 40_000
"""Bytes of a set that is read whole; of one in gzip or Parquet."""
_ONLY_WHOLE = {
    Code.TOO_FEW_ROWS,
    Code.REPEATED_TEXT,
    Code.LABEL_NOT_IN_TRAIN,
    Code.TOO_FEW_CLASSES,
    Code.IN_OTHER_SPLIT,
    Code.CONSTANT_TARGET,
}
"""Codes that further rows can resolve: too few rows, texts or classes; labels that train does not show yet."""
_OF_A_SHARE = {Code.BINARY_FILE, Code.OTHER_TAG_SCHEME}
"""Codes that need many rows: NUL, tags. A few first rows do not prove them."""


class Look(Protocol):
    """The check of one set."""

    @property
    def key(self) -> str:
        """Where the set stands in params.yaml."""
        ...

    def is_too_large(self) -> bool:
        """Whether it cannot be read in part, nor whole in a second."""
        ...

    def findings(self) -> Iterable[UserError | Notice]:
        """All errors and notices; further errors may be raised."""
        ...


def folder(parent: Path) -> Path:
    """A new temporary folder."""
    return Path(mkdtemp(dir=parent))


def is_small(paths: Iterable[Path]) -> bool:
    """Whether files, or all files of folders, are few and can be read whole."""
    share, files = 0.0, 0
    for path in paths:
        for file in path.rglob("*") if path.is_dir() else [path]:
            is_packed = file.suffix.lower() in (".gz", ".parquet")
            share += file.stat().st_size / (SMALL_PACKED if is_packed else SMALL) if file.is_file() else 0
            files += 1
            if share > 1 or files > MOST_FILES:
                return False
    return True


def beginning(*, small: bool) -> int:
    """Rows that are read of each file."""
    return sys.maxsize if small else ROWS


def raised(act: Callable[[], object]) -> list[UserError]:
    """The user's errors that a call raises."""
    try:
        act()
    except UserError as error:
        return list(getattr(error, "failures", [error]))
    return []


def unread(errors: Iterable[UserError], key: str, extent: Extent) -> Iterator[UserError | Notice]:
    """The errors of reading a file; that no row can be read is a notice where only a few were tried.

    Args:
        key: where the set stands in params.yaml.
        extent: how much was read.
    """
    for error in errors:
        yield error if error.code != Code.NOTHING_LEFT or extent.is_enough else _open(error, error.place, key, extent)


def decided(
    errors: Iterable[UserError],
    place: Callable[[str], str],
    key: str,
    extent: Callable[[str], Extent],
    *,
    whole: bool,
    has_labels: bool = True,
) -> Iterator[UserError | Notice]:
    """The errors of validation, with the user's files as places: an error where it holds whatever the other rows are, a
    notice where it would hold if they were like the first.

    Args:
        place: path in the temporary folder -> the user's file.
        key: where the set stands in params.yaml.
        extent: place of an error -> how much was read there.
        whole: whether the set has no other rows.
        has_labels: whether params say which labels there are.
    """
    for error in errors:
        where, read = place(error.place), extent(error.place)
        few = (error.code == Code.NOTHING_LEFT and not read.whole) or (error.code in _OF_A_SHARE and not read.is_enough)
        if not whole and (error.code in _ONLY_WHOLE or (error.code == Code.UNKNOWN_LABEL and not has_labels)):
            continue
        yield _open(error, where, key, read) if few else BadData(error.code, where, error.problem, error.remedy)


def _open(error: UserError, where: str, key: str, extent: Extent) -> Notice:
    return Notice(f"{key}: {where}", f"{error.problem}; if all rows are like {extent}, the set is refused")
