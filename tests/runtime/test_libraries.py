"""What is set for libraries: threads, variables for the same bits, and freed memory that is kept."""

import os
import subprocess
import sys

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


FAULTS = """
import resource
import torch
from adaptbert.runtime.libraries import keep_freed_memory
def step():
    for _ in range(4):
        torch.ones(48 * 2**20 // 4).add(1)
def faults():
    for _ in range(3):
        step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
before, is_set, after = faults(), keep_freed_memory(), faults()
print(before, is_set, after)
assert is_set and 5 * after < before
"""


def test_freed_memory_is_kept() -> None:
    """Later steps ask the kernel for hardly any page."""
    subprocess.run([sys.executable, "-c", FAULTS], check=True)
