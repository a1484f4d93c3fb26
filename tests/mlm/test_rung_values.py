"""The values of a rung: when it is measured, and what contradicts itself."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.mlm.rung import measured_steps
from tests.support import tiny_params


@given(st.integers(0, 100_000), st.integers(1, 20))
def test_measured_steps(steps: int, count: int) -> None:
    points = measured_steps(steps, count)
    assert len(points) <= count
    assert points == sorted(set(points))
    if steps == 0:
        assert points == []
    else:
        assert points[-1] == steps
        assert points[0] >= 1
        assert points[0] == steps or points[0] <= max(1, steps // 10 + 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"micro_batch_tokens": 100}, "global_batch_tokens 128 is not a multiple of micro_batch_tokens 100"),
        (
            {"lengths": {"short_share": 0.5, "short_length": 65}},
            "lengths.short_length 65 is larger than block_size 64",
        ),
        ({"block_size": 256}, "block_size 256 is larger than micro_batch_tokens 128"),
    ],
)
def test_contradictions(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny_params.rung(**changes)
