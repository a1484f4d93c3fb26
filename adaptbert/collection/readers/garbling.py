"""UTF-8 that is read in another encoding: most of them take any bytes, and what comes out is garbled without an error.

Text in GBK or Latin-1 is valid UTF-8 by chance only where it is short: of the common Chinese characters 18 in 100 have
bytes in GBK that are a character of UTF-8, so that six of six do once in 30,000 times.
"""

from collections import Counter
from pathlib import Path

_LINES = 10_000
"""With other bytes than ASCII; more are not looked at."""
_SHARE = 0.9
"""Of these lines; a file may hold a few that are damaged."""
_CHARACTERS, _DISTINCT = 6, 4
"""Beyond ASCII, that must be there; one word that stands in every row proves nothing."""


class Doubt:
    """Gathers the lines of a file that is read in a declared encoding.

    Args:
        encoding: by its name in Python.
    """

    def __init__(self, shown: str, encoding: str) -> None:
        self._name, self._encoding = Path(shown).name, encoding
        self._lines = self._fitting = self._characters = 0
        self._distinct: set[str] = set()

    def add(self, line: bytes) -> None:
        """One more line, as it stands in the file."""
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

    def tell(self, warnings: Counter[str]) -> None:
        """Add a warning, counted in lines, where the file is UTF-8."""
        if self._characters < _CHARACTERS or len(self._distinct) < _DISTINCT or self._fitting < _SHARE * self._lines:
            return
        share = f"{self._fitting / self._lines:.1%} of its lines beyond ASCII are valid UTF-8"
        what = f"{self._name} is read as {self._encoding}, but {share}: is it garbled? leave the encoding out"
        warnings[what] += self._fitting
