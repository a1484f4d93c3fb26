"""The encoder: a forward pass over the weights of Hugging Face's BertModel, for documents that lie flat.

Documents follow each other in one line of tokens, positions restart in each, and none sees another. They are laid out
once as the device's attention wants them (adaptbert.model.attention), with next to no padding, and stay so through all
layers. The end of the last layer runs only where its result is used. The parameters stay those of the stock model, so
what is saved opens everywhere.

Under autocast matrices are multiplied in its type; the residual stream, LayerNorm and what is saved stay float32.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from adaptbert.model.attention import Attention
from adaptbert.model.dropout import add_thinned, rate_of, thin
from adaptbert.model.packing import Rows


@dataclass(frozen=True)
class Tokens:
    """What the encoder reads, document after document.

    Attributes:
        ids: (tokens,).
        segments: of each token in a pair, 0 or 1, (tokens,); all 0 if None.
        shift: what is added to the embedding of each word, (tokens, hidden).
    """

    ids: Tensor
    segments: Tensor | None = None
    shift: Tensor | None = None


def encode(
    bert: Any,
    rows: Rows,
    tokens: Tokens,
    needed: Tensor | None = None,
    mix: Callable[[Sequence[Tensor]], Tensor] | None = None,
) -> Tensor:
    """Hidden states of the last layer, or of several.

    Args:
        bert: a BertModel; whether its dropout is on is asked of its modules.
        rows: where attention lays the tokens.
        needed: numbers of the tokens whose vectors are returned, (needed,); all if None.
        mix: makes the result of the hidden states of all layers, those of the embeddings first, (tokens or needed,
            hidden) each; the last is the result if None, and only it is kept.

    Returns:
        One vector a token, (tokens or needed, hidden).
    """
    device = tokens.ids.device
    dtype = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else torch.float32
    heads, width = bert.config.num_attention_heads, bert.config.hidden_size
    rate = max(rate_of(layer.attention.self.dropout) for layer in bert.encoder.layer)
    attention = Attention(rows, device, heads, width // heads, dtype, rate)
    with torch.autocast(device.type, enabled=False):
        positions = torch.as_tensor(rows.positions, device=device)
        segments = None if tokens.segments is None else attention.lay(tokens.segments)
        shift = None if tokens.shift is None else attention.lay(tokens.shift)
        hidden = _embed(bert.embeddings, attention.lay(tokens.ids), attention.lay(positions), segments, shift)
        wanted = attention.cells(needed)
        lower = []
        *layers, last = bert.encoder.layer
        for layer in layers:
            if mix is not None:
                lower.append(_chosen(hidden, wanted))
            hidden = _rest(layer, _attend(layer.attention.self, hidden, attention, dtype), hidden, dtype)
        below = _chosen(hidden, wanted)
        found = _rest(last, _attend(last.attention.self, hidden, attention, dtype, wanted), below, dtype)
        return found if mix is None else mix([*lower, below, found])


def _chosen(hidden: Tensor, wanted: Tensor | None) -> Tensor:
    return hidden if wanted is None else hidden.index_select(0, wanted)


def _embed(embeddings: Any, ids: Tensor, positions: Tensor, segments: Tensor | None, shift: Tensor | None) -> Tensor:
    vectors = functional.embedding(ids, embeddings.word_embeddings.weight)
    if shift is not None:
        vectors = vectors + shift
    vectors = vectors + functional.embedding(positions, embeddings.position_embeddings.weight)
    kinds = embeddings.token_type_embeddings.weight
    vectors = vectors + (kinds[0] if segments is None else functional.embedding(segments, kinds))
    return thin(embeddings.LayerNorm(vectors), rate_of(embeddings.dropout))


def _attend(
    layer: Any, hidden: Tensor, attention: Attention, dtype: torch.dtype, wanted: Tensor | None = None
) -> Tensor:
    """What the cells `wanted`, or all, mix from their documents."""
    projections = (layer.query, layer.key, layer.value)
    weight = torch.cat([projection.weight for projection in projections]).to(dtype)
    bias = torch.cat([projection.bias for projection in projections]).to(dtype)
    return attention.mix(functional.linear(hidden.to(dtype), weight, bias), rate_of(layer.dropout), wanted)


def _rest(layer: Any, mixed: Tensor, below: Tensor, dtype: torch.dtype) -> Tensor:
    """What follows attention in a layer: both residual connections and the feed-forward network between them."""
    out = layer.attention.output
    middle = out.LayerNorm(add_thinned(_linear(mixed, out.dense, dtype), rate_of(out.dropout), below))
    wide = layer.intermediate.intermediate_act_fn(_linear(middle, layer.intermediate.dense, dtype))
    out = layer.output
    found: Tensor = out.LayerNorm(add_thinned(_linear(wide, out.dense, dtype), rate_of(out.dropout), middle))
    return found


def _linear(values: Tensor, linear: nn.Linear, dtype: torch.dtype) -> Tensor:
    return functional.linear(values.to(dtype), linear.weight.to(dtype), linear.bias.to(dtype))
