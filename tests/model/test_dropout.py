"""Dropout on a CPU: the statistics of independent draws, from bits that are a function of a key and a counter."""

import numpy as np
import pytest
import torch

from adaptbert.core.counter_rng import mix
from adaptbert.model.dropout import add_dropout, dropout, keep_mask, random_bits


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_values_have_the_statistics_of_dropout(rate: float) -> None:
    torch.manual_seed(3)
    thinned = dropout(torch.ones(400, 1000), rate)
    dropped = (thinned == 0).double()
    assert dropped.mean().item() == pytest.approx(rate, abs=4 * (rate * (1 - rate) / 400_000) ** 0.5)
    assert thinned.mean().item() == pytest.approx(1, abs=0.02)
    # Four neighbours share one draw of 64 bits and must still be independent.
    flat = dropped.flatten() - rate
    for distance in (1, 2, 3, 4, 64, 1000):
        correlation = (flat[:-distance] * flat[distance:]).mean().item() / (rate * (1 - rate))
        assert abs(correlation) < 4 / 400_000**0.5


def test_bits_are_those_of_splitmix_by_a_new_key_each_time() -> None:
    torch.manual_seed(3)
    draws = [random_bits(1000).numpy().view(np.uint64) for _ in range(2)]
    torch.manual_seed(3)
    counters = np.arange(1000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for bits in draws:
        key = int(torch.empty((), dtype=torch.int64).random_(-(2**63), None)) % 2**64
        assert np.array_equal(bits, mix(counters + np.uint64(key)))


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    draws, threads = [], torch.get_num_threads()
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            torch.manual_seed(3)
            draws.append(random_bits(200_001))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(draws[0], draws[1])
    assert torch.equal(draws[0], draws[2])


@pytest.mark.parametrize("rate", [0.0, 0.25])
def test_add_dropout_is_the_sum(rate: float) -> None:
    values, to = torch.randn(30, 40, requires_grad=True), torch.randn(30, 40, requires_grad=True)
    torch.manual_seed(3)
    expected = to + dropout(values, rate)
    gradients = torch.autograd.grad(expected.pow(2).sum(), (values, to))
    torch.manual_seed(3)
    actual = add_dropout(values, rate, to)
    torch.testing.assert_close(actual, expected)
    for mine, theirs in zip(torch.autograd.grad(actual.pow(2).sum(), (values, to)), gradients, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_in_bfloat16_the_same_elements_are_kept() -> None:
    torch.manual_seed(3)
    wide = keep_mask(torch.empty(999), 0.1)
    torch.manual_seed(3)
    assert torch.equal(keep_mask(torch.empty(999, dtype=torch.bfloat16), 0.1).float(), wide)
