"""Micro-batches: the parts of the batch of an optimizer step, each the input of a forward pass.

The gradient of a step is that of its whole batch, however it is divided: a loss divides its sum by a count of the step,
not of the micro-batch, whose mean would weigh a token more where there are few. So a step's micro-batches are all made
before the first is trained on, and their counts are added up, also over devices.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Self

import torch
from torch import Tensor

from adaptbert.model.device import Movable
from adaptbert.training.ranks import Ranks


@dataclass(frozen=True, kw_only=True)
class MicroBatch(Movable):
    """The input of a module's `training_step`.

    Attributes:
        counts: numbers that are summed over the run; `tokens`, without padding, is one of them.
        step_counts: these over the optimizer step, all devices together; None: it has no other micro-batch.
        in_step: micro-batches of the step, all devices together.
        is_static: whether it is padded to one of the few sizes of a run, for a CUDA graph.
        divisors: then the mean of each count over the micro-batches of the step, by name, (counts,), for a graph reads
            numbers from the device.
    """

    counts: Mapping[str, int]
    step_counts: Mapping[str, int] | None = None
    in_step: int = 1
    is_static: bool = False
    divisors: Tensor | None = None

    def mean(self, total: Tensor, name: str, each: int = 1) -> Tensor:
        """The mean of what was summed over this micro-batch, so many values for each that is counted.

        The sum is divided by the mean of the count over the micro-batches of the step, because their gradients are
        averaged; a step that counts 0 has no sum to divide.
        """
        if self.divisors is not None:
            return total / (each * self.divisors[sorted(self.counts).index(name)])
        # A GPU would multiply by the inverse of a number.
        return total / total.new_full((), each * self._mean_count(name))

    def _mean_count(self, name: str) -> float:
        return max(1, (self.step_counts or self.counts)[name]) / self.in_step

    def of_step(self, step_counts: Mapping[str, int], in_step: int) -> Self:
        """The same as one of the micro-batches of a step."""
        counted = replace(self, step_counts=step_counts, in_step=in_step)
        if not self.is_static:
            return counted
        divisors = torch.tensor([counted._mean_count(name) for name in sorted(self.counts)])
        return replace(counted, divisors=divisors.pin_memory() if torch.cuda.is_available() else divisors)


Batches = Callable[[int], MicroBatch]
"""The k-th micro-batch of a run; for several devices it must be picklable."""


def made(batch: Batches, numbers: Iterable[int]) -> list[MicroBatch]:
    """The micro-batches of these numbers."""
    return [batch(k) for k in numbers]


@dataclass(frozen=True)
class CountedBatches:
    """The micro-batches of a rank step by step, each with the counts of its optimizer step: what Lightning iterates
    over.

    Attributes:
        length: optimizer steps.
        together: steps whose counts are added over the ranks at once, for each time all wait for the slowest. They are
            made before the first of them is trained on.
    """

    steps: Iterable[list[MicroBatch]]
    ranks: Ranks
    length: int
    together: int = 1

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[list[MicroBatch]]:
        steps = iter(self.steps)
        while some := [*islice(steps, self.together)]:
            counts = [{name: sum(each.counts[name] for each in step) for name in step[0].counts} for step in some]
            for batches, step_counts in zip(some, self.ranks.totals(counts), strict=True):
                yield [batch.of_step(step_counts, len(batches) * self.ranks.world) for batch in batches]
