"""Splits dev or test rows off the training rows by a hash.

The split of a row depends only on its text, or on its group where one is mapped, so that rows added later move no
other row, and copies of one text stay together. Questions about one context stay together as well.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from adaptbert.data.cells import as_text
from adaptbert.data.cleaning import letters
from adaptbert.data.layout import Layout
from adaptbert.data.readers.records import Row


def cut(rows: Iterable[Row], layout: Layout, shares: Mapping[str, float]) -> dict[str, list[Row]]:
    """The rows of one source by split, in memory; rows that cannot be read belong to train."""
    pool: dict[str, list[Row]] = {split: [] for split in ("train", *shares)}
    for row in rows:
        pool["train" if row.problem else split_of(_key(row, layout), shares)].append(row)
    return pool


def _key(row: Row, layout: Layout) -> str:
    if row.group is not None:
        return f"group {row.group}"
    return "\n".join(letters(as_text(row.values[name])) for name in layout.shared)


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
