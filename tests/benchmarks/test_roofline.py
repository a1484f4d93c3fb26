"""The least time of a step, counted from its operations."""

from collections.abc import Callable
from functools import partial

import pytest
import torch

from benchmarks import roofline
from benchmarks.roofline import Roofline, at_most, least_seconds


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand operations a second in float32, ten times as many in bfloat16, and a byte a second is copied."""
    peaks = {torch.float32: 1e3, torch.bfloat16: 1e4}
    monkeypatch.setattr(roofline, "matmul_peak", peaks.__getitem__)
    monkeypatch.setattr(roofline, "copy_speed", lambda: 1e9)


def seconds_of(work: Callable[[], object]) -> float:
    with Roofline() as counter:
        work()
    return counter.seconds


def test_products_cost_their_operations_in_their_precision() -> None:
    left, right = torch.ones(4, 8), torch.ones(8, 16)
    assert seconds_of(lambda: left @ right) == pytest.approx(2 * 4 * 8 * 16 / 1e3)
    assert seconds_of(partial(torch.mm, left.bfloat16(), right.bfloat16())) == pytest.approx(2 * 4 * 8 * 16 / 1e4)


def test_other_operations_cost_what_they_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "copy_speed", lambda: 1.0)
    six = torch.ones(6)
    assert seconds_of(lambda: six + six) == 3 * 24, "both operands and the result"
    assert seconds_of(lambda: six.view(2, 3)) == 0
    table, rows = torch.ones(1000, 2), torch.tensor([3, 4])
    assert seconds_of(lambda: torch.nn.functional.embedding(rows, table)) == 16 + 16, "two rows, not the table"


def test_backward_counts() -> None:
    weight = torch.ones(8, 8, requires_grad=True)
    inputs = torch.ones(4, 8)
    forward = seconds_of(lambda: inputs @ weight)
    both = seconds_of(lambda: (inputs @ weight).sum().backward())  # type: ignore[no-untyped-call]
    assert both > 1.9 * forward


def test_the_mean_of_the_steps_that_count() -> None:
    def train(points: dict[int, object]) -> None:
        for step in range(1, 5):
            torch.ones(2, 2) @ torch.ones(2, 2)
            if step in points:
                points[step](step)  # type: ignore[operator]

    assert least_seconds(train, 2, 4) == pytest.approx(16 / 1e3, rel=1e-3)
    speeds = {"tokens_per_second": {"ours": 50, "ours, other precision": 20, "stock defaults": 10}}
    assert at_most(speeds, "tokens", 100, 0.5) == {"tokens_per_second": 200, "ratio": {"stock defaults": 20.0}}
