"""The loss of masked tokens: cross-entropy over the vocabulary, in parts of the positions where scores are many."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from adaptbert.model.encoder import token_scores

NO_ANSWER = -100
SCORES = 2**27
"""Most scores that are computed at once: half a GiB in float32, of which a backward pass holds some four copies. The
default micro-batch needs 75 million with BERT's 30,522 tokens, and 614 million with the 250,002 of XLM-R."""


def parts(model: Any, hidden: Tensor, expected: Tensor) -> list[tuple[Tensor, Tensor]]:
    """The positions, (positions, hidden) and (positions,), in parts with at most `SCORES` scores each."""
    size = max(1, SCORES // model.config.vocab_size)
    return list(zip(torch.split(hidden, size), torch.split(expected, size), strict=True))


def summed_loss(model: Any, hidden: Tensor, expected: Tensor) -> Tensor:
    """The sum of the losses, in nats, for a backward pass.

    Several parts keep no scores: the backward pass computes them again, so that those of one part are in memory at a
    time, for a third more operations of the head (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost").

    Args:
        hidden: vectors of the positions, (positions, hidden).
        expected: ids of the tokens, or NO_ANSWER, (positions,).
    """
    several = parts(model, hidden, expected)
    if len(several) == 1:
        return _loss(model, hidden, expected)
    return torch.stack([checkpoint(_loss, model, *part, use_reentrant=False) for part in several]).sum()


def _loss(model: Any, hidden: Tensor, expected: Tensor) -> Tensor:
    logits = token_scores(model, hidden).float()
    return functional.cross_entropy(logits, expected, ignore_index=NO_ANSWER, reduction="sum")
