"""Dropout (Srivastava et al. 2014): which elements are kept, and sums with what is left.

On a CPU torch draws one element after the other, on one thread, and that is a tenth of a step. Here four elements share
64 random bits, which are a function of a key and a counter (SplitMix64, as in adaptbert.training.document_stream) and
so made by all threads; the key comes from torch's generator. A rate is rounded to 1/65536, and elements stay
independent.
"""

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

STEPS = 65536
WEYL, FIRST, SECOND = (word - 2**64 for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
"""The constants of SplitMix64 (Steele, Lea and Flood 2014, section 4), as signed words."""


def rate_of(dropout: nn.Dropout) -> float:
    """What this module does now: 0 in evaluation."""
    return dropout.p if dropout.training else 0.0


def thin(values: Tensor, rate: float) -> Tensor:
    """What dropout leaves of `values`."""
    if rate == 0:
        return values
    if values.device.type != "cpu":
        return functional.dropout(values, rate)
    return values * (kept(values, rate) * scale(rate))


def add_thinned(values: Tensor, rate: float, to: Tensor) -> Tensor:
    """What dropout leaves of `values`, added to others."""
    if rate == 0 or values.device.type != "cpu":
        return to + thin(values, rate)
    return torch.addcmul(to, values.to(to.dtype), kept(to, rate), value=scale(rate))


def kept(values: Tensor, rate: float) -> Tensor:
    """1 for each element that stays and 0 for the others, in the shape and type of `values`; on a CPU."""
    draws = random_bits((values.numel() + 3) // 4).view(torch.int16)[: values.numel()].view(values.shape)
    lowest = _steps(rate) - STEPS // 2
    # By arithmetic of short integers: comparisons, which give booleans, are many times slower.
    return draws.clamp_(lowest - 1, lowest).sub_(lowest - 1).to(values.dtype)


def scale(rate: float) -> float:
    """By what the elements that are kept grow, so that the mean stays."""
    return STEPS / (STEPS - _steps(rate))


def random_bits(words: int) -> Tensor:
    """So many words of 64 random bits, (words,) int64; the next call gives others."""
    key = int(torch.empty((), dtype=torch.int64).random_(-(2**63), None))
    mixed = _counters(1 << (words - 1).bit_length())[:words] + key
    moved = torch.empty_like(mixed)
    for shift, factor in ((30, FIRST), (27, SECOND), (31, 1)):
        torch.bitwise_right_shift(mixed, shift, out=moved)
        moved &= 2 ** (64 - shift) - 1  # the shift of a signed word drags its sign along
        mixed ^= moved
        if factor != 1:
            mixed *= factor
    return mixed


@cache
def _counters(words: int) -> Tensor:
    return torch.arange(words) * WEYL


def _steps(rate: float) -> int:
    return round(rate * STEPS)
