"""The architecture of a BERT: how one is described that starts from random weights, how large it is, what it costs."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from adaptbert import bounds
from adaptbert.params import Config, contradiction

if TYPE_CHECKING:
    from torch import nn
    from transformers import BertConfig


class EncoderConfig(Config):
    """The shape of a BERT that starts from random weights (Devlin et al. 2019, section 3)."""

    layers: Annotated[int, Field(ge=1, le=bounds.LAYERS)]
    hidden_size: Annotated[int, Field(ge=8, le=bounds.HIDDEN)]
    heads: Annotated[int, Field(ge=1, le=bounds.HEADS)]
    intermediate_size: Annotated[int, Field(ge=8, le=bounds.INTERMEDIATE)]
    max_positions: Annotated[int, Field(ge=8, le=bounds.POSITIONS)]
    """Tokens of the longest document that it can read."""

    @model_validator(mode="after")
    def _divisible(self) -> "EncoderConfig":
        if self.hidden_size % self.heads:
            remainder = self.hidden_size % self.heads
            heads = next(heads for heads in range(self.heads, 0, -1) if self.hidden_size % heads == 0)
            problem = f"hidden_size {self.hidden_size} % heads {self.heads} = {remainder}, not 0"
            raise contradiction(problem, f"write heads: {heads}, or a hidden_size that {self.heads} divides")
        weights = self.layers * (4 * self.hidden_size**2 + 2 * self.hidden_size * self.intermediate_size)
        if weights > bounds.PARAMETERS:
            problem = f"{weights:,} weights in {self.layers} layers, more than {bounds.PARAMETERS:,}"
            raise contradiction(problem, "write smaller sizes; BERT-base has 12 layers of 768 and 3072")
        return self

    def hugging_face(self, vocabulary_size: int, pad: int) -> "BertConfig":
        """The same as Hugging Face writes it."""
        from transformers import BertConfig

        return BertConfig(
            vocab_size=vocabulary_size,
            hidden_size=self.hidden_size,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=self.intermediate_size,
            max_position_embeddings=self.max_positions,
            pad_token_id=pad,
        )


def training_flop(config: "BertConfig", tokens: int, row: float, needed: int, decoded: int, frozen: int = 0) -> float:
    """Floating-point operations of forward and backward passes, counted from the shapes of the matrices.

    Six for each weight and token (Kaplan et al. 2020, section 2.1), and the attention scores and mixtures in rows of
    `row` tokens, on average over the run. What comes after the attention of the last layer runs at `needed` positions
    only (encoder.encode), the decoder at `decoded`. The lowest `frozen` layers, below all that learns, have no backward
    pass: two for each weight instead of six.
    """
    hidden, layers = config.hidden_size, config.num_hidden_layers
    projections, rest = 3 * hidden * hidden, hidden * hidden + 2 * hidden * config.intermediate_size
    weights = tokens * (layers * projections + (layers - 1) * rest) + needed * rest
    decoder = decoded * (hidden * config.vocab_size + hidden * hidden)
    attention = 12 * layers * row * hidden * tokens
    below = tokens * (frozen * projections + min(frozen, layers - 1) * rest) + needed * rest * (frozen == layers)
    return float(6 * (weights + decoder) - 4 * below + attention * (1 - 2 / 3 * frozen / layers))


def parameters(model: "nn.Module") -> int:
    """Numbers that a model holds; shared ones are counted once."""
    return sum(parameter.numel() for parameter in model.parameters())
