"""Bad rows among the first ones of a large set, held against the limits that the whole set will be held against.

The first rows are no fair sample: what is odd often comes first, and the rest may make up for it. So more of them than
the limit is a notice; an error only where so many of so many are bad that the file is likely read in a wrong way.
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
"""Of fewer first rows no share refuses a set: one long row may end the look."""
_SHOWN = 3
"""Reasons told one by one."""


class Extent(NamedTuple):
    """How much of a file or folder was read.

    Attributes:
        rows: those that cannot be read are among them.
        whole: whether it has no others.
    """

    rows: int
    whole: bool

    @property
    def is_enough(self) -> bool:
        """Whether a share of the rows says anything of the file."""
        return self.whole or self.rows >= ENOUGH

    def __str__(self) -> str:
        return "this one" if self.rows == 1 else f"these {self.rows:,}"


class Notice(NamedTuple):
    """What may come right, and is better known before DVC starts."""

    place: str
    words: str

    def __str__(self) -> str:
        return f"{self.place}: {self.words}"


class Limit(NamedTuple):
    """A share of the rows of a set.

    Attributes:
        key: of params.yaml that sets it.
        is_of_all: whether it holds for all bad rows, or for those that cannot be read.
    """

    key: str
    share: float
    is_of_all: bool


def limits_of(key: str, own: float | None, limits: Limits) -> list[Limit]:
    """Those of `collect` or `collect_task`, where the set has one of its own, and of the gate.

    Args:
        key: where the set stands in params.yaml.
    """
    of_set = [] if own is None else [Limit(f"{key}.max_bad_fraction", own, is_of_all=False)]
    return [*of_set, Limit("validate.max_bad_fraction", limits.max_bad_fraction, is_of_all=True)]


def at_gate(limits: Limits, *, whole: bool) -> Limits:
    """With which the gate judges rows that are the first ones of a set, or all of it."""
    most = limits.max_bad_fraction if whole else max(limits.max_bad_fraction, REFUSED)
    return limits.model_copy(update={"max_bad_fraction": most})


def without_shares(found: Iterable[UserError]) -> list[UserError]:
    """What the gate says of the first rows but for their share of bad ones, of which `told` speaks."""
    return [error for error in found if not isinstance(error, TooManyBad)]


def told(
    accounts: Mapping[str, Sequence[Account]], key: str, limits: Sequence[Limit], extents: Mapping[str, Extent]
) -> Iterator[UserError | Notice]:
    """An error or a notice for each file or folder of whose first rows more are bad than one of the limits lets pass.

    Args:
        accounts: path -> the books of the rows that come from there.
        key: where the set stands in params.yaml.
        extents: path -> how much of it was read.
    """
    for path, books in accounts.items():
        rows = sum(account.rows_in for account in books)
        bad = [reject for account in books for reject in account.invalid]
        unreadable = sum(account.rejected["unreadable"] for account in books)
        counts = [len(bad) if limit.is_of_all else unreadable for limit in limits]
        over = [limit for limit, count in zip(limits, counts, strict=True) if count > limit.share * rows]
        if not over:
            continue
        share_of_bad = _counted(bad, rows)
        most = any(count > max(limit.share, REFUSED) * rows for limit, count in zip(limits, counts, strict=True))
        if most and extents[path].is_enough:
            raised = " and ".join(f"{limit.key} ({limit.share:g})" for limit in over)
            yield BadData(_commonest(bad), path, share_of_bad, f"mend them, or raise {raised}")
        else:
            stops = " and ".join(f"{limit.key} is {limit.share:g}" for limit in over)
            words = f"{share_of_bad}; if as many of all rows are, the set is refused before training: {stops}"
            yield Notice(f"{key}: {path}", words)


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
