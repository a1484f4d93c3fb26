"""Which vectors a head gets: of the last layer or of several, at the tokens it looks at or their mean.

What is learned here lies beside Hugging Face's own tensors in the same file, under the name `LAYER_MIX`.
"""

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
    """Which layers the vectors come from: a learned mix of all (Peters et al. 2018), or the mean of the last four. Left
    out: the last one, as stock transformers does."""

    def check_room(self, max_length: int) -> None:
        """Refuse windows that would leave out tokens."""

    def mismatch(self, target: Target) -> tuple[str, str] | None:
        """Why they do not belong to a task with this target, and what to write; None where they do."""
        return None

    @classmethod
    def example(cls, target: Target, max_length: int) -> str:
        """What may be written, for a message."""
        raise NotImplementedError


class VectorConfig(LayersConfig):
    """Which vector stands for a sentence or a pair."""

    pooling: Literal["pooler", "cls", "mean"] | None = None
    """The pooler on [CLS], pre-trained where the rung has one; [CLS] as it is; or the mean of all tokens. Left out: the
    pooler, as stock transformers does."""

    @classmethod
    def example(cls, target: Target, max_length: int) -> str:
        return "{long_text: head}"


@dataclass(frozen=True)
class Pooling:
    """How the vectors of a head come from the encoder.

    Attributes:
        layers: which ones are read; None: the last.
        mean: of all tokens of an example, instead of the vectors at the places that the head looks at.
    """

    layers: Layers | None = None
    mean: bool = False

    def extend(self, model: Any) -> None:
        """Give a Hugging Face model what is learned here."""
        from adaptbert.finetuning.tasks.layer_mix import LayerMix

        if self.layers == "mix":
            model.add_module(LAYER_MIX, LayerMix(model.config.num_hidden_layers + 1))

    def mixer(self, model: Any) -> "Callable[[Sequence[Tensor]], Tensor] | None":
        """From the hidden states of all layers, (vectors, hidden) each, to what the head gets; None: the last."""
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
