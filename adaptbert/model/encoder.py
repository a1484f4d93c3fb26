"""The encoder and its head for concatenated documents, whatever class of transformers it is.

The input is one sequence of tokens, document after document; no document sees another. Hidden states are computed in
one of several ways, of which each gives what the class gives for each document alone (adaptbert.model.proof). The head
is that of the class, which is called with these hidden states, so that a saved folder answers alike.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import BaseModelOutputWithPooling as Output

from adaptbert.model import bert, stock
from adaptbert.model.attention import Attention, flash_fits
from adaptbert.model.classes import last_linear
from adaptbert.model.packing import Rows
from adaptbert.model.stock import Tokens, calling

__all__ = ["PADDED", "WORDS", "Tokens", "Way", "document_scores", "encode", "logits_of", "pair_scores", "token_scores"]

Way = Literal["own", "packed", "masked_3d", "masked_4d", "padded"]
"""How an encoder computes hidden states: by adaptbert.model.bert, or by a layout of adaptbert.model.stock."""
PADDED = "documents are padded, because no row of this base may hold several: a token takes longer"
WORDS: Mapping[Way, str] = {
    "own": "packed",
    "packed": "packed",
    "masked_3d": "packed by masks",
    "masked_4d": "packed by masks",
    "padded": "padded",
}
"""What is said of a way."""
_IN_ROWS = {"packed": stock.packed, "masked_3d": stock.masked_3d, "masked_4d": stock.masked_4d}
SIDE = 8


def encode(encoder: Any, rows: Rows, tokens: Tokens, needed: Tensor | None = None, *, causal: bool = False) -> Tensor:
    """Hidden states of the last layer.

    Args:
        encoder: of Hugging Face; its modules say whether dropout is on.
        rows: the packed layout of the tokens.
        needed: indices of the tokens whose vectors are returned, (needed,); all if None.
        causal: whether a token sees those before it only, which the way `padded` does not offer.

    Returns:
        One vector a token, (tokens or needed, hidden).
    """
    device = tokens.ids.device
    if torch.is_autocast_enabled(device.type) and not getattr(encoder, "takes_bfloat16", True):
        with torch.autocast(device.type, enabled=False):
            return encode(encoder, rows, tokens, needed, causal=causal)
    way = way_of(encoder)
    if way == "padded":
        assert not causal
        states = stock.padded(encoder, rows, tokens)
        return states if needed is None else states.index_select(0, needed)
    dtype = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else torch.float32
    attention = Attention(rows, device, dtype, is_flat(encoder, device, dtype), causal)
    selected = attention.layout_positions(needed)
    if way == "own":
        return bert.hidden_states(encoder, attention, dtype, rows, tokens, selected)
    states = _IN_ROWS[way](encoder, rows, tokens, attention)
    return states if selected is None else states.index_select(0, selected)


def way_of(encoder: Any) -> Way:
    """How an encoder computes hidden states, which adaptbert.model.proof.prepare has found."""
    way: Way = "own" if encoder.config.model_type == "bert" else encoder.way
    return way


def is_flat(encoder: Any, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether documents are laid out one after the other, without rows."""
    config = encoder.config
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return way_of(encoder) in ("own", "packed") and flash_fits(device, dtype, size)


def document_scores(model: Any, rows: Rows, tokens: Tokens, count: int | None = None, *, exact: bool = False) -> Tensor:
    """Scores of each document by a model with the head `sequence`, (documents, scores).

    Args:
        count: of the documents; those behind them are padding.
        exact: the last layer computes in float32 under autocast, too: bfloat16 has three significant digits.
    """
    if exact:
        layer = last_linear(model)
        with calling(layer, partial(_in_float32, layer)):
            return document_scores(model, rows, tokens, count)
    way = way_of(model.base_model)
    if way == "padded":
        scores: dict[int, Tensor] = {}
        for documents, inputs in stock.padded_batches(model.base_model, rows, tokens):
            scores |= dict(zip(documents, model(**inputs).logits, strict=True))
        return torch.stack([scores[document] for document in range(len(scores))])
    bounds = torch.as_tensor(rows.bounds, device=tokens.ids.device).long()
    present = len(bounds) - 1
    count = present if count is None else count
    if way == "own":
        return logits_of(_head(model, encode(model.base_model, rows, tokens, bounds[:count])[:, None]))
    states = encode(model.base_model, rows, tokens)
    document = torch.repeat_interleave(bounds.diff(), output_size=len(tokens.ids))
    place = document * rows.longest + torch.as_tensor(rows.positions, device=tokens.ids.device)
    laid_out = states.new_zeros(present * rows.longest, states.shape[1]).index_copy(0, place, states)
    mask = place.new_zeros(present * rows.longest).index_fill(0, place, 1)
    return logits_of(_head(model, laid_out.view(present, rows.longest, -1)[:count], mask.view(present, -1)[:count]))


def token_scores(model: Any, hidden: Tensor) -> Tensor:
    """Scores by the head of masked-language modelling, of tokens or of spans, (positions, scores).

    A GPU multiplies matrices at full speed if their sides are multiples of 8, which the 30,522 tokens of BERT are not:
    there empty columns are computed and taken away.
    """
    decoder = model.get_output_embeddings()
    if hidden.device.type == "cpu" or not isinstance(decoder, nn.Linear) or decoder.out_features % SIDE == 0:
        return logits_of(_head(model, hidden[None]))[0]
    with calling(decoder, partial(scores_with_spare_columns, decoder)):
        return logits_of(_head(model, hidden[None]))[0]


def pair_scores(model: Any, hidden: Tensor) -> Tensor:
    """Scores of the labels 0 and 1 by a model with the head `pretraining`, (pairs, 2).

    Args:
        hidden: of the first token of each pair, (pairs, hidden).
    """
    return model.cls.seq_relationship(_pooled(model.base_model, hidden[:, None]))  # type: ignore[no-any-return]


class _States(Output):  # type: ignore[misc]
    """Output of an encoder; what a class has besides is None."""

    def __getattr__(self, name: str) -> None:
        return None


def _head(model: Any, hidden: Tensor, mask: Tensor | None = None) -> Any:
    """The output of the class for these hidden states of its encoder, (texts, tokens, hidden)."""
    states = _States(last_hidden_state=hidden, pooler_output=_pooled(model.base_model, hidden))
    ids = torch.zeros(hidden.shape[:2], dtype=torch.long, device=hidden.device)
    with calling(model.base_model, lambda *_, **__: states):
        return model(input_ids=ids, **({} if mask is None else {"attention_mask": mask}))


def _pooled(encoder: Any, hidden: Tensor) -> Tensor | None:
    """What the pooler makes of the first token of each text, (texts, hidden)."""
    pooler = getattr(encoder, "pooler", None)
    if isinstance(pooler, nn.Linear):
        activation = getattr(encoder, "pooler_activation", None) or encoder.activation
        return activation(pooler(hidden[:, 0]))  # type: ignore[no-any-return]
    return None if pooler is None else pooler(hidden)


def logits_of(output: Any) -> Tensor:
    """Scores in the output of a class with a head, (..., scores)."""
    if "start_logits" in output:
        return torch.stack([output.start_logits, output.end_logits], -1)
    scores: Tensor = output.prediction_logits if "prediction_logits" in output else output.logits
    return scores


def _in_float32(linear: nn.Linear, vectors: Tensor) -> Tensor:
    with torch.autocast(vectors.device.type, enabled=False):
        return functional.linear(vectors.float(), linear.weight, linear.bias)


def scores_with_spare_columns(decoder: nn.Linear, transformed: Tensor) -> Tensor:
    """Scores of all tokens by a product whose columns are a multiple of 8."""
    spare = -decoder.out_features % SIDE
    weight = functional.pad(decoder.weight, (0, 0, 0, spare))
    bias = None if decoder.bias is None else functional.pad(decoder.bias, (0, spare))  # EuroBERT's has none
    return functional.linear(transformed, weight, bias)[..., : decoder.out_features]
