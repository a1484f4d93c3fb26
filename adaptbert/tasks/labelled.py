"""A labelled set on disk: the splits that the gate let through, and the subset of labels that a recipe spends."""

import json
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptbert import tables
from adaptbert.outputs import read_json

if TYPE_CHECKING:
    from adaptbert.tasks.examples import Examples


class Measured(NamedTuple):
    """Rows by which models are measured, and their examples."""

    rows: list[dict[str, Any]]
    examples: "Examples"


class HeldOutRows:
    """The splits that nothing is trained on, each opened when it is first asked for, and once for all runs of a cell.

    Args:
        folder: of the set.
        examples: of rows.
    """

    def __init__(self, folder: Path, examples: "Callable[[list[dict[str, Any]]], Examples]") -> None:
        self._folder, self._examples = folder, examples

    @cached_property
    def dev(self) -> Measured:
        return self._opened("dev")

    @cached_property
    def test(self) -> Measured:
        """Asked for when a model is through with its training."""
        return self._opened("test")

    def _opened(self, name: str) -> Measured:
        rows = split(self._folder, name)
        return Measured(rows, self._examples(rows))


def split(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of `train`, `dev` or `test`."""
    return list(tables.rows(folder / f"{name}.parquet"))


def description(folder: Path) -> dict[str, Any]:
    """task.json: `shape`, `target`, `labels`, `rows`; of a number also `range`, of answers `no_answer`.

    `replace` where texts were changed as they were read.
    """
    return read_json(folder / "task.json")


def subset(rows: list[dict[str, Any]], labels: int) -> list[dict[str, Any]]:
    """`labels` of the rows, the same for every arm and seed and a prefix of any larger subset; 0 takes all.

    Rows are taken in the order of the hash of their id, which is random with respect to the label.
    """
    if labels == 0 or labels >= len(rows):
        return rows
    return sorted(rows, key=lambda row: sha256(str(row["id"]).encode()).digest())[:labels]


def digest(rows: list[dict[str, Any]]) -> str:
    """Of what the rows hold: equal rows in the same order have equal digests."""
    return sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
