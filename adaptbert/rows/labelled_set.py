"""Reads the validated splits of a labelled set, and selects the labelled subset that a recipe trains on."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from adaptbert.rows import parquet as tables


def split(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of `train`, `dev` or `test`."""
    return list(tables.rows(folder / f"{name}.parquet"))


def subset(rows: list[dict[str, Any]], labels: int) -> list[dict[str, Any]]:
    """`labels` of the rows: the same for every arm and seed, and a prefix of any larger subset; 0 takes all.

    Rows are taken in the order of the hash of their id, which is random with respect to the label.
    """
    if labels == 0 or labels >= len(rows):
        return rows
    return sorted(rows, key=lambda row: sha256(str(row["id"]).encode()).digest())[:labels]


def digest(rows: list[dict[str, Any]]) -> str:
    """SHA-256 of the contents: equal rows in the same order have equal digests."""
    return sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
