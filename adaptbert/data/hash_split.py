"""Splits dev or test rows off the training rows by a hash.

The split of a row depends only on its text, or on its group where one is mapped, so that rows added later move no
other row, and copies of one text stay together. Questions about one context stay together as well.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Annotated

from pydantic import Field, model_validator

from adaptbert.base.config import Config, contradiction
from adaptbert.data.cleaning import letters
from adaptbert.data.layout import Layout
from adaptbert.data.readers.records import Row
from adaptbert.data.targets import as_text

Share = Annotated[float, Field(gt=0, lt=1)]


class CutConfig(Config):
    """Which splits are cut off the training rows; their paths name the same file as `train`.

    Rows whose `group` is equal stay together, where `columns` maps one; else rows of equal text (or context).
    """

    dev: Share | None = None
    """Share of the rows that become the development split; left out: it has a file of its own."""
    test: Share | None = None
    """Share of the rows that become the test split; left out: it has a file of its own."""

    @model_validator(mode="after")
    def _agree(self) -> "CutConfig":
        if not self.shares():
            raise contradiction("split has no share", "give a share for dev, for test or for both")
        if sum(self.shares().values()) >= 1:
            problem = f"split: dev {self.dev} + test {self.test} leave nothing to train on"
            raise contradiction(problem, "write smaller shares")
        return self

    def shares(self) -> dict[str, float]:
        """Shares of the splits that are cut off."""
        return {name: share for name, share in (("test", self.test), ("dev", self.dev)) if share is not None}


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
