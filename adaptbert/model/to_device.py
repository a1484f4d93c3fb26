"""Moves a batch to a device: any dataclass of tensors, arrays, and other such dataclasses."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

Batch = TypeVar("Batch")


def to(batch: Batch, device: torch.device) -> Batch:
    """The same on a device, arrays as tensors; from pinned memory the copy is asynchronous."""
    return _each(batch, lambda tensor: tensor.to(device, non_blocking=True))


def pinned(batch: Batch) -> Batch:
    """The same in memory that a CUDA device reads by itself."""
    return _each(batch, Tensor.pin_memory)


def _each(batch: Batch, change: Callable[[Tensor], Tensor]) -> Batch:
    def changed(value: Any) -> Any:
        if isinstance(value, (Tensor, np.ndarray)):
            return change(torch.as_tensor(value))
        return _each(value, change) if is_dataclass(value) else value

    return replace(batch, **{field.name: changed(getattr(batch, field.name)) for field in fields(batch)})  # type: ignore[type-var,arg-type]
