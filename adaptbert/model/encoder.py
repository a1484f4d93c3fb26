"""The encoder: a forward pass over the modules of a family in Hugging Face, for concatenated documents.

The input is one sequence of tokens, document after document; position ids restart in each document, and attention does
not cross documents. The tokens are moved once to the layout of the device's attention (adaptbert.model.attention), with
hardly any padding, and stay there through all layers. After the attention of the last layer only the requested
positions are computed. The parameters are those of the stock model, so transformers loads the saved checkpoint.

Under autocast matrices are multiplied in its type; the residual stream, LayerNorm and the saved weights are float32.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from adaptbert.model.attention import Attention
from adaptbert.model.dropout import add_dropout, dropout, rate_of
from adaptbert.model.families import family_of
from adaptbert.model.packing import Rows

SIDE = 8


@dataclass(frozen=True)
class Tokens:
    """Input of the encoder, document after document.

    Attributes:
        ids: (tokens,).
        segments: of each token in a pair, 0 or 1, (tokens,); all 0 if None.
    """

    ids: Tensor
    segments: Tensor | None = None


def encode(encoder: Any, rows: Rows, tokens: Tokens, needed: Tensor | None = None) -> Tensor:
    """Hidden states of the last layer.

    Args:
        encoder: a BertModel, or that of another family; its modules say whether dropout is on.
        rows: the packed layout of the tokens.
        needed: indices of the tokens whose vectors are returned, (needed,); all if None.

    Returns:
        One vector a token, (tokens or needed, hidden).
    """
    device = tokens.ids.device
    dtype = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else torch.float32
    heads, width = encoder.config.num_attention_heads, encoder.config.hidden_size
    attention = Attention(rows, device, heads, width // heads, dtype)
    with torch.autocast(device.type, enabled=False):
        positions = torch.as_tensor(rows.positions, device=device)
        if first := family_of(encoder.config).first_position(encoder.config):
            positions = positions + first
        segments = None if tokens.segments is None else attention.to_layout(tokens.segments)
        hidden = _embed(encoder.embeddings, attention.to_layout(tokens.ids), attention.to_layout(positions), segments)
        selected = attention.layout_positions(needed)
        *layers, last = encoder.encoder.layer
        for layer in layers:
            hidden = _layer(layer, attention, dtype, hidden)
        return _layer(last, attention, dtype, hidden, selected)


def _embed(embeddings: Any, ids: Tensor, positions: Tensor, segments: Tensor | None) -> Tensor:
    vectors = functional.embedding(ids, embeddings.word_embeddings.weight)
    vectors = vectors + functional.embedding(positions, embeddings.position_embeddings.weight)
    kinds = embeddings.token_type_embeddings.weight
    segments = segments if len(kinds) > 1 else None  # a family without segments
    vectors = vectors + (kinds[0] if segments is None else functional.embedding(segments, kinds))
    return dropout(embeddings.LayerNorm(vectors), rate_of(embeddings.dropout))


def _layer(
    layer: Any, attention: Attention, dtype: torch.dtype, hidden: Tensor, selected: Tensor | None = None
) -> Tensor:
    """One layer at the layout positions `selected`, or at all."""
    projections = (layer.attention.self.query, layer.attention.self.key, layer.attention.self.value)
    weight = torch.cat([projection.weight for projection in projections]).to(dtype)
    bias = torch.cat([projection.bias for projection in projections]).to(dtype)
    projected = functional.linear(hidden.to(dtype), weight, bias)
    mixed = attention.attend(projected, rate_of(layer.attention.self.dropout), selected)
    # The rest runs where its result is needed: both residual connections, and the feed-forward network between them.
    below = hidden if selected is None else hidden.index_select(0, selected)
    out = layer.attention.output
    middle = out.LayerNorm(add_dropout(_linear(mixed, out.dense, dtype), rate_of(out.dropout), below))
    wide = layer.intermediate.intermediate_act_fn(_linear(middle, layer.intermediate.dense, dtype))
    out = layer.output
    output: Tensor = out.LayerNorm(add_dropout(_linear(wide, out.dense, dtype), rate_of(out.dropout), middle))
    return output


def _linear(values: Tensor, linear: nn.Linear, dtype: torch.dtype) -> Tensor:
    return functional.linear(values.to(dtype), linear.weight.to(dtype), linear.bias.to(dtype))


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
