"""CSV in which a spreadsheet executes no cell.

Spreadsheets interpret a cell that begins with certain characters as a formula: `=HYPERLINK(...)` as the id of a post
becomes a link. A leading apostrophe makes it text (OWASP, "CSV Injection"). Numbers are unchanged, including those that
are text, such as the id `-5`.
"""

import csv
import re
from collections.abc import Sequence
from typing import IO

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters of a formula. A cell of one such character is no formula: `+` and `-` are labels of some sets."""
_UNSEEN = re.compile("\\A[\u00a0\u2007\u202f\u3000\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]+")
"""What some programs leave out before a formula: blanks that do not break a line, and characters without a width."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
"""A number, narrower than float(): a spreadsheet reads `-inf` as a formula with a name in it."""


class Table:
    """Rows of CSV.

    Args:
        file: opened with newline="".
    """

    def __init__(self, file: IO[str], header: Sequence[str]) -> None:
        self._plain = csv.writer(file, lineterminator="\n")
        # Before Python 3.13, csv does not quote a lone CR, which would begin a row.
        self._quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self._plain.writerow(header)

    def write(self, row: Sequence[object]) -> int:
        """Append a row; return how many of its texts were prefixed with an apostrophe."""
        cells = [inert(cell) if isinstance(cell, str) else cell for cell in row]
        writer = self._quoted if any(isinstance(cell, str) and "\r" in cell for cell in cells) else self._plain
        writer.writerow(cells)
        return sum(cell is not written for cell, written in zip(row, cells, strict=True))


def inert(text: str) -> str:
    """The text, prefixed with an apostrophe where a spreadsheet may execute it."""
    bare = _UNSEEN.sub("", text)
    is_formula = len(bare) > 1 and bare.startswith(FORMULA) and not _NUMBER.fullmatch(bare)
    return f"'{text}" if is_formula else text
