"""The labelled rows of each seed as the inputs of its training."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from adaptbert.finetuning.cell_config import CellConfig
from adaptbert.finetuning.heldout_rows import HeldOutRows, Measured
from adaptbert.finetuning.options import class_weights
from adaptbert.finetuning.seed_run import SeedRun
from adaptbert.finetuning.tasks.examples import Examples
from adaptbert.finetuning.tasks.shape import Shape
from adaptbert.finetuning.tasks.shapes import shape_of
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.rows import labelled_set
from adaptbert.rows.task_description import TaskDescription

InputsOf = Callable[[int], SeedRun]
"""A seed -> its inputs."""


@dataclass
class SeedInputs:
    """The inputs of the seeds of a cell.

    The last ones are kept: where all labels are used, they are those of every seed.

    Attributes:
        pool: all rows of the training split.
    """

    start: Checkpoint
    described: TaskDescription
    pool: list[dict[str, Any]]
    held_out: HeldOutRows
    _last: tuple[tuple[int, int | None], Shape, Examples] | None = field(default=None, init=False)

    def of(self, seed: int, params: CellConfig, labels: int | None = None) -> SeedRun:
        """On the subset of this seed, with the class weights of that subset.

        Args:
            labels: rows of the subset; None: as `params` says.
        """
        count = labelled_set.used(self.pool, params.labels if labels is None else labels)
        key = (count, None if count == len(self.pool) else seed)
        if self._last is None or self._last[0] != key:
            self._last = (key, *self._encoded(params, labelled_set.subset(self.pool, count, seed)))
        _, shape, examples = self._last
        return SeedRun(self.start, params, shape, examples, self.held_out)

    def measured(self, seed: int, params: CellConfig) -> Measured:
        """The labelled rows of a seed, and their examples."""
        return Measured(labelled_set.subset(self.pool, params.labels, seed), self.of(seed, params).examples)

    def _encoded(self, params: CellConfig, rows: list[dict[str, Any]]) -> tuple[Shape, Examples]:
        shape = shape_of(self.described, params.options())
        examples = shape.examples(rows, self.start.tokenizer, params.max_length)
        targets = shape.targets(rows, examples)
        if params.class_weights is not None:
            weights = class_weights.weights(params.class_weights, shape.classes, targets)
            shown = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(shape.classes, weights, strict=True))
            print(f"  class weights: {shown}")
            shape = shape_of(self.described, params.options(), weights)
        return shape, examples.labelled(targets)
