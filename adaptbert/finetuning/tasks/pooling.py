"""The input vectors of a head: from the last layer or several, at single tokens or their mean.

The weights of the layer mix are saved with Hugging Face's own tensors, under the name `LAYER_MIX`.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from adaptbert.base.config import Config
from adaptbert.base.task_types import Target

if TYPE_CHECKING:
    from torch import Tensor

Layers = Literal["mix", "last_four"]
LAYER_MIX = "layer_mix"
FOUR = 4


class LayersConfig(Config):
    """Options that every task type has."""

    layers: Layers | None = None
    """The layers that the vectors come from: a learned mix of all (Peters et al. 2018), or the mean of the last four.
    Left out: the last one, as in stock transformers."""

    def check_room(self, max_length: int) -> None:
        """Refuse windows that would leave out tokens."""

    def mismatch(self, target: Target) -> tuple[str, str] | None:
        """Why the options do not fit a task with this target, and the fix; None where they fit."""
        return None

    @classmethod
    @abstractmethod
    def example(cls, target: Target, max_length: int) -> str:
        """Example options for an error message."""


class VectorConfig(LayersConfig):
    """The vector that represents a sentence or a pair."""

    pooling: Literal["pooler", "cls", "mean"] | None = None
    """The pooler on [CLS], pre-trained where the rung has one; [CLS] as it is; or the mean of all tokens. Left out: the
    pooler, as stock transformers does."""

    @classmethod
    def example(cls, target: Target, max_length: int) -> str:
        return "{long_text: head}"


@dataclass(frozen=True)
class Pooling:
    """How the vectors of a head are computed from the encoder.

    Attributes:
        layers: which ones are read; None: the last.
        mean: of all tokens of an example, instead of the vectors at the places of the head.
    """

    layers: Layers | None = None
    mean: bool = False

    def extend(self, model: Any) -> None:
        """Add the layer mix, if there is one, to a Hugging Face model."""
        from adaptbert.finetuning.tasks.layer_mix import LayerMix

        if self.layers == "mix":
            model.add_module(LAYER_MIX, LayerMix(model.config.num_hidden_layers + 1))

    def mixer(self, model: Any) -> "Callable[[Sequence[Tensor]], Tensor] | None":
        """Combines the hidden states of all layers, (vectors, hidden) each, for the head; None: the last layer."""
        import torch

        if self.layers == "mix":
            mix: Callable[[Sequence[Tensor]], Tensor] = getattr(model, LAYER_MIX)
            return mix
        if self.layers == "last_four":
            return lambda states: torch.stack(list(states[-FOUR:])).mean(0)
        return None

    def problem(self, layers: int) -> str | None:
        """Why an encoder of so many layers cannot be read like this, if it cannot."""
        if self.layers == "last_four" and layers < FOUR:
            return f"layers 'last_four', but the encoder has {layers}"
        return None
