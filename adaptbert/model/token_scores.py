"""The head of masked-language modelling: hidden states -> scores of all tokens of the vocabulary.

Apart from the trainer, because a checkpoint is measured without Lightning, whose import takes three seconds.
"""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from adaptbert.model.families.registry import family_of

SIDE = 8


def token_scores(model: Any, hidden: Tensor) -> Tensor:
    """Scores of all tokens of the vocabulary by the masked-LM head, (positions, vocabulary).

    A GPU multiplies matrices at full speed if their sides are multiples of 8, which the 30,522 tokens of BERT are not:
    there empty columns are computed and taken away.
    """
    transform, decoder = family_of(model.config).token_head(model)
    if hidden.device.type == "cpu" or decoder.out_features % SIDE == 0:
        return functional.linear(transform(hidden), decoder.weight, decoder.bias)
    return scores_with_spare_columns(decoder, transform(hidden))


def scores_with_spare_columns(decoder: nn.Linear, transformed: Tensor) -> Tensor:
    """The same scores by a product whose columns are a multiple of 8."""
    spare = -decoder.out_features % SIDE
    weight, bias = functional.pad(decoder.weight, (0, 0, 0, spare)), functional.pad(decoder.bias, (0, spare))
    return functional.linear(transformed, weight, bias)[:, : decoder.out_features]
