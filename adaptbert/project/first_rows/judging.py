"""What the first rows of a set prove: an error where the other rows cannot mend it, else a notice, or nothing.

The first rows are no random sample: bad rows often come first, and the others may compensate. So a share of bad rows is
an error only where most of many rows are bad, and the file is probably read in a wrong way.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Limits
from adaptbert.data.accounts import Account, TooManyBad
from adaptbert.data.user_files import MOST_FILES
from adaptbert.errors import BadData, UserError

Finding = UserError | str
"""An error or the words of a notice."""

SMALL, SMALL_PACKED = 400_000, 40_000
"""Bytes of a set that is read whole; of one in gzip or Parquet."""
REFUSED = 0.5
"""Above this share of the first rows a large set is refused, if not more may be bad."""
ENOUGH = 50
"""With fewer first rows than this, their share of bad ones is no error: one long row may end the reading."""
_SHOWN = 3
"""Reasons that a message names."""
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


class Extent(NamedTuple):
    """How much of a file or folder was read: the number of rows, and whether there are no others."""

    rows: int
    whole: bool

    @property
    def is_enough(self) -> bool:
        return self.whole or self.rows >= ENOUGH

    def __str__(self) -> str:
        return "this one" if self.rows == 1 else f"these {self.rows:,}"


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


def raised(act: Callable[[], object]) -> list[UserError]:
    """The user's errors that a call raises."""
    try:
        act()
    except UserError as error:
        return list(getattr(error, "failures", [error]))
    return []


def unread(errors: Iterable[UserError], key: str, extent: Extent) -> Iterator[Finding]:
    """The errors of reading a file; that no row can be read is a notice where only a few were tried."""
    for error in errors:
        yield error if error.code != Code.NOTHING_LEFT or extent.is_enough else _open(error, error.place, key, extent)


def validation_limits(limits: Limits, *, whole: bool) -> Limits:
    """The limits of validation for all rows of a set, or for its first ones."""
    most = limits.max_bad_fraction if whole else max(limits.max_bad_fraction, REFUSED)
    return limits.model_copy(update={"max_bad_fraction": most})


def decided(
    errors: Iterable[UserError],
    place: Callable[[str], str],
    key: str,
    extent: Callable[[str], Extent],
    *,
    whole: bool,
    has_labels: bool = True,
) -> Iterator[Finding]:
    """The errors of validation; that of the share of bad rows is left to `bad_rows` where rows were not read.

    Args:
        place: path in the temporary folder -> the user's file.
        key: where the set stands in params.yaml.
        extent: place of an error -> how much was read there.
        whole: whether the set has no other rows.
        has_labels: whether params say which labels there are.
    """
    for error in errors:
        where, read = place(error.place), extent(error.place)
        is_open = error.code in _ONLY_WHOLE or (error.code == Code.UNKNOWN_LABEL and not has_labels)
        if not whole and (is_open or isinstance(error, TooManyBad)):
            continue
        few = (error.code == Code.NOTHING_LEFT and not read.whole) or (error.code in _OF_A_SHARE and not read.is_enough)
        yield _open(error, where, key, read) if few else BadData(error.code, where, error.problem, error.remedy)


def _open(error: UserError, where: str, key: str, extent: Extent) -> str:
    return f"{key}: {where}: {error.problem}; if all rows are like {extent}, the set is refused"


def bad_rows(
    accounts: Mapping[str, Sequence[Account]], key: str, limit: float, extents: Mapping[str, Extent]
) -> Iterator[Finding]:
    """A finding for each file or folder with a larger share of bad first rows than the whole set may have.

    Args:
        accounts: path -> the row counts of the splits that come from there.
        key: where the set stands in params.yaml.
        limit: `validate.max_bad_fraction`.
        extents: path -> how much of it was read.
    """
    for path, of_path in accounts.items():
        rows = sum(account.rows_in for account in of_path)
        bad = [reject for account in of_path for reject in account.invalid]
        if len(bad) <= limit * rows:
            continue
        first = min(bad, key=lambda reject: (reject.file, reject.line))
        reasons = Counter(reject.reason for reject in bad).most_common()
        shown = ", ".join(f"{reason}: {count:,}" for reason, count in reasons[:_SHOWN])
        shown += f", and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
        words = f"{len(bad):,} of the first {rows:,} rows cannot be read or are not valid ({shown}), the first at "
        words += f"{first.place}: {first.reason}"
        if extents[path].is_enough and len(bad) > max(limit, REFUSED) * rows:
            code = Code(Counter(reject.code for reject in bad).most_common(1)[0][0])
            yield BadData(code, path, words, f"mend them, or raise validate.max_bad_fraction ({limit:g})")
        else:
            stops = f"the set is refused before training: validate.max_bad_fraction is {limit:g}"
            yield f"{key}: {path}: {words}; if as many of all rows are, {stops}"
