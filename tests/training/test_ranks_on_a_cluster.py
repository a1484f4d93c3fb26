"""Ranks of a Ray cluster: two machines, simulated on one, train what two processes of one machine train."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from adaptbert.errors import TEMPORARY, BadParams
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training.launchers import VARIABLE, RankLost, run_rank
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from tests.support import short_runs, tiny
from tests.support.machines import cluster_of
from tests.support.project import alive, wait_until
from tests.training.test_distributed import Spied, masked, plan, trained

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_rank_on_another_machine_trains_the_same_bits(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head has no core to lend, so rank 1 is on the second machine."""
    one, two = (trained(masked(corpus), devices, 2, monkeypatch) for devices in (1, 2))
    of_tasks = [trained(short_runs.made(), devices, 2, monkeypatch) for devices in (1, 2)]
    with cluster_of(0, 1):
        module, batch = masked(corpus)
        spied = Spied(batch, tmp_path / "trace")
        far = trained((module, spied), 2, 2, monkeypatch)
        far_task = trained(short_runs.made(), 2, 2, monkeypatch)
        stopped = Spied(masked(corpus)[1], tmp_path / "stopped", 4, "raise")  # micro-batch 4 is read by rank 0
        with pytest.raises(LookupError):
            trained((masked(corpus)[0], stopped), 2, 2, monkeypatch)
        assert [process for process in stopped.shares() if process != os.getpid() and alive(process)] == []
        with pytest.raises(BadParams, match=r"AB-171 ADAPTBERT_DEVICES: 4 devices need 3 CPUs .* the cluster has 1\n"):
            trained(masked(corpus), 4, 4, monkeypatch)
    assert torch.equal(far[0], two[0])
    assert far[1] == two[1]
    assert len(spied.shares()) == 2
    assert torch.equal(far[0], one[0]), "as many micro-batches a step as ranks: the bits of one process"
    assert torch.equal(far_task[0], of_tasks[0][0]), "and of fine-tuning"
    assert torch.equal(far_task[0], of_tasks[1][0])


@pytest.mark.usefixtures("save_every_step")
def test_a_machine_that_is_lost_costs_only_time(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends after the third step; with another machine, training goes on from there, to the same bits."""
    whole = trained(masked(corpus), 2, 2, monkeypatch)
    with cluster_of(0, 1) as machines:
        module, batch = masked(corpus)
        spied = Spied(batch, tmp_path / "trace")

        def lose_a_machine(step: int) -> Mapping[str, float]:
            machines.remove_node(next(iter(machines.worker_nodes)), allow_graceful=False)
            (other,) = spied.shares().keys() - {os.getpid()}
            wait_until(lambda: not alive(other), 60)
            return {}

        monkeypatch.setenv(VARIABLE, "2")
        with pytest.raises(RankLost, match="AB-180 rank 1: was lost with its machine: ") as caught:
            fit(module, spied, plan(2), tiny.no_record(), {3: lose_a_machine}, Savepoints(tmp_path / "saved"))
        assert caught.value.exit_code == TEMPORARY
        machines.add_node(num_cpus=1)
        again = Spied(masked(corpus)[1], tmp_path / "second")
        second = trained((masked(corpus)[0], again), 2, 2, monkeypatch, Savepoints(tmp_path / "saved"))
    assert torch.equal(second[0], whole[0])
    assert min(min(numbers) for numbers in again.shares().values()) >= 2 * 2, "steps that were saved are not repeated"


def test_a_stage_folder_that_another_machine_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="must be on a file system of all machines"):
        run_rank(str(tmp_path / "nowhere"), "adaptbert.training.loop:follow", 1, 2, "tcp://127.0.0.1:1")
