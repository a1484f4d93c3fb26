"""The environment that libraries read: threads, and the variables for the same bits."""

import os

import pytest

from adaptbert.runtime import libraries


@pytest.mark.parametrize(("here", "physical", "used"), [(4, 2, "2"), (2, 64, "2"), (3, None, "3")])
def test_threads_are_as_many_as_cores_that_may_be_used(
    here: int, physical: int | None, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "cores", lambda: here)
    monkeypatch.setattr("psutil.cpu_count", lambda logical: physical)
    assert libraries.threads()["OMP_NUM_THREADS"] == used


@pytest.mark.parametrize(("value", "there"), [(None, True), ("true", True), ("False", False)])
def test_variables_for_the_same_bits_are_set_where_they_are_wanted(
    value: str | None, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {} if value is None else {libraries.DETERMINISTIC: value})
    libraries.prepare_libraries()
    assert (os.environ.keys() >= libraries.SAME_BITS.keys()) is there
