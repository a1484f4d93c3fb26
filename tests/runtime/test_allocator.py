"""Memory that is freed is not handed back: later steps ask the kernel for hardly any page."""

import subprocess
import sys

PROGRAM = """
import resource, sys
import torch
from adaptbert.runtime.allocator import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
def step():
    for _ in range(4):
        torch.ones(48 * 2**20 // 4).add(1)
for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_freed_memory_is_kept() -> None:
    assert 5 * faults("kept") < faults("returned")
