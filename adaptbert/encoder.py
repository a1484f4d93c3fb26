"""The encoder: a forward pass over the weights of Hugging Face's BertModel, for documents that lie flat.

No position is padding: documents follow each other in one line of tokens, positions restart in each, and none sees
another (adaptbert.attention). The end of the last layer runs only where its result is used. The parameters stay those
of the stock model, so what is saved opens everywhere.

Under autocast matrices are multiplied in its type; the residual stream, LayerNorm and what is saved stay float32.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from adaptbert.attention import Attention, thin
from adaptbert.packing import Rows


def encode(bert: Any, rows: Rows, ids: Tensor, needed: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
    """Hidden states of the last layer.

    Args:
        bert: a BertModel; whether its dropout is on is asked of its modules.
        rows: where attention lays the tokens.
        ids: document after document, (tokens,).
        needed: tokens whose vectors are wanted, (needed,); all if None.
        segments: of each token in a pair, 0 or 1, (tokens,); all 0 if None.

    Returns:
        One vector a token, (tokens or needed, hidden).
    """
    device = ids.device
    dtype = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else torch.float32
    attention = Attention(rows, device, bert.config.num_attention_heads, dtype)
    with torch.autocast(device.type, enabled=False):
        hidden = _embed(bert.embeddings, ids, torch.as_tensor(rows.positions, device=device), segments)
        *layers, last = bert.encoder.layer
        for layer in layers:
            hidden = _rest(layer, _attend(layer.attention.self, hidden, attention, dtype), hidden, dtype)
        mixed = _attend(last.attention.self, hidden, attention, dtype, needed)
        return _rest(last, mixed, hidden if needed is None else hidden.index_select(0, needed), dtype)


def _embed(embeddings: Any, ids: Tensor, positions: Tensor, segments: Tensor | None) -> Tensor:
    vectors = functional.embedding(ids, embeddings.word_embeddings.weight)
    vectors = vectors + functional.embedding(positions, embeddings.position_embeddings.weight)
    kinds = embeddings.token_type_embeddings.weight
    vectors = vectors + (kinds[0] if segments is None else functional.embedding(segments, kinds))
    return thin(embeddings.LayerNorm(vectors), _rate(embeddings.dropout))


def _attend(
    layer: Any, hidden: Tensor, attention: Attention, dtype: torch.dtype, wanted: Tensor | None = None
) -> Tensor:
    """What the tokens `wanted`, or all, mix from their documents."""
    projections = (layer.query, layer.key, layer.value)
    weight = torch.cat([projection.weight for projection in projections]).to(dtype)
    bias = torch.cat([projection.bias for projection in projections]).to(dtype)
    return attention.mix(functional.linear(hidden.to(dtype), weight, bias), _rate(layer.dropout), wanted)


def _rest(layer: Any, mixed: Tensor, below: Tensor, dtype: torch.dtype) -> Tensor:
    """What follows attention in a layer: both residual connections and the feed-forward network between them."""
    out = layer.attention.output
    middle = out.LayerNorm(thin(_linear(mixed, out.dense, dtype), _rate(out.dropout)) + below)
    wide = layer.intermediate.intermediate_act_fn(_linear(middle, layer.intermediate.dense, dtype))
    out = layer.output
    found: Tensor = out.LayerNorm(thin(_linear(wide, out.dense, dtype), _rate(out.dropout)) + middle)
    return found


def _linear(values: Tensor, linear: nn.Linear, dtype: torch.dtype) -> Tensor:
    return functional.linear(values.to(dtype), linear.weight.to(dtype), linear.bias.to(dtype))


def _rate(dropout: nn.Dropout) -> float:
    return dropout.p if dropout.training else 0.0
