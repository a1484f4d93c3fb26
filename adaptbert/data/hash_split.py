"""Splits dev or test rows off the training rows by a hash.

The split of a row depends only on its text, or on its group where one is mapped, so that rows added later move no
other row, and copies of one text stay together. Questions about one context stay together as well.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Any

from pydantic import Field

from adaptbert.codes import Code
from adaptbert.data.cells import as_text
from adaptbert.data.cleaning import letters
from adaptbert.data.layout import Layout
from adaptbert.data.readers.records import Row, Unreadable
from adaptbert.errors import BadData

Share = Annotated[float, Field(gt=0, lt=1)]


class Cut:
    """The rows of one source by split, in memory; rows that cannot be read belong to train.

    Args:
        read: reads all rows of the source.
    """

    def __init__(
        self, read: Callable[[], Iterator[Row | Unreadable]], layout: Layout, shares: dict[str, float]
    ) -> None:
        self._read, self.layout, self.shares = read, layout, shares

    def rows(self, split: str) -> list[Row | Unreadable]:
        """Raises BadData when a split would have none."""
        if not self._pool[split]:
            total = sum(map(len, self._pool.values()))
            problem = f"{total:,} rows cannot be split: none falls to {split}"
            remedy = f"give more rows, or a file for {split}"
            raise BadData(Code.TOO_FEW_ROWS, "params.yaml: tasks", problem, remedy)
        return self._pool[split]

    @cached_property
    def _pool(self) -> dict[str, list[Row | Unreadable]]:
        pool: dict[str, list[Row | Unreadable]] = defaultdict(list)
        for row in self._read():
            name = split_of(self._key(row), self.shares) if isinstance(row, Row) else "train"
            pool[name].append(row)
        return pool

    def _key(self, row: Row) -> str:
        if row.group is not None:
            return f"group {row.group}"
        return "\n".join(letters(as_text(row.values[name])) for name in self.layout.shared)

    def describe(self, columns: Mapping[str, str]) -> dict[str, Any]:
        """The shares, and the column whose hash determines the split.

        Args:
            columns: field -> column in the file.
        """
        by = columns["group"] if "group" in columns else " and ".join(self.layout.shared)
        return {**self.shares, "by_hash_of": by}


def split_of(key: str, shares: Mapping[str, float], salt: str = "split ") -> str:
    """`train`, or one of the splits that have a share.

    Args:
        salt: before the key, so that this choice is independent of other hashes of a text.
    """
    draw = int.from_bytes(sha256(f"{salt}{key}".encode()).digest()[:6]) / 2**48
    for name, share in shares.items():
        if draw < share:
            return name
        draw -= share
    return "train"
