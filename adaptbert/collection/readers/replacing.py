"""`replace` of params.yaml: regular expressions and their replacements, with limits of time and length.

Patterns are checked with Python's `re`, and run by `regex`, which has the same syntax and a timeout: a pattern such as
`(a|a)*$` backtracks exponentially on a text of 40 letters that it does not match.
"""

import math
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.errors import BadData

if TYPE_CHECKING:
    from regex import Match, Pattern

SECONDS = 5.0
"""Processor time of one pattern on one text; usual patterns read a million characters in 0.1 s."""
GROWTH, SPARE = 10, 10_000
"""A text may grow to GROWTH times its length plus SPARE characters: each Chinese character may be spelled out, and an
emoji in a short text may become a sentence."""
MOST_EMPTY = 10_000
"""Empty matches that a pattern may count in one place, as `(a?){999}` does; each costs kilobytes."""
_SHOWN = 200
"""Characters of a pattern that a message shows."""
_UNIT = re.compile(r"\\(?:g<[^>]*>|\d{1,3}|.)|[^\\]+", re.DOTALL)
"""A part of a replacement: one escape, or the text between two."""


class OutOfTime(Exception):
    """The time for patterns is used up; raised only where first rows are checked."""


class Allowance:
    """Processor time of all patterns together, on all texts of all files.

    Args:
        seconds: more than SECONDS, so that a pattern that does not terminate is reported as such.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    @contextmanager
    def of_one(self) -> Iterator[float]:
        """Seconds for one pattern on one text. Raises OutOfTime where less than SECONDS are left and they do not
        suffice."""
        if self._left <= 0:
            raise OutOfTime
        seconds, begun = min(SECONDS, self._left), time.process_time()
        try:
            yield seconds
        except TimeoutError:
            if seconds < SECONDS:
                raise OutOfTime from None
            raise
        finally:
            self._left -= time.process_time() - begun


def problem(pairs: Sequence[Sequence[str]] | None) -> str | None:
    """The error of the first invalid pattern, with its position; None: all are valid."""
    import regex

    for pattern, replacement in pairs or []:
        try:
            if (count := _matches_of_nothing(pattern)) > MOST_EMPTY:
                raise ValueError(f"matches nothing up to {count:,} times in one place, more than {MOST_EMPTY:,}")
            re.compile(pattern).sub(replacement, "")
            regex.compile(pattern).sub(replacement, "")
        except (re.error, regex.error, IndexError, ValueError, OverflowError, RecursionError) as error:
            return f"replace: '{pattern[:_SHOWN]}' -> '{replacement[:_SHOWN]}': {error}"
    return None


class Replacer:
    """Pairs of a pattern that is valid by `problem` and its replacement, applied in order.

    Args:
        allowance: total time where first rows are checked; None: SECONDS for each text.
    """

    def __init__(self, pairs: Sequence[Sequence[str]] | None, allowance: Allowance | None = None) -> None:
        import regex

        self._pairs = [(regex.compile(pattern), replacement) for pattern, replacement in pairs or []]
        self._allowance = allowance or Allowance(math.inf)

    def __call__(self, text: str, place: str) -> str:
        """The text after all replacements.

        Args:
            place: of the row, for the message.

        Raises:
            BadData: a pattern does not terminate, or the text grows beyond its limit.
            OutOfTime: the allowance is used up.
        """
        longest, length = GROWTH * len(text) + SPARE, len(text)
        for pattern, replacement in self._pairs:
            try:
                with self._allowance.of_one() as seconds:
                    text = _replaced(pattern, replacement, text, longest, seconds)
            except (TimeoutError, MemoryError) as error:
                bound = f"in {SECONDS:g} seconds" if isinstance(error, TimeoutError) else "in the memory that there is"
                what = f"replace: '{pattern.pattern[:_SHOWN]}' does not come to an end {bound}"
                remedy = "write the pattern so that a text fits it in one way: (a+)* fits in many"
                raise BadData(Code.PATTERN_TOO_SLOW, place, what, remedy) from None
            except _TooLong:
                shown = f"'{pattern.pattern[:_SHOWN]}' -> '{replacement[:_SHOWN]}'"
                what = f"replace: {shown} makes more than {longest:,} characters of a text of {length:,}"
                remedy = f"a text may grow to {GROWTH} times its length and {SPARE:,} characters: write a shorter one"
                remedy = f"{remedy}, or a pattern that fits in fewer places"
                raise BadData(Code.PATTERN_EXPANDS, place, what, remedy) from None
        return text


class _TooLong(Exception):
    pass


def _replaced(pattern: "Pattern[str]", replacement: str, text: str, longest: int, seconds: float) -> str:
    """Like `sub`, but a result that would be too long is detected before it is allocated.

    Raises:
        TimeoutError: the pattern takes longer than `seconds`.
        _TooLong: the result would be longer than `longest`.
    """
    if "\\" not in replacement and len(text) + (len(text) + 1) * len(replacement) <= longest:
        return str(pattern.sub(replacement, text, timeout=seconds))  # short enough even if it matches everywhere
    units, end = _UNIT.findall(replacement), time.process_time() + seconds
    done, read = 0, 0  # characters of the result; of the text, those before the end of the last match

    def expanded(match: "Match[str]") -> str:
        nonlocal done, read
        done, read = done + match.start() - read, match.end()
        parts = []
        for unit in units:
            parts.append(match.expand(unit) if unit[0] == "\\" else unit)  # at most a group: no longer than the text
            done += len(parts[-1])
            if done > longest:
                raise _TooLong
        if time.process_time() > end:
            raise TimeoutError
        return "".join(parts)

    result = str(pattern.sub(expanded, text, timeout=seconds))
    if len(result) > longest:
        raise _TooLong
    return result


def _matches_of_nothing(pattern: str) -> int:
    """The maximum count of empty matches in one place, as in (a?){999} and (|a){2,}.

    Both engines store each of these matches, even for an empty text; matches of a character are limited by the text.
    """
    from re import _constants, _parser  # type: ignore[attr-defined]  # the only way to a pattern's structure

    counted = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}

    def matches(node: Any) -> int:
        if isinstance(node, tuple) and node[0] in counted:
            low, high, body = node[1]
            times = low if high == _constants.MAXREPEAT else high
            return matches(body) if body.getwidth()[0] else times * max(1, matches(body))
        return sum(map(matches, node)) if isinstance(node, tuple | list | _parser.SubPattern) else 0

    return matches(_parser.parse(pattern))
