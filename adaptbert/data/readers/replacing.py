"""`replace` of params.yaml: regular expressions and their replacements, with limits of time and length.

Patterns are checked with Python's `re`, and run by `regex`, which has the same syntax and a timeout: a pattern such as
`(a|a)*$` backtracks exponentially on a text of 40 letters that it does not match.
"""

import re
from collections.abc import Sequence

from adaptbert.codes import Code
from adaptbert.errors import BadData

SECONDS = 5.0
"""Processor time of one pattern on one text; usual patterns read a million characters in 0.1 s."""
GROWTH, SPARE = 10, 10_000
"""A text may grow to GROWTH times its length plus SPARE characters: each Chinese character may be spelled out, and an
emoji in a short text may become a sentence."""
_SHOWN = 200
"""Characters of a pattern that a message shows."""


def problem(pairs: Sequence[Sequence[str]] | None) -> str | None:
    """The error of the first invalid pattern, with its position; None: all are valid."""
    import regex

    for pattern, replacement in pairs or []:
        try:
            re.compile(pattern).sub(replacement, "")
            regex.compile(pattern).sub(replacement, "")
        except (re.error, regex.error, IndexError, ValueError, OverflowError, RecursionError) as error:
            return f"replace: '{pattern[:_SHOWN]}' -> '{replacement[:_SHOWN]}': {error}"
    return None


class Replacer:
    """Pairs of a pattern that is valid by `problem` and its replacement, applied in order."""

    def __init__(self, pairs: Sequence[Sequence[str]] | None) -> None:
        import regex

        self._pairs = [(regex.compile(pattern), replacement) for pattern, replacement in pairs or []]

    def __call__(self, text: str, place: str) -> str:
        """The text after all replacements.

        Args:
            place: of the row, for the message.

        Raises:
            BadData: a pattern does not terminate, or the text grows beyond its limit.
        """
        longest, length = GROWTH * len(text) + SPARE, len(text)
        for pattern, replacement in self._pairs:
            try:
                text = pattern.sub(replacement, text, timeout=SECONDS)
            except (TimeoutError, MemoryError):
                what = f"replace: '{pattern.pattern[:_SHOWN]}' does not come to an end in {SECONDS:g} seconds"
                remedy = "write the pattern so that a text fits it in one way: (a+)* fits in many"
                raise BadData(Code.BAD_PATTERN, place, what, remedy) from None
            if len(text) > longest:
                shown = f"'{pattern.pattern[:_SHOWN]}' -> '{replacement[:_SHOWN]}'"
                what = f"replace: {shown} makes more than {longest:,} characters of a text of {length:,}"
                remedy = f"a text may grow to {GROWTH} times its length and {SPARE:,} characters: write a shorter one"
                remedy = f"{remedy}, or a pattern that fits in fewer places"
                raise BadData(Code.BAD_PATTERN, place, what, remedy)
        return text
