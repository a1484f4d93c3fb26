"""The rows that nothing is trained on, opened when they are first asked for."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptbert.rows import labelled_set

if TYPE_CHECKING:
    from adaptbert.finetuning.tasks.examples import Examples


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
        rows = labelled_set.split(self._folder, name)
        return Measured(rows, self._examples(rows))
