"""Numbers and seeds as functions of a key: uniform, independent, and the same on every machine."""

import numpy as np
import pytest
from scipy.stats import chisquare

from adaptbert.core.counter_rng import uniforms
from adaptbert.core.seeds import seed_of


def test_seeds_of_different_keys_differ() -> None:
    keys: list[tuple[int | str, ...]] = [("a", 1), ("a", "1"), ("a1",), ("a", 1, ""), (1, "a")]
    keys += [("step", k) for k in range(1000)]
    seeds = [seed_of(*key) for key in keys]
    assert len(set(seeds)) == len(keys)
    assert all(0 <= seed < 2**63 for seed in seeds), "torch and numpy take them"
    assert seed_of(3, "order", 0) == 4862670786762775343, "the same on every machine and in every version"


@pytest.mark.parametrize("vary", ["counter", "key"])
def test_uniforms_are_uniform(vary: str) -> None:
    many = np.arange(200_000, dtype=np.uint64)
    key = np.uint64(seed_of("a test"))
    draws = uniforms(key, many) if vary == "counter" else uniforms(many, np.full(len(many), 5, np.uint64))
    assert draws.min() >= 0
    assert draws.max() < 1
    counts, _ = np.histogram(draws, bins=1000, range=(0, 1))
    assert 0.001 < chisquare(counts).pvalue < 0.999


def test_uniforms_are_independent_over_counters_and_keys() -> None:
    """No correlation with the next counter, with the next key, or with any bit of either."""
    keys, counters = np.meshgrid(np.arange(300, dtype=np.uint64), np.arange(300, dtype=np.uint64), indexing="ij")
    grid = uniforms(keys.reshape(-1), counters.reshape(-1)).reshape(300, 300) - 0.5
    limit = 5 / np.sqrt(grid.size)
    for down, right in ((0, 1), (1, 0), (1, 1), (0, 3)):
        mine, theirs = grid[: 300 - down, : 300 - right], grid[down:, right:]
        assert abs(np.corrcoef(mine.reshape(-1), theirs.reshape(-1))[0, 1]) < limit
    for bit in range(8):
        odd = (np.arange(300) >> bit & 1).astype(bool)
        for half in (grid[odd], grid[:, odd]):
            assert abs(half.mean()) < 5 * (1 / 12 / half.size) ** 0.5
