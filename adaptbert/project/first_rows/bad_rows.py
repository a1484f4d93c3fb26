"""Bad rows among the first ones of a large set, compared with the limits of the whole set.

The first rows are not a random sample: bad rows often come first, and the others may compensate. So a share above the
limit is a notice; it is an error only where most of many rows are bad, and the file is probably read in a wrong way.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from adaptbert.codes import Code
from adaptbert.errors import BadData, UserError
from adaptbert.validation.accounts import Account, Reject, TooManyBad
from adaptbert.validation.limits import Limits

REFUSED = 0.5
"""Above this share of the first rows a large set is refused, if not more may be bad."""
ENOUGH = 50
"""With fewer first rows than this, their share of bad ones is no error: one long row may end the reading."""
_SHOWN = 3
"""Reasons that a message names."""


class Extent(NamedTuple):
    """How much of a file or folder was read.

    Attributes:
        rows: number of rows, including those that cannot be read.
        whole: whether there are no others.
    """

    rows: int
    whole: bool

    @property
    def is_enough(self) -> bool:
        """Whether a share of the rows is evidence about the file."""
        return self.whole or self.rows >= ENOUGH

    def __str__(self) -> str:
        return "this one" if self.rows == 1 else f"these {self.rows:,}"


class Notice(NamedTuple):
    """A problem that may disappear with the other rows."""

    place: str
    words: str

    def __str__(self) -> str:
        return f"{self.place}: {self.words}"


def validation_limits(limits: Limits, *, whole: bool) -> Limits:
    """The limits of validation for all rows of a set, or for its first ones."""
    most = limits.max_bad_fraction if whole else max(limits.max_bad_fraction, REFUSED)
    return limits.model_copy(update={"max_bad_fraction": most})


def without_shares(errors: Iterable[UserError]) -> list[UserError]:
    """Without the errors about the share of bad rows, which `share_findings` reports."""
    return [error for error in errors if not isinstance(error, TooManyBad)]


def share_findings(
    accounts: Mapping[str, Sequence[Account]], key: str, limit: float, extents: Mapping[str, Extent]
) -> Iterator[UserError | Notice]:
    """An error or a notice for each file or folder with a share of bad first rows above the limit.

    Args:
        accounts: path -> the row counts of the sets that come from there.
        key: where the set stands in params.yaml.
        limit: `validate.max_bad_fraction`.
        extents: path -> how much of it was read.
    """
    for path, of_path in accounts.items():
        rows = sum(account.rows_in for account in of_path)
        bad = [reject for account in of_path for reject in account.invalid]
        if len(bad) <= limit * rows:
            continue
        share_of_bad = _counted(bad, rows)
        if len(bad) > max(limit, REFUSED) * rows and extents[path].is_enough:
            remedy = f"mend them, or raise validate.max_bad_fraction ({limit:g})"
            yield BadData(_commonest(bad), path, share_of_bad, remedy)
        else:
            stops = f"the set is refused before training: validate.max_bad_fraction is {limit:g}"
            yield Notice(f"{key}: {path}", f"{share_of_bad}; if as many of all rows are, {stops}")


def _counted(bad: Sequence[Reject], rows: int) -> str:
    first = min(bad, key=lambda reject: (reject.file, reject.line))
    reasons = Counter(reject.reason for reject in bad).most_common()
    shown = ", ".join(f"{reason}: {count:,}" for reason, count in reasons[:_SHOWN])
    more = f", and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
    return (
        f"{len(bad):,} of the first {rows:,} rows cannot be read or are not valid ({shown}{more}), "
        f"the first at {first.place}: {first.reason}"
    )


def _commonest(bad: Sequence[Reject]) -> Code:
    return Code(Counter(reject.code for reject in bad).most_common(1)[0][0])
