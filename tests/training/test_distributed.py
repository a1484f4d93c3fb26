"""Training on several devices, here two processes on a CPU: the same run, whatever happens to the processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from adaptbert.core.files import read_json
from adaptbert.errors import INTERNAL, TEMPORARY
from adaptbert.mlm.masked_lm import MaskedBatches, MaskedLM
from adaptbert.runtime.signals import Interrupted
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import distributed as ranks
from adaptbert.training.arguments import Batches, Fitted, TrainingArguments
from adaptbert.training.launchers import RankLost
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from adaptbert.training.stability import Diverged
from tests.support import short_runs, tiny, tiny_params
from tests.support.project import alive, wait_until
from tests.support.short_runs import flat_weights, masked_batches, masked_lm

STEPS = 5


@dataclass(frozen=True)
class Spied:
    """Micro-batches that record which process read which, with an event at some of them."""

    inner: Batches
    trace: Path
    at: int = -1
    event: str = ""

    def __call__(self, k: int) -> Any:
        with self.trace.open("a") as file:
            file.write(f"{os.getpid()} {k}\n")
        if k == self.at and self.event == "raise":
            raise LookupError("spied")
        if k == self.at and self.event:
            os.kill(os.getpid(), getattr(signal, self.event))
        return self.inner(k)

    def shares(self) -> dict[int, list[int]]:
        numbers: dict[int, list[int]] = {}
        for line in self.trace.read_text().splitlines():
            process, k = map(int, line.split())
            numbers.setdefault(process, []).append(k)
        return numbers


def masked(corpus: TokenizedCorpus) -> tuple[MaskedLM, MaskedBatches]:
    return masked_lm(STEPS, 0.3), masked_batches(corpus, 150)


def plan(accumulate: int, precision: str = "32-true") -> TrainingArguments:
    return TrainingArguments(STEPS, accumulate, 1.0, precision, 0, "train/loss")


def trained(
    made: tuple[Any, Batches],
    devices: int,
    accumulate: int,
    monkeypatch: pytest.MonkeyPatch,
    savepoints: Savepoints | None = None,
) -> tuple[torch.Tensor, Fitted]:
    module, batch = made
    monkeypatch.setenv(ranks.VARIABLE, str(devices))

    def measure(step: int) -> Mapping[str, float]:
        return {"sum": float(flat_weights(module).double().sum())}

    fitted = fit(module, batch, plan(accumulate), tiny.no_record(), {2: measure, STEPS: measure}, savepoints)
    return flat_weights(module), fitted


def assert_close(two: tuple[torch.Tensor, Fitted], one: tuple[torch.Tensor, Fitted]) -> None:
    torch.testing.assert_close(two[0], one[0], atol=5e-6, rtol=0)
    assert two[1].counts == one[1].counts
    for here, there in zip(two[1].curve, one[1].curve, strict=True):
        assert here == pytest.approx(there, abs=1e-3)
        assert here["train/loss"] == pytest.approx(there["train/loss"], abs=1e-6)


def script(tmp_path: Path, body: str) -> "subprocess.Popen[str]":
    """A process of its own, as a stage is one, that leads a group."""
    file = tmp_path / "script.py"
    file.write_text(body)
    return subprocess.Popen(
        [sys.executable, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), ranks.VARIABLE: "2"},
    )


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the death of a parent")
@pytest.mark.parametrize(
    ("task", "world", "accumulate"), [("masked", 2, 2), pytest.param("labelled", 3, 6, marks=pytest.mark.slow)]
)
def test_killed_and_resumed_processes_give_bit_identical_results(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, world: int, accumulate: int
) -> None:
    """With dropout; order, masks and dropout are functions of the number of a micro-batch. A sum of two is the same in
    each order: one process has the bits of two, too."""

    def made() -> tuple[Any, Batches]:
        return masked(corpus) if task == "masked" else short_runs.made()

    one, whole = (trained(made(), devices, accumulate, monkeypatch) for devices in (1, world))
    assert_close(whole, one)
    assert torch.equal(whole[0], one[0]) or world > 2
    body = f"""
from pathlib import Path
import pytest
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import monitor
from adaptbert.training.savepoints import Savepoints
from tests.support import short_runs
from tests.training import test_distributed
monitor.SAVE_SHARE = 0
corpus = TokenizedCorpus.load(Path({str(corpus._parts[0]._folder)!r}))
module, batch = test_distributed.masked(corpus) if {task!r} == "masked" else short_runs.made()
spied = test_distributed.Spied(batch, Path({str(tmp_path / "trace")!r}), at={3 * accumulate}, event="SIGKILL")
with pytest.MonkeyPatch.context() as patch:
    saved = Savepoints(Path({str(tmp_path / "saved")!r}))
    test_distributed.trained((module, spied), {world}, {accumulate}, patch, saved)
"""
    with script(tmp_path, body) as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, errors
    first = Spied(batches_of_nothing, tmp_path / "trace").shares()
    assert len(first) == world
    wait_until(lambda: not any(map(alive, first)), 10)  # the other processes end with that of the stage
    assert sorted(path.name[:8] for path in (tmp_path / "saved").glob("*.safetensors")) == ["00000002", "00000003"]
    module, batch = made()
    spied = Spied(batch, tmp_path / "second")
    second = trained((module, spied), world, accumulate, monkeypatch, Savepoints(tmp_path / "saved"))
    assert torch.equal(second[0], whole[0])
    assert second[1] == whole[1]
    left = range(3 * accumulate, STEPS * accumulate)
    assert sorted(spied.shares().values()) == [list(left[rank::world]) for rank in range(world)]
    assert os.getpid() in spied.shares()


def batches_of_nothing(k: int) -> Any:
    raise AssertionError(k)


@pytest.mark.slow
def test_a_signal_to_all_saves_once_and_the_run_goes_on(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal sends Ctrl-C to every process: the others leave it to rank 0, and end with it."""
    monkeypatch.setattr("adaptbert.runtime.signals._received", [])
    whole = trained(masked(corpus), 2, 2, monkeypatch)
    module, batch = masked(corpus)
    both = Spied(Spied(batch, tmp_path / "trace", 3, "SIGTERM"), tmp_path / "trace", 4, "SIGTERM")
    with pytest.raises(Interrupted, match=r"SIGTERM after step 3 of 5$"):
        trained((module, both), 2, 2, monkeypatch, Savepoints(tmp_path / "saved"))
    assert not any(map(alive, both.shares().keys() - {os.getpid()}))
    (saved,) = (tmp_path / "saved").glob("*.safetensors")
    assert saved.name.startswith("00000003-")
    monkeypatch.setattr("adaptbert.runtime.signals._received", [])
    second = trained(masked(corpus), 2, 2, monkeypatch, Savepoints(tmp_path / "saved"))
    assert torch.equal(second[0], whole[0])
    assert second[1] == whole[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "message", "code"),
    [("SIGKILL", "AB-180 rank 1: was killed by signal 9\n  run again", TEMPORARY), ("raise", "ended with 1", INTERNAL)],
)
def test_a_rank_that_fails(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str, message: str, code: int
) -> None:
    module, batch = masked(corpus)
    spied = Spied(batch, tmp_path / "trace", 5, event)  # micro-batch 5 is read by rank 1
    with pytest.raises(RankLost, match=message) as caught:
        trained((module, spied), 2, 2, monkeypatch)
    assert caught.value.exit_code == code
    trained(masked(corpus), 2, 2, monkeypatch)  # no state of the failed run remains


@pytest.mark.slow
def test_a_rank_that_fails_while_rank_0_waits_in_a_blocking_call(corpus: TokenizedCorpus, tmp_path: Path) -> None:
    """As NCCL does; here it sleeps."""
    body = f"""
import os, time
from pathlib import Path
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import launchers, loop
from tests.support import tiny
from tests.training import test_distributed
launchers.GRACE_SECONDS = 1.0
module, batch = test_distributed.masked(TokenizedCorpus.load(Path({str(corpus._parts[0]._folder)!r})))
spied = test_distributed.Spied(batch, Path({str(tmp_path / "trace")!r}), at=5, event="SIGKILL")
loop.fit(module, spied, test_distributed.plan(2), tiny.no_record(), {{2: lambda step: time.sleep(600)}})
"""
    with script(tmp_path, body) as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == TEMPORARY, errors
    assert "AB-180 rank 1: was killed by signal 9" in errors


class Spoiling(MaskedLM):
    """The loss of some micro-batches is no number; every rank knows them by their ids."""

    spoilt: tuple[list[int], ...] = ()

    def training_step(self, batch: Any, k: int) -> torch.Tensor:
        loss = super().training_step(batch, k)
        return loss * float("nan") if batch.ids.tolist() in self.spoilt else loss


@pytest.mark.slow
def test_all_ranks_skip_the_same_steps_and_a_run_that_diverges_ends(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*at: int) -> tuple[Any, Batches]:
        module, batch = masked(corpus)
        spoiling = Spoiling(module.model, tiny_params.optim(), STEPS)
        spoiling.spoilt = tuple(batch(k).ids.tolist() for k in at)
        return spoiling, batch

    one, two = (trained(made(3), devices, 2, monkeypatch) for devices in (1, 2))
    assert one[1].counts["skipped_steps"] == two[1].counts["skipped_steps"] == 1
    assert torch.isfinite(two[0]).all()
    assert torch.equal(one[0], two[0])
    with pytest.raises(Diverged, match=r"AB-158 step 5: .* 3 steps in a row"):
        trained(made(5, 7, 9), 2, 2, monkeypatch, Savepoints(tmp_path))
    assert [step["step"] for step in read_json(tmp_path / "diverged.json")["steps"]] == [3, 4, 5]
