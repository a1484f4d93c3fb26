"""A learned weighted mean over layers, and the mean over the tokens of an example."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class LayerMix(nn.Module):
    """A weighted mean of all layers and the embeddings, times a scale: Peters et al. 2018, section 3.2, equation 1.

    Its initial value is the plain mean.

    Args:
        states: how many are mixed, (states,) weights.
    """

    def __init__(self, states: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(states))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, states: Sequence[Tensor]) -> Tensor:
        """(vectors, hidden) from as many such."""
        shares = torch.softmax(self.weights, 0)
        mixed = sum(share * state for share, state in zip(shares, states, strict=True))
        scaled: Tensor = self.scale * mixed
        return scaled


def means(hidden: Tensor, lengths: Tensor) -> Tensor:
    """Of the vectors of each example, [CLS] and [SEP] among them, (examples, hidden).

    Args:
        hidden: of all tokens, example after example, (tokens, hidden).
        lengths: tokens of each example, (examples,).
    """
    owners = torch.repeat_interleave(lengths, output_size=len(hidden))  # without the size a GPU would wait for it
    sums = hidden.new_zeros(len(lengths), hidden.shape[1]).index_add(0, owners, hidden)
    return sums / lengths[:, None]
