"""CSV that a spreadsheet shows and never runs.

Spreadsheets take a cell that begins with one of a few characters for a formula, whoever wrote it: `=HYPERLINK(...)` as
the id of a post becomes a link. An apostrophe in front makes it text (OWASP, "CSV Injection"). Numbers are left alone,
also those that are text, such as the id `-5`.
"""

import csv
import re
from collections.abc import Sequence
from typing import IO

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a formula may begin with. One of these alone is none: `+` and `-` stay, which are labels of some sets."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
"""Less than float() reads: `-inf` is a formula, with a name in it."""


class Table:
    """Rows of CSV.

    Args:
        file: opened with newline="".
    """

    def __init__(self, file: IO[str], header: Sequence[str]) -> None:
        self._plain = csv.writer(file, lineterminator="\n")
        # Before Python 3.13 a CR that stands alone gets no quotes, and would begin a row.
        self._quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self._plain.writerow(header)

    def write(self, row: Sequence[object]) -> int:
        """Add a row; returns how many of its texts got an apostrophe."""
        cells = [inert(cell) if isinstance(cell, str) else cell for cell in row]
        writer = self._quoted if any(isinstance(cell, str) and "\r" in cell for cell in cells) else self._plain
        writer.writerow(cells)
        return sum(cell is not written for cell, written in zip(row, cells, strict=True))


def inert(text: str) -> str:
    """The text, with an apostrophe in front where a spreadsheet may run it."""
    is_formula = len(text) > 1 and text.startswith(FORMULA) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text
