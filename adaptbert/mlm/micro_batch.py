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
    """Tokens of a forward pass of a model: also beside a GPU the usual ones, where several devices share a step, or it
    is no BERT, of which nobody has counted what it keeps."""
    usual, is_counted = params.micro_batch(), torch.cuda.is_available() and config.model_type == "bert"
    if not is_counted or ranks.count(params.global_batch_tokens // usual) > 1:
        return usual
    of_width, of_wide = KEPT[chosen(params.precision) == BF16]
    token = config.num_hidden_layers * (of_width * config.hidden_size + of_wide * config.intermediate_size)
    memory = torch.cuda.get_device_properties(0).total_memory
    return params.micro_batch(max(usual, int(SHARE * memory / token)))
