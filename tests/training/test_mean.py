"""The mean of gradients over several ranks, by the bits."""

from unittest import mock

import torch
from torch import Tensor

from adaptbert.training.distributed import Ranks

WORLD = 3


def tensors(rank: int) -> list[Tensor]:
    """Of several shapes, one of them not contiguous."""
    torch.manual_seed(rank)
    return [torch.randn(5, 7), torch.randn(()), torch.randn(11, 4).t(), torch.randn(6)]


def test_a_cpu_divides_the_sum() -> None:
    """As gloo adds: in one tensor, in the order of ranks."""
    others = [torch.cat([tensor.flatten() for tensor in tensors(rank)]) for rank in range(1, WORLD)]

    def add(flat: Tensor) -> None:
        for other in others:
            flat += other

    own = tensors(0)
    expected = [
        sum((tensors(rank)[number] for rank in range(1, WORLD)), tensor) / WORLD for number, tensor in enumerate(own)
    ]
    with mock.patch("torch.distributed.all_reduce", side_effect=add):
        Ranks(0, WORLD).mean(own)
    for actual, each in zip(own, expected, strict=True):
        assert torch.equal(actual, each)
    assert own[2].stride() == tensors(0)[2].stride(), "in place"
