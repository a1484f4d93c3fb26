"""Skipped steps, warnings and the end of a run, from numbers alone."""

import json
import math
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.training.stability import WINDOW, Diverged, Health

NAN, INF = math.nan, math.inf


def after(steps: int) -> Health:
    """A calm run, with the small ups and downs of every run."""
    health = Health()
    for step in range(1, steps + 1):
        assert health.observe(step, 2.0 + 0.1 * math.sin(step), 1.0 + 0.1 * math.cos(step)) == ""
    return health


@pytest.mark.parametrize(("loss", "norm", "what"), [(NAN, 1.0, "loss is nan"), (2.0, INF, "gradient is inf")])
def test_two_bad_steps_are_skipped_and_the_third_in_a_row_ends_the_run(loss: float, norm: float, what: str) -> None:
    health = after(10)
    assert what in health.observe(11, loss, norm)
    assert "skipped" in health.observe(12, loss, norm)
    assert health.observe(13, 2.0, 1.0) == ""
    for step in (14, 15):
        health.observe(step, loss, norm)
    with pytest.raises(Diverged, match=rf"AB-158 step 16: the .*{what}, 3 steps in a row"):
        health.observe(16, loss, norm)
    assert health.skipped == 5
    assert [step["step"] for step in health.bad] == [11, 12, 14, 15, 16]


def test_more_than_one_bad_step_in_a_hundred_ends_the_run() -> None:
    health = after(199)
    for step in (200, 202):
        health.observe(step, NAN, 1.0)
        assert health.observe(step + 1, 2.0, 1.0) == ""
    with pytest.raises(Diverged, match="as in 3 of 204 steps"):
        health.observe(204, NAN, 1.0)


def test_spikes_are_reported_but_not_in_the_first_steps() -> None:
    health = after(WINDOW)
    assert health.observe(WINDOW + 1, 4.0, 1.0).startswith(f"step {WINDOW + 1}: a spike, loss 4.000, usually ")
    assert "norm of the gradient 20, usually" in health.observe(WINDOW + 2, 2.0, 20.0)
    assert (health.spikes, health.skipped) == (2, 0)
    young = Health()
    assert {young.observe(step, 9.0 / step, 30.0 / step) for step in range(1, WINDOW)} == {""}


@given(st.lists(st.tuples(st.floats(0.1, 20), st.floats(0.01, 100)), min_size=1, max_size=300), st.integers(0, 300))
def test_a_restored_health_equals_an_uninterrupted_one(steps: list[tuple[float, float]], cut: int) -> None:
    uninterrupted, first = Health(), Health()
    warnings = [uninterrupted.observe(step, *numbers) for step, numbers in enumerate(steps, 1)]
    begun = [first.observe(step, *numbers) for step, numbers in enumerate(steps[:cut], 1)]
    second = Health(**json.loads(json.dumps(asdict(first))))
    rest = [second.observe(step, *numbers) for step, numbers in enumerate(steps[cut:], 1 + len(begun))]
    assert begun + rest == warnings
    assert second == uninterrupted
