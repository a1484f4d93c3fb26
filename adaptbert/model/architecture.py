"""The number of parameters of a model."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def parameters(model: "nn.Module") -> int:
    """The number of parameters of a model; shared ones are counted once."""
    return sum(parameter.numel() for parameter in model.parameters())
