"""The dev and test rows, read on first use."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptbert.rows import labelled_set

if TYPE_CHECKING:
    from adaptbert.finetuning.tasks.examples import Examples


class Measured(NamedTuple):
    """Rows that models are evaluated on, and their examples."""

    rows: list[dict[str, Any]]
    examples: "Examples"


class HeldOutRows:
    """The dev and test splits; each is read on first use, once for all runs of a cell.

    Args:
        folder: of the set.
        examples: encodes rows.
    """

    def __init__(self, folder: Path, examples: "Callable[[list[dict[str, Any]]], Examples]") -> None:
        self._folder, self._examples = folder, examples

    @cached_property
    def dev(self) -> Measured:
        return self._read("dev")

    @cached_property
    def test(self) -> Measured:
        """Read after training."""
        return self._read("test")

    def _read(self, name: str) -> Measured:
        rows = labelled_set.split(self._folder, name)
        return Measured(rows, self._examples(rows))
