"""Puts a model into evaluation mode for a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def evaluating(model: Any, precision: str) -> Iterator[None]:
    """No dropout and no gradients, matrix products in `precision`; afterwards the model's mode is as before."""
    import torch

    was_training = model.training
    model.eval()
    try:
        with torch.no_grad(), torch.autocast(model.device.type, torch.bfloat16, enabled=precision == "bf16-mixed"):
            yield
    finally:
        model.train(was_training)
