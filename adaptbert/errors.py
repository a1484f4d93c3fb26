"""Errors that reach users: one line with the place, the value and the remedy, and an exit code that says what to do.

The exit codes follow sysexits.h. A caller retries on 75, and on nothing else.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

BAD_DATA = 65
INTERNAL = 70
IO_ERROR = 74
TEMPORARY = 75
BAD_PARAMS = 78


class UserError(Exception):
    """Something that the user can mend.

    The message reads `AB-056 tasks.csv:1: column 'label' missing; found text, Label: rename it or map it ...`.

    Args:
        code: entry of the catalogue of bad inputs (docs/errors.md), shown as `AB-056`.
        place: file, `file:line`, `file[row]` or the dotted key in params.yaml.
        problem: what is wrong, with the value found.
        remedy: what to do about it.
    """

    exit_code = BAD_DATA

    def __init__(self, code: int, place: str | Path, problem: str, remedy: str) -> None:
        self.code, self.place, self.problem, self.remedy = code, printable(str(place)), printable(problem), remedy
        super().__init__(printable(f"AB-{code:03d} {place}: {problem}; {remedy}"))


class BadData(UserError):
    """Text, labels, checkpoint or tokenizer that cannot be used."""


class BadParams(UserError):
    """A value in params.yaml that cannot be used."""

    exit_code = BAD_PARAMS


class Diverged(UserError):
    """A loss or a gradient that is no longer a number.

    Args:
        trained: sums over the micro-batches until then, for what the run has cost; empty where nothing was trained.
    """

    exit_code = INTERNAL

    def __init__(
        self, code: int, place: str | Path, problem: str, remedy: str, trained: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(code, place, problem, remedy)
        self.trained = dict(trained or {})


class Several(UserError):
    """All failures of one check at once, a line each."""

    def __init__(self, failures: Sequence[UserError]) -> None:
        first = failures[0]
        super().__init__(first.code, first.place, first.problem, first.remedy)
        self.failures = list(failures)
        self.exit_code = first.exit_code

    def __str__(self) -> str:
        return "\n".join(str(failure) for failure in self.failures)


def raise_all(failures: Sequence[UserError]) -> None:
    """Raise what was found: nothing, the one failure, or all of them together."""
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise Several(failures)


_NOT_PRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_MOST_SHOWN = 80


def printable(text: str) -> str:
    """A text that every stream can print and no terminal obeys: a name of a file may be bytes that are not UTF-8, which
    Python holds as lone surrogates, and hold control characters."""
    return _NOT_PRINTABLE.sub(lambda found: f"\\x{ord(found[0]) & 0xFF:02x}", text)


def shortened(text: str) -> str:
    """A value as a message shows it: its beginning, and how long it is where that is not all."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text):,} characters)"


_ALIKE = 0.65
"""Share of the letters that two names have in common, in order, to be taken for one another: `label_name` and `label`
do, `ner` and `general` do not."""


def nearest(name: str, known: Sequence[str]) -> str:
    """` (did you mean 'text'?)` where a known name is close, else nothing."""
    close = get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=_ALIKE)
    match = next((k for k in known if close and k.lower() == close[0]), None)
    return f" (did you mean '{match}'?)" if match else ""


def unreachable(what: str) -> NoReturn:
    """A state that only a mistake of ours can reach."""
    raise AssertionError(what)
