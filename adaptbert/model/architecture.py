"""The architecture of a BERT that starts from random weights, and its number of parameters."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction

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
        """The same as a Hugging Face config."""
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


def parameters(model: "nn.Module") -> int:
    """The number of parameters of a model; shared ones are counted once."""
    return sum(parameter.numel() for parameter in model.parameters())
