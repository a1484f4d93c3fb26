"""The forward pass of a BERT (Devlin et al. 2019) over packed documents, written out.

It makes one product of queries, keys and values, and after the attention of the last layer computes the requested
positions only, which the class of transformers cannot: a seventh of the time of a step on a CPU. The parameters are
those of that class, so transformers loads the saved checkpoint.

Under autocast matrices are multiplied in its type; the residual stream, LayerNorm and the saved weights are float32.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from adaptbert.model.attention import Attention
from adaptbert.model.dropout import add_dropout, dropout, rate_of
from adaptbert.model.packing import Rows
from adaptbert.model.stock import Tokens


def hidden_states(
    encoder: Any, attention: Attention, dtype: torch.dtype, rows: Rows, tokens: Tokens, selected: Tensor | None
) -> Tensor:
    """Hidden states of the last layer, (selected or positions, hidden).

    Args:
        encoder: a BertModel; its modules say whether dropout is on.
        dtype: of the products.
        selected: the layout positions whose vectors are returned, (selected,); all if None.
    """
    device = tokens.ids.device
    with torch.autocast(device.type, enabled=False):
        segments = None if tokens.segments is None else attention.to_layout(tokens.segments)
        positions = attention.to_layout(torch.as_tensor(rows.positions, device=device))
        hidden = _embed(encoder.embeddings, attention.to_layout(tokens.ids), positions, segments)
        *layers, last = encoder.encoder.layer
        for layer in layers:
            hidden = _layer(layer, attention, dtype, hidden)
        return _layer(last, attention, dtype, hidden, selected)


def _embed(embeddings: Any, ids: Tensor, positions: Tensor, segments: Tensor | None) -> Tensor:
    vectors = functional.embedding(ids, embeddings.word_embeddings.weight)
    vectors = vectors + functional.embedding(positions, embeddings.position_embeddings.weight)
    kinds = embeddings.token_type_embeddings.weight
    segments = segments if len(kinds) > 1 else None  # a checkpoint without segments
    vectors = vectors + (kinds[0] if segments is None else functional.embedding(segments, kinds))
    return dropout(embeddings.LayerNorm(vectors), rate_of(embeddings.dropout))


def _layer(
    layer: Any, attention: Attention, dtype: torch.dtype, hidden: Tensor, selected: Tensor | None = None
) -> Tensor:
    """One layer at the layout positions `selected`, or at all."""
    own = layer.attention.self
    projections = (own.query, own.key, own.value)
    weight = torch.cat([projection.weight for projection in projections]).to(dtype)
    bias = torch.cat([projection.bias for projection in projections]).to(dtype)
    projected = functional.linear(hidden.to(dtype), weight, bias)
    mixed = attention.attend(projected, own.num_attention_heads, rate_of(own.dropout), selected)
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
