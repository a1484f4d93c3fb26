"""Parts of the encoder that are not trained: for the whole run, or until their epoch has come.

A frozen parameter gets no gradient and the optimizer keeps no means of it. What lies below the lowest trained one is
computed without a graph, which is where the time is saved: autograd finds that out by itself.
"""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction
from adaptbert.model.parameter_depth import depths

if TYPE_CHECKING:
    from torch import nn


class FreezeConfig(Config):
    """What is never trained. All of it is the feature-based use of Devlin et al. 2019, section 5.3."""

    layers: Annotated[int, Field(ge=0, le=bounds.LAYERS)] | Literal["all"]
    """So many, from the lowest; `all` leaves the head alone to learn (and the pooler, which belongs to it)."""
    embeddings: bool
    """Whether they are frozen too. Where they learn, gradients go through all layers and hardly any time is saved."""

    @model_validator(mode="after")
    def _something(self) -> "FreezeConfig":
        if self.layers == 0 and not self.embeddings:
            raise contradiction("layers 0 and embeddings false freeze nothing", "leave the block out")
        return self

    def below(self, layers: int) -> int:
        """Layers of so many under which nothing learns."""
        return (layers if self.layers == "all" else self.layers) if self.embeddings else 0

    @property
    def is_everything(self) -> bool:
        """Whether only the head learns."""
        return self.layers == "all" and self.embeddings


class GradualUnfreezingConfig(Config):
    """Training from the top: Howard and Ruder 2018, "Universal Language Model Fine-tuning", section 3.3.

    The first epoch trains the head alone, each later one `layers_per_epoch` layers more; the embeddings come last.
    """

    layers_per_epoch: Annotated[int, Field(ge=1, le=bounds.LAYERS)]
    """In the paper 1; with 12 layers and few epochs more are needed for all of them to have their turn."""

    def frozen(self, epoch: int, layers: int) -> int:
        """How many of the lowest depths (adaptbert.model.parameter_depth) learn nothing in epoch 0, 1 ... of a model of
        so many layers.

        At most `layers` + 1, all but the head.
        """
        return max(0, layers + 1 - epoch * self.layers_per_epoch)


def freeze(model: "nn.Module", config: FreezeConfig) -> None:
    """For the whole run."""
    found = depths(name for name, _ in model.named_parameters())
    top = max(found.values())
    last = top - 1 if config.layers == "all" else config.layers
    for name, parameter in model.named_parameters():
        depth = found[name]
        parameter.requires_grad_(not (config.embeddings if depth == 0 else depth <= last))
