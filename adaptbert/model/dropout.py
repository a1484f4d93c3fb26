"""Dropout (Srivastava et al. 2014): the mask, and sums with the elements that it keeps.

On a CPU torch draws the mask on one thread, element by element, which takes a tenth of a training step. Here four
elements share 64 random bits, which are a function of a key and a counter (SplitMix64, as in
adaptbert.core.counter_rng), so that all threads draw; the key comes from torch's generator. A rate is rounded to
1/65536. Elements are independent.
"""

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

STEPS = 65536
WEYL, FIRST, SECOND = (word - 2**64 for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
"""The constants of SplitMix64 (Steele, Lea and Flood 2014, section 4), as signed words."""


def rate_of(module: nn.Dropout) -> float:
    """The rate that the module applies now: 0 in evaluation."""
    return module.p if module.training else 0.0


def dropout(values: Tensor, rate: float) -> Tensor:
    """`values` after dropout."""
    if rate == 0:
        return values
    if values.device.type != "cpu":
        return functional.dropout(values, rate)
    return values * (keep_mask(values, rate) * keep_scale(rate))


class FastDropout(nn.Dropout):
    """`dropout` as a module."""

    def forward(self, input: Tensor) -> Tensor:
        return dropout(input, rate_of(self))


def add_dropout(values: Tensor, rate: float, to: Tensor) -> Tensor:
    """`to` plus `values` after dropout."""
    if rate == 0 or values.device.type != "cpu":
        return to + dropout(values, rate)
    return torch.addcmul(to, values.to(to.dtype), keep_mask(to, rate), value=keep_scale(rate))


def keep_mask(values: Tensor, rate: float) -> Tensor:
    """1 for each element that is kept and 0 for the others, in the shape and type of `values`; on a CPU."""
    draws = random_bits((values.numel() + 3) // 4).view(torch.int16)[: values.numel()].view(values.shape)
    lowest = _steps(rate) - STEPS // 2
    # By arithmetic of short integers: comparisons, which give booleans, are many times slower.
    return draws.clamp_(lowest - 1, lowest).sub_(lowest - 1).to(values.dtype)


def keep_scale(rate: float) -> float:
    """The factor of the elements that are kept: it leaves the mean unchanged."""
    return STEPS / (STEPS - _steps(rate))


def random_bits(words: int) -> Tensor:
    """Words of 64 random bits, (words,) int64; each call draws new ones."""
    key = int(torch.empty((), dtype=torch.int64).random_(-(2**63), None))
    mixed = _counters(1 << (words - 1).bit_length())[:words] + key
    moved = torch.empty_like(mixed)
    for shift, factor in ((30, FIRST), (27, SECOND), (31, 1)):
        torch.bitwise_right_shift(mixed, shift, out=moved)
        moved &= 2 ** (64 - shift) - 1  # torch shifts signed words arithmetically: clear the copies of the sign bit
        mixed ^= moved
        if factor != 1:
            mixed *= factor
    return mixed


@cache
def _counters(words: int) -> Tensor:
    return torch.arange(words) * WEYL


def _steps(rate: float) -> int:
    return round(rate * STEPS)
