"""The encoder: a forward pass over the weights of Hugging Face's BertModel, for documents that lie flat.

No position is padding: documents follow each other in one line of tokens, positions restart in each, and only attention
lays them out in rows, where none sees another. The end of the last layer runs only where its result is used. The
parameters stay those of the stock model, so what is saved opens everywhere.

Under autocast matrices are multiplied in its type; the residual stream, LayerNorm and what is saved stay float32.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional

from adaptbert.packing import Rows

FAR = -1e4  # added to the scores of tokens of other documents: their weights are 0 in every type


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
    place = torch.as_tensor(rows.place, device=device)
    same = torch.as_tensor(rows.documents, device=device)
    same = same[:, :, None] == same[:, None, :]
    with torch.autocast(device.type, enabled=False):
        hidden = _embed(bert.embeddings, ids, torch.as_tensor(rows.positions, device=device), segments)
        *layers, last = bert.encoder.layer
        mask = _Mask(same, bert.config.num_attention_heads, dtype)
        for layer in layers:
            mixed = _attend(layer.attention.self, hidden, place, place, mask, dtype)
            hidden = _rest(layer, mixed, hidden, dtype)
        if needed is None:
            return _rest(last, _attend(last.attention.self, hidden, place, place, mask, dtype), hidden, dtype)
        mixed = _attend(last.attention.self, hidden, place, place[needed], mask, dtype)
        return _rest(last, mixed, hidden.index_select(0, needed), dtype)


class _Mask:
    """Which cells of a row may look at which, in the form that a device's attention wants.

    Attributes:
        same: (rows, block, block).
        bias: on a CPU, to be added to the scores of all heads, (rows * heads, block, block).
    """

    def __init__(self, same: Tensor, heads: int, dtype: torch.dtype) -> None:
        self.same = same
        self.bias = torch.empty(())
        if same.device.type == "cpu":
            self.bias = torch.zeros_like(same, dtype=dtype).masked_fill_(~same, FAR).repeat_interleave(heads, 0)


def _embed(embeddings: Any, ids: Tensor, positions: Tensor, segments: Tensor | None) -> Tensor:
    vectors = functional.embedding(ids, embeddings.word_embeddings.weight)
    vectors = vectors + functional.embedding(positions, embeddings.position_embeddings.weight)
    kinds = embeddings.token_type_embeddings.weight
    vectors = vectors + (kinds[0] if segments is None else functional.embedding(segments, kinds))
    return thin(embeddings.LayerNorm(vectors), _rate(embeddings.dropout))


def _attend(attention: Any, hidden: Tensor, place: Tensor, wanted: Tensor, mask: _Mask, dtype: torch.dtype) -> Tensor:
    """Scaled dot-product attention of all heads (Vaswani et al. 2017, section 3.2); what the cells `wanted` mix."""
    projections = (attention.query, attention.key, attention.value)
    weight = torch.cat([projection.weight for projection in projections]).to(dtype)
    bias = torch.cat([projection.bias for projection in projections]).to(dtype)
    count, block, _ = mask.same.shape
    heads, size = attention.num_attention_heads, attention.attention_head_size
    projected = functional.linear(hidden.to(dtype), weight, bias)
    laid = _Lay.apply(projected, place, count * block)  # type: ignore[no-untyped-call]
    query, key, value = laid.view(count, block, 3, heads, size).permute(2, 0, 3, 1, 4).unbind(0)
    rate = _rate(attention.dropout)
    if hidden.device.type == "cpu":  # in bfloat16 several times faster than the fused operator
        query, key, value = (part.reshape(count * heads, block, size) for part in (query, key, value))
        scores = torch.baddbmm(mask.bias, query, key.transpose(1, 2), alpha=size**-0.5)
        mixed = torch.bmm(thin(torch.softmax(scores, -1), rate), value).view(count, heads, block, size)
    else:
        mixed = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask.same[:, None], dropout_p=rate, scale=size**-0.5
        )
    together = mixed.transpose(1, 2).reshape(count * block, heads * size)
    taken: Tensor = _Take.apply(together, wanted)  # type: ignore[no-untyped-call]
    return taken


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


class _Lay(Function):
    """Flat tokens, (tokens, size), into cells, (cells, size); `place` names each cell once, so nothing is summed."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, place: Tensor, cells: int) -> Tensor:
        ctx.save_for_backward(place)
        return flat.new_zeros(cells, flat.shape[1]).index_copy_(0, place, flat)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (place,) = ctx.saved_tensors
        return gradients[0].index_select(0, place), None, None


class _Take(Function):
    """The inverse of `_Lay`; a cell that is asked for twice gets both gradients."""

    @staticmethod
    def forward(ctx: Any, laid: Tensor, wanted: Tensor) -> Tensor:
        ctx.save_for_backward(wanted)
        ctx.cells = laid.shape[0]
        return laid.index_select(0, wanted)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (wanted,) = ctx.saved_tensors
        return gradients[0].new_zeros(ctx.cells, gradients[0].shape[1]).index_add_(0, wanted, gradients[0]), None


def thin(values: Tensor, p: float) -> Tensor:
    """Dropout (Srivastava et al. 2014) with probability `p`.

    On a CPU four elements share a draw of 64 random bits, a quarter of the price; `p` is rounded to 1/65536, and
    elements stay independent.
    """
    if p == 0:
        return values
    if values.device.type != "cpu":
        return functional.dropout(values, p)
    dropped = round(p * 65536)
    bits = torch.empty((values.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    kept = bits.view(torch.int16)[: values.numel()].view(values.shape) >= dropped - 32768
    return values * (kept.to(values.dtype) * (65536 / (65536 - dropped)))
