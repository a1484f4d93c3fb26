"""Numbers as people write them -> the number that params.yaml takes, or an example of one.

`12k`, `1.2万`, `1,000`, `5%`, full-width digits. The proposed number is in the allowed range, so it
is accepted.
"""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple, get_args
from unicodedata import normalize

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

_NUMBER = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?) *([^\d\s.]*)")
_AS_IN_YAML = {True: re.compile(r"-?\d+", re.ASCII), False: re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", re.ASCII)}
"""Of an integer (True), and of any number."""
_THOUSANDS = re.compile(r"(?<=\d)[,_' ](?=\d{3}(?!\d))")
_UNITS = {
    "": 1, "k": 10**3, "thousand": 10**3, "m": 10**6, "mio": 10**6, "million": 10**6, "b": 10**9, "bn": 10**9,
    "g": 10**9, "billion": 10**9, "t": 10**12, "trillion": 10**12, "千": 10**3, "万": 10**4, "萬": 10**4,
    "百万": 10**6, "千万": 10**7, "亿": 10**8, "億": 10**8, "万亿": 10**12,
}  # fmt: skip
"""Suffix of a number, in lower case -> its factor."""
_MOST_DIGITS = 40
"""Before the point, of a number that is written out."""


class Range(NamedTuple):
    """The range of a number.

    Attributes:
        least, most: inclusive bounds; None: unbounded.
        above, below: exclusive bounds.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    @classmethod
    def of(cls, annotation: Any) -> "Range":
        """From the type of a field; of a list that of its members."""
        names = ((bound, *_BOUNDS[type(bound)]) for bound in _bounds(annotation))
        return cls(**{name: getattr(bound, theirs) for bound, name, theirs in names})

    def __contains__(self, number: object) -> bool:
        assert isinstance(number, Decimal)
        return (
            (self.least is None or number >= Decimal(str(self.least)))
            and (self.most is None or number <= Decimal(str(self.most)))
            and (self.above is None or number > Decimal(str(self.above)))
            and (self.below is None or number < Decimal(str(self.below)))
        )

    def __str__(self) -> str:
        words = [("at least", self.least), ("above", self.above), ("at most", self.most), ("below", self.below)]
        return " and ".join(f"{word} {bound:,}" for word, bound in words if bound is not None)

    def example(self, *, whole: bool) -> str:
        """A usual value where it is allowed, else one at a bound."""
        is_share = 1 in (self.most, self.below)
        usual = ["8", "1"] if whole else ["0.5"] if is_share else ["1.0e-5", "0.5"]
        step = 1 if whole else 0
        border = [self.least, None if self.above is None else self.above + step, self.most]
        border += [None if self.below is None else self.below - step]
        return next((one for one in (*usual, *(f"{bound}" for bound in border)) if Decimal(one) in self), usual[0])


ANY = Range()
_BOUNDS = {Ge: ("least", "ge"), Le: ("most", "le"), Gt: ("above", "gt"), Lt: ("below", "lt")}


def _bounds(annotation: Any) -> Iterator[Any]:
    metadata = annotation.metadata if isinstance(annotation, FieldInfo) else getattr(annotation, "__metadata__", ())
    for one in metadata:
        if type(one) in _BOUNDS:
            yield one
        elif isinstance(one, FieldInfo):
            yield from _bounds(one)
    inside = [annotation.annotation] if isinstance(annotation, FieldInfo) else get_args(annotation)
    for part in inside:
        yield from _bounds(part)


def remedy(value: object, allowed: Range, *, whole: bool) -> str:
    """What to write in place of a value that is no number of this kind."""
    kind = "a whole number" if whole else "a plain number without quotes"
    number = _read(value)
    if number is None or number not in allowed or (whole and number != number.to_integral_value()):
        bounds = f", {allowed}" if number is not None and str(allowed) else ""
        return f"write {kind}{bounds}, such as {allowed.example(whole=whole)}"
    if isinstance(value, str) and _AS_IN_YAML[whole].fullmatch(value):
        return f"write {value} without quotes"
    return f"write {int(number)}" if whole else f"write {_plain(number)}"


def as_share(value: float, allowed: Range) -> str:
    """The end of a remedy where a share is written as a percentage: `; for 95 % write 0.95`. Else nothing."""
    number = _read(value)
    if number is None or not 1 < number <= 100 or 1 not in (allowed.most, allowed.below) or number / 100 not in allowed:
        return ""
    return f"; for {_plain(number)} % write {_plain(number / 100)}"


def _read(value: object) -> Decimal | None:
    """The number that the user means; None where it is none, or too long to write out."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = normalize("NFKC", str(value)).strip()
    is_share = text.endswith("%")
    match = _NUMBER.fullmatch(_THOUSANDS.sub("", text.removesuffix("%").strip()))
    if match is None or match[2].lower() not in _UNITS:
        return None
    try:
        number = Decimal(match[1]) * _UNITS[match[2].lower()] / (100 if is_share else 1)
    except InvalidOperation:
        return None
    return number if number == 0 or -_MOST_DIGITS < number.adjusted() < _MOST_DIGITS else None


def _plain(number: Decimal) -> str:
    """As YAML reads a number: 1.0e-05 has a point."""
    text = f"{float(number):.12g}"
    return text if "e" not in text or "." in text else text.replace("e", ".0e")
