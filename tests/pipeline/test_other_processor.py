"""`make test-other-processor` switches vector units off in every library, and no library warns of a name it lacks."""

import json
import os
import subprocess
import sys

import pytest

from tests.other_processor import OLDEST, variables
from tests.support.imports import ROOT

UNITS = """
import json, numpy, scipy.linalg, threadpoolctl, torch
left = numpy.show_config("dicts")["SIMD Extensions"].get("found", [])
blas = sorted({each["architecture"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"})
product = torch.ones(8, 8) @ torch.ones(8, 8)
print(json.dumps([left, blas, torch.backends.cpu.get_cpu_capability(), float(product.sum())]))
"""


def units(environment: dict[str, str]) -> list[object]:
    command = [sys.executable, "-W", "error", "-c", UNITS]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return list(json.loads(done.stdout))


@pytest.mark.skipif(not OLDEST.keys() <= variables().keys(), reason="other processors have no such choice")
def test_units_are_switched_off() -> None:
    assert units(variables()) == [[], ["Nehalem"], "DEFAULT", 512.0]


def test_the_command_says_what_it_sets_and_runs_the_tests_named() -> None:
    test = "tests/pipeline/test_docstrings.py"
    command = [sys.executable, "-m", "tests.other_processor", test, "-n", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[: len(variables())] == [f"{name}={value!r}" for name, value in variables().items()]
