"""Numbers of optimizer steps on their way from the device: reading them at once would make it wait for the processor.

The numbers of an interval are copied while training goes on, and read when the next interval ends. Where somebody
needs them earlier, all are read, and the device waits.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from adaptbert.model.to_device import HostCopy


@dataclass(frozen=True)
class Reading:
    """The numbers of an optimizer step.

    Attributes:
        counts: sums over the run, until and with this step.
        norm: of the gradient before clipping.
        losses: the loss and its parts.
    """

    step: int
    counts: Mapping[str, int]
    norm: float
    losses: list[float]


class Readings:
    """A queue of the numbers of steps, in their order."""

    def __init__(self) -> None:
        self._new: list[tuple[int, Mapping[str, int], Tensor, Tensor]] = []
        self._copied: list[tuple[list[tuple[int, Mapping[str, int]]], HostCopy]] = []

    def add(self, step: int, counts: Mapping[str, int], norm: Tensor, losses: Tensor) -> None:
        """Add a step: the norm is a scalar, losses are (1 + parts,)."""
        self._new.append((step, dict(counts), norm, losses))

    def end_interval(self) -> list[Reading]:
        """Begin to copy the numbers of the steps since the last call; the readings of those before."""
        before, self._copied = self._copied, []
        self._copy()
        return _read(before)

    def all(self) -> list[Reading]:
        """The readings of all steps that were not read yet; waits for the device."""
        self._copy()
        copied, self._copied = self._copied, []
        return _read(copied)

    def _copy(self) -> None:
        new, self._new = self._new, []
        if new:
            numbers = torch.stack([torch.cat([norm[None], losses]) for _, _, norm, losses in new])
            self._copied.append(([(step, counts) for step, counts, _, _ in new], HostCopy([numbers])))


def _read(copied: list[tuple[list[tuple[int, Mapping[str, int]]], HostCopy]]) -> list[Reading]:
    readings = []
    for steps, copy in copied:
        (numbers,) = copy.tensors()
        for (step, counts), (norm, *losses) in zip(steps, numbers.tolist(), strict=True):
            readings.append(Reading(step, counts, norm, losses))
    return readings
