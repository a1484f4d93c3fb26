"""Micro-batches: the parts of the batch of an optimizer step, each the input of a forward pass.

The gradient of a step is that of its whole batch, however it is divided: a loss divides its sum by a count of the step,
not of the micro-batch, whose mean would weigh a token more where there are few. So a step's micro-batches are all made
before the first is trained on, and their counts are added up, also over devices.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from adaptbert.model.device import Movable
from adaptbert.training.ranks import Ranks


@dataclass(frozen=True, kw_only=True)
class MicroBatch(Movable):
    """The input of a module's `training_step`.

    Attributes:
        counts: numbers that are summed over the run; `tokens`, without padding, is one of them.
        step_counts: these over the optimizer step, all devices together; None: it has no other micro-batch.
        in_step: micro-batches of the step, all devices together.
    """

    counts: Mapping[str, int]
    step_counts: Mapping[str, int] | None = None
    in_step: int = 1

    def mean_count(self, name: str) -> float:
        """The number that a loss divides its sum by: the mean of a count over the micro-batches of the step, because
        their gradients are averaged; a step that counts 0 has no sum to divide."""
        return max(1, (self.step_counts or self.counts)[name]) / self.in_step


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
    """

    steps: Iterable[list[MicroBatch]]
    ranks: Ranks
    length: int

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[list[MicroBatch]]:
        for batches in self.steps:
            counts: Counter[str] = Counter()
            for batch in batches:
                counts.update(batch.counts)
            step_counts, in_step = self.ranks.total(counts), len(batches) * self.ranks.world
            yield [replace(batch, step_counts=step_counts, in_step=in_step) for batch in batches]
