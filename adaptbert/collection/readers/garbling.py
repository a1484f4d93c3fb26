"""Detects UTF-8 that is read in another encoding: most encodings decode any bytes without an error.

Text in GBK or Latin-1 is valid UTF-8 by chance only if it is short: the GBK bytes of 18 % of the common Chinese
characters are valid UTF-8, so six characters of six are valid once in 30,000 times.
"""

from collections import Counter
from pathlib import Path

_LINES = 10_000
"""Lines with other bytes than ASCII; more are not checked."""
_SHARE = 0.9
"""Share of these lines that are valid UTF-8; a file may have a few damaged lines."""
_CHARACTERS, _DISTINCT = 6, 4
"""Minimum of non-ASCII characters, and of distinct ones: one word in every row is no evidence."""


class GarblingCheck:
    """Checks the lines of a file that is read in a declared encoding.

    Args:
        encoding: by its name in Python.
    """

    def __init__(self, shown: str, encoding: str) -> None:
        self._name, self._encoding = Path(shown).name, encoding
        self._lines = self._fitting = self._characters = 0
        self._distinct: set[str] = set()

    def add(self, line: bytes) -> None:
        """Count a line, given as bytes of the file."""
        if self._encoding == "utf-8" or self._lines == _LINES or line.isascii():
            return
        self._lines += 1
        try:
            beyond = [character for character in line.decode() if not character.isascii()]
        except UnicodeDecodeError:
            return
        self._fitting += 1
        self._characters += len(beyond)
        if len(self._distinct) < _DISTINCT:
            self._distinct.update(beyond)

    def warn(self, warnings: Counter[str]) -> None:
        """Add a warning, counted in lines, where the file is UTF-8."""
        if self._characters < _CHARACTERS or len(self._distinct) < _DISTINCT or self._fitting < _SHARE * self._lines:
            return
        share = f"{self._fitting / self._lines:.1%} of its lines beyond ASCII are valid UTF-8"
        what = f"{self._name} is read as {self._encoding}, but {share}: is it garbled? leave the encoding out"
        warnings[what] += self._fitting
