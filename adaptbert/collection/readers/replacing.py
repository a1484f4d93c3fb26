"""`replace` of params.yaml: regular expressions and what takes their place, within bounds of time and of length.

Patterns are checked as Python's `re` reads them, and run by `regex`, which takes the same ones and can be stopped: a
pattern such as `(a|a)*$` tries more ways than there are atoms before it says that a text of 40 letters does not fit.
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
"""Of the processor that one pattern may work on one text; usual ones read a million characters in 0.1 s."""
GROWTH, SPARE = 10, 10_000
"""A text may become so many times as long, and so many characters longer than that: each Chinese character may be
spelled out, and a short text may hold an emoji that becomes a sentence."""
MOST_EMPTY = 10_000
"""Matches of nothing that a pattern may count in one place, as `(a?){999}` does; each costs kilobytes."""
_SHOWN = 200
"""Characters of a pattern that a message shows."""
_UNIT = re.compile(r"\\(?:g<[^>]*>|\d{1,3}|.)|[^\\]+", re.DOTALL)
"""A part of a replacement: one escape, or what stands between two."""


class OutOfTime(Exception):
    """Whoever wants a look at some rows has spent the time that patterns may take."""


class Allowance:
    """Processor time that all patterns together may take, on all texts of all files.

    Args:
        seconds: more than SECONDS, so that a pattern that does not come to an end is met as such.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    @contextmanager
    def of_one(self) -> Iterator[float]:
        """Seconds that one pattern may work on one text. Raises OutOfTime where that is less than it may elsewhere, and
        too little."""
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
    """What is wrong with the first pattern that cannot be used, and where in it; None: nothing is."""
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
    """Pairs of a pattern that `problem` let pass and its replacement, applied in their order.

    Args:
        allowance: of whoever wants a look at some rows; None: each text has time of its own.
    """

    def __init__(self, pairs: Sequence[Sequence[str]] | None, allowance: Allowance | None = None) -> None:
        import regex

        self._pairs = [(regex.compile(pattern), replacement) for pattern, replacement in pairs or []]
        self._allowance = allowance or Allowance(math.inf)

    def __call__(self, text: str, place: str) -> str:
        """The text, changed.

        Args:
            place: of the row, for the message.

        Raises:
            BadData: a pattern does not come to an end, or the text grows beyond its bound.
            OutOfTime: the allowance is spent.
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
    """As `sub` does it, but for what would be too long: that is known before memory is taken for it.

    Raises:
        TimeoutError: the pattern is at work for too long.
        _TooLong: the result would be longer than `longest`.
    """
    if "\\" not in replacement and len(text) + (len(text) + 1) * len(replacement) <= longest:
        return str(pattern.sub(replacement, text, timeout=seconds))  # even if it fits everywhere
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
    """How often at most a part of the pattern that fits nothing is counted in one place, as (a?){999} and (|a){2,} do.

    Both engines hold each of these matches, even where there is no text; what takes a character ends with the text.
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
