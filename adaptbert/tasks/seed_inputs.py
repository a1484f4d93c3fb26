"""The inputs of the training of each seed: its labelled rows, and the rows that all seeds are measured on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from adaptbert.config.schema.finetuning import Finetune
from adaptbert.data import labelled_set
from adaptbert.data.task_description import TaskDescription
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.flops import training_flop
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.metrics.cell_metrics import Cost
from adaptbert.tasks.options import class_weights
from adaptbert.tasks.options.freezing import layers_below
from adaptbert.tasks.shape import Shape
from adaptbert.tasks.shapes import shape_of
from adaptbert.training.document_stream import steps_of


class Measured(NamedTuple):
    """Rows that models are evaluated on, and their examples."""

    rows: list[dict[str, Any]]
    examples: Examples


class HeldOutRows:
    """The dev and test splits; each is read on first use, once for all runs of a cell.

    Args:
        folder: of the set.
        examples: encodes rows.
    """

    def __init__(self, folder: Path, examples: Callable[[list[dict[str, Any]]], Examples]) -> None:
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


@dataclass(frozen=True)
class SeedRun:
    """The inputs of every seed.

    Attributes:
        shape: of the task; with class weights, those of the examples.
        examples: with their targets.
    """

    start: Checkpoint
    params: Finetune
    shape: Shape
    examples: Examples
    held_out: HeldOutRows

    @property
    def steps(self) -> int:
        """Optimizer steps."""
        return steps_of(self.params.epochs * len(self.examples), self.params.global_batch_size)

    @property
    def epoch(self) -> float:
        """Optimizer steps of an epoch."""
        return len(self.examples) / self.params.global_batch_size

    @property
    def accumulate(self) -> int:
        """Micro-batches of an optimizer step."""
        return self.params.global_batch_size // self.params.micro_batch_size

    def cost(self, config: Any, counts: Mapping[str, int]) -> Cost:
        """Of a run that was trained on so many tokens.

        Args:
            config: of its model.
        """
        tflop = round(flop_of(self.params, config, counts) / 1e12, 3)
        return Cost(tokens=counts["tokens"], tflop=tflop)


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

    def of(self, seed: int, params: Finetune, labels: int | None = None) -> SeedRun:
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

    def measured(self, seed: int, params: Finetune) -> Measured:
        """The labelled rows of a seed, and their examples."""
        return Measured(labelled_set.subset(self.pool, params.labels, seed), self.of(seed, params).examples)

    def _encoded(self, params: Finetune, rows: list[dict[str, Any]]) -> tuple[Shape, Examples]:
        shape = shape_of(self.described, params.options(self.described.task_type))
        examples = shape.examples(rows, self.start.tokenizer, params.max_length)
        targets = shape.targets(rows, examples)
        if params.class_weights is not None:
            weights = class_weights.weights(params.class_weights, shape.classes, targets)
            shown = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(shape.classes, weights, strict=True))
            print(f"  class weights: {shown}")
            shape = shape_of(self.described, params.options(self.described.task_type), weights)
        return shape, examples.labelled(targets)


def flop_of(params: Finetune, config: Any, counts: Mapping[str, int]) -> float:
    """Floating-point operations of a run; layers that are unfrozen during the run are counted as always
    trained."""
    below = 0 if params.freeze is None else layers_below(params.freeze, config.num_hidden_layers)
    passes = 1 if params.r_drop is None else 2
    return passes * training_flop(config, counts["tokens"], params.block_size, counts["places"], 0, below)
