"""What is set for libraries: threads, variables for the same bits, and freed memory that is kept."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adaptbert.errors import BadParams
from adaptbert.runtime import libraries
from adaptbert.runtime.variables import DETERMINISTIC
from tests.support.imports import ROOT


@pytest.mark.parametrize(("here", "physical", "used"), [(4, 2, "2"), (2, 64, "2"), (3, None, "3")])
def test_threads_are_as_many_as_cores_that_may_be_used(
    here: int, physical: int | None, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "cores", lambda: here)
    monkeypatch.setattr("psutil.cpu_count", lambda logical: physical)
    assert libraries.openmp()["OMP_NUM_THREADS"] == used


@pytest.mark.parametrize(("value", "there"), [(None, True), ("true", True), ("False", False)])
def test_variables_for_the_same_bits_are_set_where_they_are_wanted(
    value: str | None, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {} if value is None else {DETERMINISTIC: value})
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


PREPARED = """
import json, os
from adaptbert.runtime.libraries import prepare_process
prepare_process()
print(json.dumps(dict(os.environ)))
print(chr(0x5FC3) + chr(0x60C5))
"""


def prepared(*start: str, **variables: str) -> tuple[dict[str, str], str]:
    """The variables of a process after `prepare_process`, and what it printed of two Chinese characters."""
    command = [*start, sys.executable, "-c", PREPARED]
    env = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **variables}
    done = subprocess.run(command, env=env, capture_output=True, check=True, timeout=60)
    values, text = done.stdout.decode().splitlines()
    return json.loads(values), text


def test_this_machine_is_never_asked_through_a_proxy() -> None:
    """What the user has excepted stays; without a proxy nothing is set."""
    of_old = {"https_proxy": "http://proxy:1", "NO_PROXY": "intra.example, 10.0.0.1"}
    variables, _ = prepared(HOME="/", **of_old)
    assert variables["NO_PROXY"] == variables["no_proxy"] == "intra.example,10.0.0.1,localhost,127.0.0.1,::1"
    assert "NO_PROXY" not in prepared(HOME="/")[0]


@pytest.mark.parametrize(
    ("proxy", "is_known"), [("http://me:pw@x:1", True), ("x:1", True), ("socks4://me:pw@x:1", False)]
)
def test_a_proxy_of_another_kind_is_refused(proxy: str, is_known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"ALL_PROXY": proxy})
    if is_known:
        libraries.check_proxies()
        return
    with pytest.raises(BadParams, match="AB-171 ALL_PROXY: no client takes the proxy 'socks4://") as refused:
        libraries.check_proxies()
    assert "pw" not in str(refused.value)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can be another user")
def test_a_user_without_an_account_has_a_name_and_a_home() -> None:
    """As in a container; with the capabilities by which this user may read what the tests can."""
    caps = "+dac_override,+dac_read_search"
    start = ("setpriv", "--reuid=54321", "--clear-groups", f"--inh-caps={caps}", f"--ambient-caps={caps}")
    variables, _ = prepared(*start)
    assert (variables["LOGNAME"], variables["HOME"]) == ("54321", str(Path.cwd() / ".work/home"))
    variables, _ = prepared(*start, HOME="/srv", LOGNAME="me")
    assert (variables["LOGNAME"], variables["HOME"]) == ("me", "/srv")


def test_any_text_is_printed_in_any_encoding() -> None:
    assert prepared(HOME="/", PYTHONIOENCODING="latin-1")[1] == r"\u5fc3\u60c5"
