"""Forward passes of the classes of transformers over many documents of different lengths, in three layouts.

packed   documents lie one after the other, as in adaptbert.model.attention, whose function is registered with
         transformers (`AttentionInterface`) under `ATTENTION`: the classes call it in place of theirs
masked   rows of several documents, whose mask says which positions belong together, for classes that have an attention
         of their own (DeBERTa, MPNet)
padded   documents of about one length in a batch, padded to the longest, for all others

Which layouts are right for a model is proven on its weights (adaptbert.model.proof).
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers.modeling_utils import AttentionInterface

from adaptbert.model.attention import Attention
from adaptbert.model.classes import first_position
from adaptbert.model.packing import Rows

ATTENTION = "adaptbert"
LONGER = 1.25
"""A padded batch has documents up to so many times as long as its shortest."""

_current: list[Attention] = []
"""Attention of the batch whose forward pass runs now."""
windows: list[int | None] = []
"""Window of each call of the registered attention in the last forward pass."""


class Tokens(NamedTuple):
    """Input of an encoder, document after document.

    Attributes:
        ids: (tokens,).
        segments: of each token in a pair, 0 or 1, (tokens,); all 0 if None.
    """

    ids: Tensor
    segments: Tensor | None = None


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attention within the documents of the batch, as transformers calls it.

    Args:
        sliding_window: one more than the farthest position on either side to which one attends.
    """
    attention = _current[-1]
    windows.append(sliding_window)
    kind = value.dtype  # rotated queries and keys may be wider
    window = None if sliding_window is None else sliding_window - 1
    return attention.mix(query.to(kind), key.to(kind), value, dropout, scaling, window), None


AttentionInterface.register(ATTENTION, _attend)


@contextmanager
def calling(module: Any, function: Callable[..., Any]) -> Iterator[None]:
    """Lets a module call this in place of its forward pass."""
    module.forward = function
    try:
        yield
    finally:
        del module.forward


def packed(encoder: Any, rows: Rows, tokens: Tokens, attention: Attention) -> Tensor:
    """Hidden states of all layout positions, (positions, hidden).

    The class calls the registered attention in this pass alone; elsewhere it calls its own, as others expect it to.
    """
    usual, encoder.config._attn_implementation = encoder.config._attn_implementation, ATTENTION
    _current.append(attention)
    windows.clear()
    try:
        return _states(encoder, **_in_rows(encoder, rows, tokens, attention))
    finally:
        _current.pop()
        encoder.config._attn_implementation = usual


def masked_3d(encoder: Any, rows: Rows, tokens: Tokens, attention: Attention) -> Tensor:
    """The same by a mask (rows, block, block), of which DeBERTa's embeddings must not hear: they are multiplied with
    the mask of padding."""
    embed = encoder.embeddings.forward
    without = lambda *inputs, mask=None, **named: embed(*inputs, **named)  # noqa: E731
    with calling(encoder.embeddings, without):
        return _states(encoder, attention_mask=attention.same.long(), **_in_rows(encoder, rows, tokens, attention))


def masked_4d(encoder: Any, rows: Rows, tokens: Tokens, attention: Attention) -> Tensor:
    """The same by numbers that are added to the scores, (rows, 1, block, block)."""
    lowest = torch.finfo(torch.float32).min
    mask = torch.zeros_like(attention.same, dtype=torch.float32).masked_fill_(~attention.same, lowest)[:, None]
    return _states(encoder, attention_mask=mask, **_in_rows(encoder, rows, tokens, attention))


def _in_rows(encoder: Any, rows: Rows, tokens: Tokens, attention: Attention) -> dict[str, Tensor]:
    positions = torch.as_tensor(rows.positions, device=tokens.ids.device) + first_position(encoder)
    kinds = torch.zeros_like(tokens.ids) if tokens.segments is None else tokens.segments
    inputs = {"input_ids": tokens.ids, "position_ids": positions, **segments_of(encoder, kinds)}
    return {name: attention.to_layout(values).view(attention.shape) for name, values in inputs.items()}


def segments_of(encoder: Any, segments: Tensor | None) -> dict[str, Tensor]:
    """The segments as an input of the class, if it knows any: elsewhere separators alone tell the texts of a pair."""
    known = getattr(encoder.config, "type_vocab_size", 1) > 1
    return {"token_type_ids": segments} if known and segments is not None else {}


def _states(encoder: Any, **inputs: Tensor) -> Tensor:
    states: Tensor = encoder(**inputs).last_hidden_state
    return states.flatten(0, 1)


def padded(encoder: Any, rows: Rows, tokens: Tokens) -> Tensor:
    """Hidden states of all tokens, (tokens, hidden)."""
    states: dict[int, Tensor] = {}
    for documents, inputs in padded_batches(encoder, rows, tokens):
        together = encoder(**inputs).last_hidden_state
        lengths = inputs["attention_mask"].sum(1).tolist()
        states |= {document: together[i, : lengths[i]] for i, document in enumerate(documents)}
    return torch.cat([states[document] for document in range(len(states))])


def padded_batches(encoder: Any, rows: Rows, tokens: Tokens) -> Iterator[tuple[list[int], dict[str, Tensor]]]:
    """Numbers of documents of about one length, and the input of the class, each padded to the longest of them."""
    lengths = torch.as_tensor(rows.bounds).diff().tolist()
    inputs = {"input_ids": tokens.ids, "attention_mask": torch.ones_like(tokens.ids)}
    inputs |= segments_of(encoder, tokens.segments)
    parts = {name: torch.split(values, lengths) for name, values in inputs.items()}
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    while order:
        count = bisect_right(order, LONGER * lengths[order[0]], key=lengths.__getitem__)
        documents, order = order[:count], order[count:]
        padding = {"input_ids": encoder.config.pad_token_id or 0}
        yield (
            documents,
            {
                name: pad_sequence([of_all[i] for i in documents], batch_first=True, padding_value=padding.get(name, 0))
                for name, of_all in parts.items()
            },
        )
