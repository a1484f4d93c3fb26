"""What looks at all kinds of sets have in common: how much is read, and what may be said after it."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Protocol, TypeVar

from adaptbert.codes import Code
from adaptbert.collection.readers.replacing import Allowance
from adaptbert.collection.source_config import SourceConfig
from adaptbert.collection.user_files import MOST_FILES, Beginning
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
"""Codes of what further rows can mend: too few rows, texts or classes; labels that train does not show yet."""
_OF_A_SHARE = {Code.BINARY_FILE, Code.OFFSETS_IN_OTHER_UNITS, Code.OFFSETS_OF_NORMALISED_TEXT, Code.OTHER_TAG_SCHEME}
"""Codes of what holds for many of the rows: NUL, offsets, tags. Of a few first rows they say nothing."""

C = TypeVar("C", bound=SourceConfig)


class Look(Protocol):
    """At one set."""

    @property
    def key(self) -> str:
        """Where the set stands in params.yaml."""
        ...

    def is_too_large(self) -> bool:
        """Whether it cannot be read in part, nor whole in a second."""
        ...

    def findings(self) -> Iterable[UserError | Notice]:
        """All that is found; more may be raised."""
        ...


def folder(parent: Path) -> Path:
    """A new one."""
    return Path(mkdtemp(dir=parent))


def is_small(paths: Iterable[Path]) -> bool:
    """Whether files, or all files of folders, are few and can be read whole."""
    share, files = 0.0, 0
    for path in paths:
        for found in path.rglob("*") if path.is_dir() else [path]:
            is_packed = found.suffix.lower() in (".gz", ".parquet")
            share += found.stat().st_size / (SMALL_PACKED if is_packed else SMALL) if found.is_file() else 0
            files += 1
            if share > 1 or files > MOST_FILES:
                return False
    return True


def beginning(patterns: Allowance, *, small: bool) -> Beginning:
    """How much is read of each file."""
    return Beginning(sys.maxsize if small else ROWS, patterns)


def lenient(config: C, *, small: bool) -> C:
    """The first rows of a large set are all read, however many of them are bad; see `bad_rows`."""
    return config if small else config.model_copy(update={"max_bad_fraction": None})


def raised(act: Callable[[], object]) -> list[UserError]:
    """What an act ends with, if it is a user's error."""
    try:
        act()
    except UserError as error:
        return list(getattr(error, "failures", [error]))
    return []


def unread(found: Iterable[UserError], key: str, extent: Extent) -> Iterator[UserError | Notice]:
    """What is wrong with a file as it is read; that no row can be read is a notice where a few were tried.

    Args:
        key: where the set stands in params.yaml.
        extent: how much was read.
    """
    for error in found:
        yield error if error.code != Code.NOTHING_LEFT or extent.is_enough else _open(error, error.place, key, extent)


def decided(
    found: Iterable[UserError],
    place: Callable[[str], str],
    key: str,
    extent: Callable[[str], Extent],
    *,
    whole: bool,
    has_labels: bool = True,
) -> Iterator[UserError | Notice]:
    """What the gate says, told at the user's files instead of the folder that is thrown away: an error where it holds
    whatever the other rows are, a notice where it would hold if they were like the first.

    Args:
        place: from the one to the other.
        key: where the set stands in params.yaml.
        extent: the place in an error -> how much was read of what is there.
        whole: whether the set has no other rows.
        has_labels: whether params say which labels there are.
    """
    for error in found:
        where, read = place(error.place), extent(error.place)
        few = (error.code == Code.NOTHING_LEFT and not read.whole) or (error.code in _OF_A_SHARE and not read.is_enough)
        if not whole and (error.code in _ONLY_WHOLE or (error.code == Code.UNKNOWN_LABEL and not has_labels)):
            continue
        yield _open(error, where, key, read) if few else BadData(error.code, where, error.problem, error.remedy)


def _open(error: UserError, where: str, key: str, extent: Extent) -> Notice:
    return Notice(f"{key}: {where}", f"{error.problem}; if all rows are like {extent}, the set is refused")
