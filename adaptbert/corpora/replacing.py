"""`replace` of params.yaml: regular expressions and what takes their place, within a time for each text.

Patterns are checked as Python's `re` reads them, and run by `regex`, which takes the same ones and can be stopped: a
pattern such as `(a|a)*$` tries more ways than there are atoms before it says that a text of 40 letters does not fit.
"""

import re
from collections.abc import Sequence

from adaptbert.errors import BadData

SECONDS = 10.0
"""That one pattern may work on one text; usual ones read a million characters in a tenth of a second."""
_SHOWN = 200
"""Characters of a pattern that a message shows."""


def problem(pairs: Sequence[Sequence[str]] | None) -> str | None:
    """What is wrong with the first pattern that cannot be used, and where in it; None: nothing is."""
    import regex

    for pattern, replacement in pairs or []:
        try:
            re.compile(pattern).sub(replacement, "")
            regex.compile(pattern).sub(replacement, "")
        except (re.error, regex.error, IndexError, ValueError, OverflowError, RecursionError) as error:
            return f"replace: '{pattern[:_SHOWN]}' -> '{replacement[:_SHOWN]}': {error}"
    return None


class Replacer:
    """Pairs of a pattern that `problem` let pass and its replacement, applied in their order."""

    def __init__(self, pairs: Sequence[Sequence[str]] | None) -> None:
        import regex

        self._pairs = [(regex.compile(pattern), replacement) for pattern, replacement in pairs or []]

    def __call__(self, text: str, place: str) -> str:
        """The text, changed.

        Args:
            place: of the row, for the message.

        Raises:
            BadData: a pattern does not come to an end.
        """
        for pattern, replacement in self._pairs:
            try:
                text = pattern.sub(replacement, text, timeout=SECONDS)
            except (TimeoutError, MemoryError):
                what = f"replace: '{pattern.pattern[:_SHOWN]}' does not come to an end in {SECONDS:g} seconds"
                remedy = "write the pattern so that a text fits it in one way: (a+)* fits in many"
                raise BadData(191, place, what, remedy) from None
        return text
