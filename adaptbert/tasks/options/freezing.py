"""Freezing of parts of the encoder, for the whole run or until a certain epoch.

A frozen parameter gets no gradient and the optimizer keeps no means of it. Autograd builds no graph below the lowest
trained parameter, which saves time.
"""

from typing import TYPE_CHECKING

from adaptbert.config.schema.finetuning import Freeze, GradualUnfreezing
from adaptbert.model.families.family import depths

if TYPE_CHECKING:
    from torch import nn


def layers_below(config: Freeze, layers: int) -> int:
    """The number of lowest layers, of `layers`, without any trained parameter in or below them."""
    return (layers if config.layers == "all" else config.layers) if config.embeddings else 0


def frozen_depths(config: GradualUnfreezing, epoch: int, layers: int) -> int:
    """The number of the lowest depths (adaptbert.model.families.family.depths) that are frozen in epoch 0, 1 ...

    At most `layers` + 1, all but the head.
    """
    return max(0, layers + 1 - epoch * config.layers_per_epoch)


def freeze(model: "nn.Module", config: Freeze) -> None:
    """Freeze parameters for the whole run."""
    depth_of = depths(name for name, _ in model.named_parameters())
    top = max(depth_of.values())
    last = top - 1 if config.layers == "all" else config.layers
    for name, parameter in model.named_parameters():
        depth = depth_of[name]
        parameter.requires_grad_(not (config.embeddings if depth == 0 else depth <= last))
