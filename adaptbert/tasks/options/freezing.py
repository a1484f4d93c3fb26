"""Freezing of parts of the encoder, for the whole run or until a certain epoch.

A frozen parameter gets no gradient and the optimizer keeps no means of it. Autograd builds no graph below the lowest
trained parameter, which saves time.
"""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction
from adaptbert.model.families.family import depths

if TYPE_CHECKING:
    from torch import nn


class FreezeConfig(Config):
    """The frozen parts. Freezing everything is the feature-based approach of Devlin et al. 2019, section 5.3."""

    layers: Annotated[int, Field(ge=0, le=bounds.LAYERS)] | Literal["all"]
    """Number of frozen layers, from the lowest; `all` trains only the head (and the pooler, which belongs to it)."""
    embeddings: bool
    """Whether they are frozen too. If not, gradients pass through all layers and hardly any time is saved."""

    @model_validator(mode="after")
    def _something(self) -> "FreezeConfig":
        if self.layers == 0 and not self.embeddings:
            raise contradiction("layers 0 and embeddings false freeze nothing", "leave the block out")
        return self

    def below(self, layers: int) -> int:
        """The number of lowest layers, of `layers`, without any trained parameter in or below them."""
        return (layers if self.layers == "all" else self.layers) if self.embeddings else 0

    @property
    def is_everything(self) -> bool:
        """Whether only the head is trained."""
        return self.layers == "all" and self.embeddings


class GradualUnfreezingConfig(Config):
    """Training from the top: Howard and Ruder 2018, "Universal Language Model Fine-tuning", section 3.3.

    The first epoch trains the head alone, each later one `layers_per_epoch` layers more; the embeddings come last.
    """

    layers_per_epoch: Annotated[int, Field(ge=1, le=bounds.LAYERS)]
    """In the paper 1; with 12 layers and few epochs a larger value is needed to train all of them."""

    def frozen(self, epoch: int, layers: int) -> int:
        """The number of the lowest depths (adaptbert.model.families.family.depths) that are frozen in epoch 0, 1 ...;
        at most `layers` + 1, all but the head.
        """
        return max(0, layers + 1 - epoch * self.layers_per_epoch)


def freeze(model: "nn.Module", config: FreezeConfig) -> None:
    """Freeze parameters for the whole run."""
    depth_of = depths(name for name, _ in model.named_parameters())
    top = max(depth_of.values())
    last = top - 1 if config.layers == "all" else config.layers
    for name, parameter in model.named_parameters():
        depth = depth_of[name]
        parameter.requires_grad_(not (config.embeddings if depth == 0 else depth <= last))
