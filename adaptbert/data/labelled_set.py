"""Reads the validated splits of a labelled set, and selects the labelled rows that a seed trains on."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from adaptbert.data import parquet as tables

TEST_GROUPS = "test_groups.parquet"
"""A file beside the raw splits: the group of each test row that has one."""


def test_groups(folder: Path) -> dict[str, str]:
    """Id of a test row -> its group, mapped or the document of the format; empty where there is none.

    Args:
        folder: of the raw set.
    """
    path = folder / TEST_GROUPS
    return {row["id"]: row["group"] for row in tables.rows(path)} if path.is_file() else {}


def split(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of `train`, `dev` or `test`."""
    return tables.rows(folder / f"{name}.parquet")


def used(rows: Sequence[Any], labels: int) -> int:
    """The number of rows of a subset; 0 takes all."""
    return min(labels, len(rows)) if labels else len(rows)


def subset(rows: list[dict[str, Any]], labels: int, seed: int) -> list[dict[str, Any]]:
    """`labels` of the rows, 0 for all: the same for every arm, and a prefix of any larger subset of the same seed.

    Every seed has a subset of its own, so that the luck of a subset is part of the spread over seeds (Bouthillier et
    al. 2021, "Accounting for variance in machine learning benchmarks", section 3.2). Rows are taken in the order of a
    hash of the seed and their id, which is random with respect to the label.
    """
    if used(rows, labels) == len(rows):
        return rows
    return sorted(rows, key=lambda row: sha256(f"{seed} {row['id']}".encode()).digest())[:labels]


def digest(rows: list[dict[str, Any]]) -> str:
    """SHA-256 of the contents: equal rows in the same order have equal digests."""
    return sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
