"""Errors that reach users: a line with the place and the problem, a line with the remedy, and an exit code.

The exit codes follow sysexits.h. A caller retries on 75, and on nothing else.
"""

import copyreg
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

from adaptbert.codes import Code
from adaptbert.core.printable import printable

BAD_DATA = 65
INTERNAL = 70
IO_ERROR = 74
TEMPORARY = 75
BAD_PARAMS = 78


@dataclass(frozen=True)
class Place:
    """Where an error is.

    Attributes:
        file: or a folder, or an option of a command.
        keys: of a value in the file, the outermost first.
        line: from 1.
    """

    file: str
    keys: tuple[str, ...] = ()
    line: int | None = None

    def __str__(self) -> str:
        line = "" if self.line is None else f":{self.line}"
        keys = f": {'.'.join(map(shortened, self.keys))}" if self.keys else ""
        return f"{self.file}{line}{keys}"


class UserError(Exception):
    """An error that the user can correct.

    The message has two lines, the second indented, so that in a list of several errors each begins at the margin:

        AB-056 tasks.csv:1: column 'label' missing; found text, Label
          rename it or map it ...

    Args:
        code: docs/errors.md lists all of them.
        place: of a text or path the file is known alone.
        problem: what is wrong, with the value found.
        remedy: what to do about it.
    """

    exit_code = BAD_DATA

    def __init__(self, code: Code, place: Place | str | Path, problem: str, remedy: str) -> None:
        self.code, self.problem, self.remedy = code, printable(problem), remedy
        self.place = place if isinstance(place, Place) else Place(str(place))
        super().__init__(printable(f"{code.shown} {self.place}: {problem}\n  {remedy}"))

    @property
    def failures(self) -> Sequence["UserError"]:
        """This error, or all of which it consists."""
        return [self]

    def at(self, place: Place) -> Self:
        """The same error elsewhere."""
        moved = copy(self)
        UserError.__init__(moved, self.code, place, self.problem, self.remedy)
        return moved

    def __reduce__(self) -> tuple[Any, ...]:
        """From a worker process it comes as it is: pickle by itself would call `__init__` with the message alone."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class BadData(UserError):
    """Text, labels, checkpoint or tokenizer that cannot be used."""


class BadParams(UserError):
    """A value in params.yaml that cannot be used."""

    exit_code = BAD_PARAMS


class Temporary(UserError):
    """What may be over when the same command runs again: a lock, a lost process, a server that does not answer."""

    exit_code = TEMPORARY


class Unwritable(UserError):
    """An output that cannot be written: the disk is full, or something else is in its place."""

    exit_code = IO_ERROR


class Several(UserError):
    """All failures of one check, one below the other."""

    def __init__(self, failures: Sequence[UserError]) -> None:
        first = failures[0]
        super().__init__(first.code, first.place, first.problem, first.remedy)
        self._failures = list(failures)
        self.exit_code = first.exit_code

    @property
    def failures(self) -> Sequence[UserError]:
        return self._failures

    def __str__(self) -> str:
        return "\n".join(map(str, self._failures))


def raise_all(failures: Sequence[UserError]) -> None:
    """Raise nothing, the one failure, or all of them together."""
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise Several(failures)


def failures_of(act: Callable[..., object], *arguments: object) -> list[UserError]:
    """The user's errors that a call raises."""
    try:
        act(*arguments)
    except UserError as error:
        return list(error.failures)
    return []


def shortened(text: str, most: int = 80) -> str:
    """A value as a message shows it: its beginning, and its length where it is cut."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def first_of(parts: Iterable[str], most: int, between: str = ", ") -> str:
    """The first of several as a message lists them, and how many more there are."""
    every = [*parts]
    return between.join(every[:most]) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def nearest(name: str, known: Sequence[str]) -> str:
    """` (did you mean 'text'?)` where a known name is close, else nothing."""
    best = closest(name, known)
    return "" if best is None else f" (did you mean '{shortened(best)}'?)"


def closest(name: str, known: Sequence[str]) -> str | None:
    """The known name that may be meant: one with most of the letters, in order."""
    by_lower = {other.lower(): other for other in known}
    alike = get_close_matches(name.lower(), by_lower, 1, _ALIKE)
    return by_lower[alike[0]] if alike else None


_ALIKE = 0.75
"""`sectoin` is `section` mistyped, `mention` is another name."""
