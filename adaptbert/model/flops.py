"""The cost of training: floating-point operations of forward and backward passes."""

import json
from functools import lru_cache
from typing import Any

from adaptbert.model.classes import class_of, is_of_head, layers_of, without_weights


def training_flop(config: Any, tokens: int, row: float, needed: int, decoded: int) -> float:
    """Floating-point operations of forward and backward passes, counted from the shapes of the matrices.

    Six for each weight and token (Kaplan et al. 2020, section 2.1), and the attention scores and weighted sums in rows
    of `row` tokens, on average over the run. Of a BERT the part after the attention of the last layer runs at `needed`
    positions only (adaptbert.model.bert), the decoder of every model at `decoded`.
    """
    hidden, layers = config.hidden_size, config.num_hidden_layers
    encoder, decoder = _matrices(config.to_json_string())
    skipped = (tokens - needed) * (encoder // layers - 3 * hidden * hidden) if config.model_type == "bert" else 0
    weights = tokens * encoder - skipped
    kinds = getattr(config, "layer_types", None) or [""] * layers  # a layer may see so many tokens on either side only
    reach = sum(min(row, 2 * config.sliding_window + 1) if "sliding" in kind else row for kind in kinds)
    return float(6 * (weights + decoded * decoder) + 12 * reach * hidden * tokens)


@lru_cache(maxsize=64)
def _matrices(written: str) -> tuple[int, int]:
    """Weights that a token is multiplied with in the encoder, and in the head of masked-language modelling.

    Args:
        written: a config as JSON.
    """
    from torch import nn
    from transformers import AutoConfig

    values = json.loads(written)
    config = AutoConfig.for_model(values.pop("model_type"), **values)
    model = without_weights(config, class_of(config, "masked_lm"))
    sizes = {name: each.weight.numel() for name, each in model.named_modules() if isinstance(each, nn.Linear)}
    layers = layers_of(model.base_model)
    shared = sum(each.weight.numel() for each in layers.modules() if isinstance(each, nn.Linear))
    head = sum(size for name, size in sizes.items() if is_of_head(model, name))
    return sum(sizes.values()) - head + shared * (config.num_hidden_layers // len(layers) - 1), head
