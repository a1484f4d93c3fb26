"""The cluster that a user named: one clear message where it cannot be had, and what its tasks compute with."""

import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from adaptbert.errors import BadParams, Temporary
from adaptbert.runtime import cluster
from adaptbert.runtime.variables import CLUSTER
from tests.support.imports import ROOT, imports, modules
from tests.support.machines import cluster_of


def test_nothing_imports_ray_when_it_is_imported() -> None:
    code = (
        f"import sys, {', '.join(['adaptbert.cli', 'flows.recipe', *modules('stages')])}; print('ray' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
    users = {
        module for folder in ("adaptbert", "stages", "flows") for module in modules(folder) if "ray" in imports(module)
    }
    assert users == {"adaptbert.runtime.cluster"}


def test_ray_that_is_missing_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setenv(CLUSTER, "10.0.0.7:6379")
    with pytest.raises(BadParams) as refused:
        cluster.connected()
    assert str(refused.value) == (
        "AB-154 ADAPTBERT_CLUSTER: '10.0.0.7:6379' needs Ray, which is not installed\n"
        "  install it (pip install 'adaptbert[cluster]'), or unset ADAPTBERT_CLUSTER"
    )


@pytest.mark.parametrize("error", [ConnectionRefusedError("refused"), TimeoutError("timed out")], ids=str)
def test_an_address_that_does_not_answer_is_one_message(error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself would ask again for minutes without a word; a firewall lets nobody know."""
    connect = mock.Mock(side_effect=error)
    monkeypatch.setattr("socket.create_connection", connect)
    monkeypatch.setenv(CLUSTER, "10.0.0.7:6379")
    with pytest.raises(Temporary, match=f"AB-156 .*'10.0.0.7:6379': {error}"):
        cluster.connected()
    connect.assert_called_once_with(("10.0.0.7", 6379), 5.0)


@pytest.mark.slow
def test_tasks_have_the_code_of_the_stage_and_signals_its_handlers() -> None:
    with cluster_of(1):
        handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
        ray = cluster.connected()
        package = Path(ray.get(ray.remote(where).remote()))
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == handlers
    assert ROOT not in package.parents, "not what happens to be installed on the other machine"


def where() -> str:
    import adaptbert

    return str(adaptbert.__file__)
