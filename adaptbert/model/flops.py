"""The cost of training: floating-point operations of forward and backward passes."""

from typing import Any


def training_flop(config: Any, tokens: int, row: float, needed: int, decoded: int) -> float:
    """Floating-point operations of forward and backward passes, counted from the shapes of the matrices.

    Six for each weight and token (Kaplan et al. 2020, section 2.1), and the attention scores and weighted sums in rows
    of `row` tokens, on average over the run. The part after the attention of the last layer runs at `needed` positions
    only (encoder.encode), the decoder at `decoded`.
    """
    hidden, layers = config.hidden_size, config.num_hidden_layers
    projections, rest = 3 * hidden * hidden, hidden * hidden + 2 * hidden * config.intermediate_size
    weights = tokens * (layers * projections + (layers - 1) * rest) + needed * rest
    decoder = decoded * (hidden * config.vocab_size + hidden * hidden)
    attention = 12 * layers * row * hidden * tokens
    return float(6 * (weights + decoder) + attention)
