"""Puts a model into evaluation mode for a block, on the GPU where there is one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def fastest_device() -> "torch.device":
    """The first CUDA device, or the processor."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def evaluating(model: Any, precision: str) -> Iterator[None]:
    """No dropout and no gradients, matrix products in `precision`; afterwards the model is as and where it was before.

    Outside of training a model is on the processor, as Lightning leaves it there.
    """
    import torch

    was_training, home = model.training, model.device
    model.eval()
    if home.type == "cpu":
        model.to(fastest_device())
    try:
        with torch.no_grad(), torch.autocast(model.device.type, torch.bfloat16, enabled=precision == "bf16-mixed"):
            yield
    finally:
        model.train(was_training)
        model.to(home)
