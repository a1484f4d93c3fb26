"""The proof that documents can be computed together: some short ones alone against packed, on the weights themselves.

Nothing says beforehand whether a class of transformers keeps packed documents apart: some ignore the registered
attention, some bounds, and an embedding of positions that begins at the wrong row is silently wrong. So the ways are
tried in the order of their speed, and the first that gives what the class gives for each document alone is taken.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from adaptbert.codes import Code
from adaptbert.errors import BadData
from adaptbert.model import stock
from adaptbert.model.classes import longest
from adaptbert.model.dropout import FastDropout
from adaptbert.model.encoder import Tokens, Way, document_scores, encode, logits_of, token_scores
from adaptbert.model.packing import pack

LENGTHS = (11, 5, 17, 3, 8, 10, 16)
"""Tokens of the documents; some are of about one length, so that the padded way has something to pad."""
TOLERANCE = 1e-4
"""Largest difference, as a share of the largest value of its column: float32 gives a tenth of it in 24 layers, a window
that is wrong by one position ten times as much."""
ROW = 1024
"""Most positions of which a longer row is tried."""
ORDER: tuple[Way, ...] = ("packed", "masked_3d", "masked_4d", "padded")
_found: dict[tuple[type, str, float], tuple[Way, bool]] = {}
"""Class, config and sum of the encoder's weights -> way, and whether it takes bfloat16, of the models of this process.
"""


def prepare(model: Any) -> None:
    """Let a model compute documents together in the fastest way that is right for it; a BERT has its own."""
    if model.config.model_type == "bert":
        return
    weights = sum(float(parameter.detach().sum()) for parameter in model.base_model.parameters())
    key = (type(model), model.config.to_json_string(), weights)
    if key not in _found:
        _found[key] = prove(model), model.base_model.takes_bfloat16
    model.base_model.way, model.base_model.takes_bfloat16 = _found[key]
    for module in model.modules():
        if type(module) is nn.Dropout:
            module.__class__ = FastDropout


def prove(model: Any) -> Way:
    """The first way that gives what the class gives for each document alone, which the encoder takes from now on.

    Args:
        model: on the processor, in float32; its mode is as before.

    Raises:
        BadData: not even documents that are padded give that.
    """
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            for way in ("own",) if model.config.model_type == "bert" else ORDER:
                if _is_right(model, way):
                    model.base_model.takes_bfloat16 = _runs_in_bfloat16(model)
                    return way
    finally:
        model.train(was_training)
    problem = f"{model.config.model_type} gives documents other outputs together than alone, even when they are padded"
    raise BadData(Code.OTHER_ARCHITECTURE, model.name_or_path or "base", problem, "take another base")


def _runs_in_bfloat16(model: Any) -> bool:
    """Whether the class runs under autocast; where some of its operations refuse mixed types, it runs in float32."""
    try:
        with torch.autocast("cpu", torch.bfloat16):
            _is_equal(model, LENGTHS[:2])
    except RuntimeError:
        return False
    return True


def _is_right(model: Any, way: Way) -> bool:
    """Whether a way is right for short documents, and for one that is longer than the windows of the layers."""
    model.base_model.way = way
    try:
        stock.windows.clear()
        is_right = _is_equal(model, LENGTHS)
        if way == "packed" and (not stock.windows or len(stock.windows) % model.config.num_hidden_layers):
            return False  # not every layer calls it
        if is_right and way.startswith("masked"):  # a class that ignores position_ids counts along the row
            half = min(longest(model.config), ROW) // 2 + 1
            return _is_equal(model, (half, half))
        beyond = [2 * window for window in stock.windows if window is not None]
        if not (is_right and beyond):
            return is_right
        return _is_equal(model, (*LENGTHS, min(max(beyond), longest(model.config))))
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, RuntimeError, AssertionError):
        return False  # a class that does not take such inputs


def _is_equal(model: Any, lengths: Sequence[int]) -> bool:
    """Whether documents of so many tokens have the same outputs together as alone."""
    ids, segments = _documents(model.config, lengths)
    rows, tokens = pack(np.array(lengths), sum(lengths)), Tokens(torch.cat(ids), torch.cat(segments))
    outputs = [
        model(input_ids=text[None], **stock.segments_of(model.base_model, kinds[None]))
        for text, kinds in zip(ids, segments, strict=True)
    ]
    if "last_hidden_state" in outputs[0]:
        alone = torch.cat([output.last_hidden_state[0] for output in outputs])
        together = encode(model, rows, tokens)
    else:
        alone = torch.cat([logits_of(output).flatten(0, -2) for output in outputs])
        if len(alone) == len(lengths):
            together = document_scores(model, rows, tokens)
        else:
            together = token_scores(model, encode(model.base_model, rows, tokens))
    differences = (together - alone).abs().amax(0) / alone.abs().amax(0).clamp(min=torch.finfo(alone.dtype).tiny)
    # Of a model that was trained some columns are thousands of times as large as others: each is compared by itself.
    return bool(differences.median() <= TOLERANCE)


def _documents(config: Any, lengths: Sequence[int]) -> tuple[list[Tensor], list[Tensor]]:
    """Random ids without the padding, with a mask in each, and segments."""
    draw = np.random.default_rng(0)
    ids = [draw.integers(config.vocab_size - 1, size=length) for length in lengths]
    padding, mask = config.pad_token_id, getattr(config, "mask_token_id", None)
    mask = mask if mask is not None and mask < config.vocab_size else None
    for text in ids:
        text[text >= (config.vocab_size if padding is None else padding)] += 1
        text[:1] = text[:1] if mask is None else mask
    segments = [np.arange(length) >= length // 2 for length in lengths]
    return [torch.from_numpy(text) for text in ids], [torch.from_numpy(of_text).long() for of_text in segments]
