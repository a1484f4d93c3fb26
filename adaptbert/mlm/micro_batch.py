"""The tokens of a forward pass on a GPU: as many of a step as fit, for its host takes as long over few as over many."""

from typing import Any

import torch

from adaptbert.config.schema.mlm import MlmStep
from adaptbert.model.device import BF16, chosen
from adaptbert.training import ranks

SHARE, KEPT = 0.5, {True: (42, 5), False: (66, 8)}
"""Share of the memory for what the backward pass needs; whether products are in bfloat16 -> bytes of that for a token,
layer and unit of its width, and of its feed-forward part: what autograd saves of `adaptbert.model.bert`, rounded up."""


def micro_batch(params: MlmStep, config: Any) -> int:
    """Tokens of a forward pass of a model; also beside a GPU the usual ones for other types than BERT, of which nobody
    has counted what they keep."""
    usual = params.micro_batch()
    if not (torch.cuda.is_available() and config.model_type == "bert"):
        return usual
    token = config.num_hidden_layers * kept_bytes(config, is_half=chosen(params.precision) == BF16)
    memory = torch.cuda.get_device_properties(0).total_memory
    return params.micro_batch(max(usual, int(SHARE * memory / token)))


def division(params: MlmStep, tokens: int) -> tuple[int, int]:
    """The devices of a run, and micro-batches of a step, each of about so many tokens, cut for the devices."""
    return ranks.shared(params.global_batch_tokens // tokens, params.global_batch_tokens // params.block_size)


def kept_bytes(config: Any, *, is_half: bool) -> int:
    """Bytes that a layer of a BERT keeps of a token for the backward pass.

    Args:
        is_half: whether products are in bfloat16.
    """
    of_width, of_wide = KEPT[is_half]
    hidden = int(config.hidden_size)
    return of_width * hidden + of_wide * (getattr(config, "intermediate_size", None) or 4 * hidden)
