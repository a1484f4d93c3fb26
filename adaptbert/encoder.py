"""The encoder: Hugging Face's BertModel, fed with packed rows in which documents cannot see each other.

Only three things differ from the stock model, and none is saved: attention is block-diagonal over the documents of a
row, the end of the last layer runs only where its result is used, and dropout on a CPU draws its masks at a quarter of
the price.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AttentionInterface

from adaptbert.packing import Rows

ATTENTION = "adaptbert_packed"


def prepare(model: Any) -> None:
    """Make a Hugging Face BERT read packed rows; call it once after loading."""
    AttentionInterface.register(ATTENTION, _attention)
    model.config._attn_implementation = ATTENTION
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Dropout:
                setattr(module, name, Thinning(child.p))
    # from_pretrained leaves a model in eval mode and Lightning keeps it: dropout would be off for the whole training.
    model.train()


def encode(bert: Any, rows: Rows, input_ids: Tensor, needed: Tensor | None = None) -> Tensor:
    """Hidden states of the last layer, in the order of the flat tokens.

    Args:
        bert: a BertModel that `prepare` has seen.
        rows: where the tokens lie.
        input_ids: (rows, block), the padding filled with any id.
        needed: flat tokens whose vectors are wanted, (needed,); all if None. What comes after the attention of the last
            layer runs for these alone.

    Returns:
        One vector a token, (tokens or needed, hidden).
    """
    device = input_ids.device
    document = torch.as_tensor(rows.documents, device=device)
    same = document[:, None, :, None] == document[:, None, None, :]
    place = torch.as_tensor(rows.place, device=device)
    if needed is not None:
        place = place[needed]
    hidden = bert.embeddings(input_ids=input_ids, position_ids=torch.as_tensor(rows.positions, device=device))
    *layers, last = bert.encoder.layer
    for layer in layers:
        hidden = layer(hidden, same)
    mixed, _ = last.attention.self(hidden, attention_mask=same)
    mixed, below = (values.reshape(-1, values.shape[-1])[place] for values in (mixed, hidden))
    found: Tensor = last.feed_forward_chunk(last.attention.output(mixed, below))
    return found


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Scaled dot-product attention, (rows, heads, block, size) each; `attention_mask` is True where one may look.

    Written out on a CPU, where it is several times faster in bfloat16 than the fused operator.
    """
    if scaling is None:
        scaling = query.shape[-1] ** -0.5
    if query.device.type != "cpu":
        mixed = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=attention_mask, dropout_p=dropout, scale=scaling
        )
        return mixed.transpose(1, 2).contiguous(), None
    scores = torch.matmul(query * scaling, key.transpose(2, 3))
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if dropout > 0:
        weights = thin(weights, dropout)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), None


def thin(values: Tensor, p: float) -> Tensor:
    """Dropout (Srivastava et al. 2014) with probability `p`.

    On a CPU four elements share a draw of 64 random bits, so `p` is rounded to 1/65536; elements stay independent.
    """
    if values.device.type != "cpu":
        return functional.dropout(values, p)
    dropped = round(p * 65536)
    bits = torch.empty((values.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    kept = bits.view(torch.int16)[: values.numel()].view(values.shape) >= dropped - 32768
    return values * (kept.to(values.dtype) * (65536 / (65536 - dropped)))


class Thinning(nn.Module):
    """`nn.Dropout` by `thin`."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, values: Tensor) -> Tensor:
        return thin(values, self.p) if self.training and self.p > 0 else values
