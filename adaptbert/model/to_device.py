"""Moves a batch to a device, any dataclass of tensors, arrays, and other such dataclasses; and tensors from it."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

Batch = TypeVar("Batch")


def to(batch: Batch, device: torch.device) -> Batch:
    """The same on a device, arrays as tensors; from pinned memory the copy is asynchronous."""
    return _each(batch, lambda tensor: tensor.to(device, non_blocking=True))


class Movable:
    """A batch, as Lightning moves it."""

    def to(self, device: torch.device) -> Self:
        """The same on another device."""
        return to(self, device)

    def pin_memory(self) -> Self:
        """The same in memory that a CUDA device reads by itself."""
        return _each(self, Tensor.pin_memory)


class HostCopy:
    """Copies of tensors on their way to the processor; the device goes on with its work.

    It copies in its turn, so that the copies have the values of now, whatever changes the tensors later.

    Args:
        tensors: of one device.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        # From a CUDA device into pinned memory, or the copy would wait.
        self._copies = [tensor.detach().to("cpu", non_blocking=True, copy=True) for tensor in tensors]
        device = tensors[0].device
        self._done = None if device.type == "cpu" else torch.Event(device)
        if self._done is not None:
            self._done.record()

    def tensors(self) -> list[Tensor]:
        """The copies; waits until the device has come so far."""
        if self._done is not None:
            self._done.synchronize()
        return self._copies


def _each(batch: Batch, change: Callable[[Tensor], Tensor]) -> Batch:
    def changed(value: Any) -> Any:
        if isinstance(value, (Tensor, np.ndarray)):
            return change(torch.as_tensor(value))
        return _each(value, change) if is_dataclass(value) else value

    return replace(batch, **{field.name: changed(getattr(batch, field.name)) for field in fields(batch)})  # type: ignore[type-var,arg-type]
