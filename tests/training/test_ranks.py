"""Training on several devices, here processes on a CPU: the same run, whatever happens to the processes."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from torch import Tensor

from adaptbert.core.files import read_json
from adaptbert.errors import INTERNAL, TEMPORARY, BadParams
from adaptbert.mlm.masked_lm import MaskedBatches, MaskedLM
from adaptbert.runtime.signals import SIGNALS, Interrupted
from adaptbert.runtime.variables import DEVICES
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import ranks
from adaptbert.training.arguments import Fitted, TrainingArguments
from adaptbert.training.buckets import Buckets
from adaptbert.training.loop import fit
from adaptbert.training.micro_batches import Batches, CountedBatches, MicroBatch
from adaptbert.training.ranks import RankLost, Ranks, run_rank
from adaptbert.training.savepoints import Savepoints
from adaptbert.training.stability import Diverged
from tests.support import short_runs, tiny
from tests.support.machines import cluster_of
from tests.support.project import alive, wait_until
from tests.support.short_runs import Spoilt, flat_weights, masked_batches, masked_lm, no_number

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

    def left_over(self) -> list[int]:
        """Other processes that still run."""
        return [process for process in self.shares() if process != os.getpid() and alive(process)]


def masked(corpus: TokenizedCorpus) -> tuple[MaskedLM, MaskedBatches]:
    return masked_lm(STEPS, 0.3), masked_batches(corpus, 150)


def plan(accumulate: int) -> TrainingArguments:
    return TrainingArguments(STEPS, accumulate, 1.0, "32-true", 0, "train/loss")


def on(devices: int) -> Any:
    """Training in this block uses so many."""
    return mock.patch.dict(os.environ, {DEVICES: str(devices)})


def trained(
    made: tuple[Any, Batches], devices: int, accumulate: int, folder: Path | None = None
) -> tuple[torch.Tensor, Fitted]:
    module, batch = made

    def measure(step: int) -> Mapping[str, float]:
        return {"sum": float(flat_weights(module).double().sum())}

    points, savepoints = {2: measure, STEPS: measure}, Savepoints(folder) if folder else None
    with on(devices), mock.patch("adaptbert.runtime.signals._received", []):
        fitted = fit(module, batch, plan(accumulate), tiny.no_record(), points, savepoints)
    return flat_weights(module), fitted


def is_equal(one: tuple[torch.Tensor, Fitted], other: tuple[torch.Tensor, Fitted]) -> bool:
    return torch.equal(one[0], other[0]) and one[1] == other[1]


def assert_close(two: tuple[torch.Tensor, Fitted], one: tuple[torch.Tensor, Fitted]) -> None:
    torch.testing.assert_close(two[0], one[0], atol=5e-6, rtol=0)
    assert two[1].counts == one[1].counts
    for here, there in zip(two[1].curve, one[1].curve, strict=True):
        assert here == pytest.approx(there, abs=1e-3)
        assert here["train/loss"] == pytest.approx(there["train/loss"], abs=1e-6)


# How many, and what they share


def test_how_many_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, where a step can be cut for them; its micro-batches become a multiple."""
    monkeypatch.delenv(DEVICES, raising=False)
    assert ranks.shared(4, 32) == (1, 4), "on a CPU"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    assert [ranks.shared(parts, 64) for parts in (1, 2, 12, 16)] == [(8, 8), (8, 8), (8, 16), (8, 16)]
    assert [ranks.shared(2, most) for most in (2, 3, 7)] == [(2, 2), (3, 3), (7, 7)]
    for parts, most in ((2, 3), (4, 5), (4, 6), (5, 5), (6, 7), (32, 64)):
        world, cut = ranks.shared(parts, most)
        assert ranks.shared(cut, cut) == (world, cut), "`fit` has as many"
    monkeypatch.setenv(DEVICES, "2")
    assert ranks.shared(3, 4) == (2, 4), "as was asked for"


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ("4", "4 devices cannot share an optimizer step, which can be cut into 3 parts at most"),
        ("9", "9 devices, there are 8\n  lower it to 8"),
    ],
)
def test_no_number_of_devices(monkeypatch: pytest.MonkeyPatch, devices: str, message: str) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    monkeypatch.setenv(DEVICES, devices)
    with pytest.raises(BadParams, match=f"AB-171 ADAPTBERT_DEVICES: {message}"):
        ranks.shared(2, 3)


def test_pickled_batches_are_small(tmp_path: Path) -> None:
    """A corpus goes to another process by its name, not by its tokens."""
    large = tiny.corpus(tmp_path / "large", "domain", 3000)
    mixed = large.mixed_with(tiny.corpus(tmp_path / "other", "general", 300), 0.1, 0)
    batch = masked_batches(mixed, 150)
    batch(0)
    text = pickle.dumps(batch)
    assert len(text) < 32 * len(mixed.lengths) + 20_000, "some numbers a document, and no token"
    assert len(text) < mixed.tokens * 3


def fail(rank: int, world: int, store: str) -> None:
    sys.exit(3)


def test_one_device_starts_no_process() -> None:
    tensor = torch.tensor([np.pi])
    with ranks.started(1, fail) as group:
        group.mean(tensor)
        assert (group, group.share("held"), group.totals([{"tokens": 3}])) == (Ranks(0, 1), "held", [{"tokens": 3}])
    assert tensor == torch.tensor([np.pi])


class Doubled(Ranks):
    """Two ranks whose micro-batches have equal counts."""

    def totals(self, counts: Any) -> Any:
        sizes_of_groups.append(len(counts))
        return [{name: 2 * number for name, number in each.items()} for each in counts]


sizes_of_groups: list[int] = []


@pytest.mark.parametrize("together", [1, 3])
def test_counts_of_several_steps_are_added_up_at_once(together: int) -> None:
    sizes_of_groups.clear()
    steps = [
        [MicroBatch(counts={"tokens": k, "none": 0}), MicroBatch(counts={"tokens": 1, "none": 0})] for k in range(7)
    ]
    counted = [*CountedBatches(steps, Doubled(0, 2), 7, together)]
    assert [step[0].step_counts for step in counted] == [{"tokens": 2 * (k + 1), "none": 0} for k in range(7)]
    assert {batch.in_step for step in counted for batch in step} == {4}
    assert sizes_of_groups == {1: [1] * 7, 3: [3, 3, 1]}[together]


def test_counts_of_two_phases_are_added_up_at_once() -> None:
    """Where causal steps end, masked ones count others."""
    causal, masks = {"tokens": 3, "predicted": 2}, {"tokens": 4, "chosen": 0}
    with mock.patch("torch.distributed.all_reduce", lambda numbers: numbers.mul_(2)):
        both = Ranks(0, 2).totals([causal, masks])
    assert both == [{"tokens": 6, "predicted": 4}, {"tokens": 8, "chosen": 0}]


# ---- gradients


class Net(torch.nn.Module):
    """Layers of several shapes, one that is never reached and one that is frozen after backward."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(6)))
        self.unused, self.still = torch.nn.Linear(5, 3), torch.nn.Linear(8, 8)

    def forward(self, batch: Tensor) -> Tensor:
        return self.still(self.layers(batch)).square().sum()  # type: ignore[no-any-return]


def of_rank(rank: int, step: int, part: int) -> Tensor:
    return torch.randn(3, 8, generator=torch.Generator().manual_seed(100 * step + 10 * part + rank))


@pytest.mark.parametrize("frozen", [False, True])
def test_buckets_give_the_mean_of_the_gradients(frozen: bool) -> None:
    """As gloo adds: in the order of ranks, in fixed tensors. From the second step on all but the last are sent before
    the end of backward."""
    nets = [Net() for _ in range(3)]
    sent: list[tuple[int, bool]] = []
    in_backward = False
    buckets: list[Buckets] = []

    class Pretended(Ranks):
        def begin_mean(self, tensor: Tensor) -> Callable[[], None]:
            number = [flat.data_ptr() for flat in buckets[0]._flat].index(tensor.data_ptr())
            sent.append((number, in_backward))

            def end() -> None:
                for other in buckets[1:]:
                    tensor.add_(other._flat[number])
                tensor.div_(3)

            return end

    buckets += [Buckets(net.parameters(), Pretended(0, 3) if net is nets[0] else Ranks()) for net in nets]
    for step in range(3):
        sent.clear()
        for rank in (2, 1, 0):
            buckets[rank].begin()
            for part in range(2):
                if part == 1:
                    buckets[rank].begin_last()
                in_backward = True
                nets[rank](of_rank(rank, step, part)).backward()
                in_backward = False
                if frozen:
                    nets[rank].still.zero_grad()
        buckets[0].end()
        expected = [gradients(step, rank) for rank in range(3)]
        for name, parameter in nets[0].named_parameters():
            if name.startswith("unused") or (frozen and name.startswith("still")):
                assert parameter.grad is None, name
            else:
                mean = (expected[0][name] + expected[1][name] + expected[2][name]) / 3
                assert parameter.grad is not None
                torch.testing.assert_close(parameter.grad, mean, rtol=1e-6, atol=1e-6)
        assert [number for number, _ in sent] == list(range(len(buckets[0]._flat)))
        early = [number for number, before_end in sent if before_end]
        assert early == ([] if step == 0 else list(range(len(buckets[0]._flat))))


def gradients(step: int, rank: int) -> dict[str, Tensor]:
    net = Net()
    for part in range(2):
        net(of_rank(rank, step, part)).backward()
    return {name: each.grad for name, each in net.named_parameters() if each.grad is not None}


def test_a_gradient_that_comes_too_late_is_noticed() -> None:
    net = Net()
    buckets = Buckets(net.parameters(), Ranks())
    for step in range(2):
        buckets.begin()
        buckets.begin_last()
        net(of_rank(0, step, 0)).backward()
        buckets.end()
    buckets.begin()
    buckets.begin_last()
    net(of_rank(0, 2, 0)).backward()
    with pytest.raises(AssertionError, match="a gradient came after its bucket was sent"):
        net(of_rank(0, 2, 1)).backward()


def test_a_module_that_was_trained_has_no_hooks(corpus: TokenizedCorpus) -> None:
    """Nor gradients; else they would stay in memory, and a second run would have those of a first that failed."""
    module, batch = masked(corpus)
    hooks = lambda: [each for each in module.parameters() if each._post_accumulate_grad_hooks or each.grad is not None]  # type: ignore[attr-defined]  # noqa: E731

    def end_it(step: int) -> Mapping[str, float]:
        assert hooks()
        raise LookupError("measured")

    alone = mock.patch("adaptbert.training.loop.started", lambda world, _: nullcontext(Alone(0, world)))
    with on(2), alone, pytest.raises(LookupError, match="measured"):
        fit(module, batch, plan(2), tiny.no_record(), {2: end_it})
    assert hooks() == []


class Alone(Ranks):
    """One of several ranks, without the others."""

    def share(self, value: Any) -> Any:
        return value

    def begin_mean(self, tensor: Tensor) -> Callable[[], None]:
        return lambda: None

    def totals(self, counts: Any) -> Any:
        return [*map(dict, counts)]


def test_a_device_has_an_operation_for_the_mean() -> None:
    with mock.patch("torch.distributed.all_reduce") as reduced:
        Ranks(0, 3).mean(torch.zeros(3, device="meta"))
    assert reduced.call_args.args[1] == torch.distributed.ReduceOp.AVG


# Several processes


def script(tmp_path: Path, corpus: TokenizedCorpus, body: str) -> "subprocess.Popen[str]":
    """A process of its own, as a stage is one, that leads a group; it knows `corpus` and `here`."""
    head = f"""
import os, time
from pathlib import Path
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import loop, monitor, ranks
from tests.support import short_runs, tiny
from tests.training import test_ranks
corpus = TokenizedCorpus.load(Path({str(corpus._parts[0]._folder)!r}))
here = Path({str(tmp_path)!r})
"""
    file = tmp_path / "script.py"
    file.write_text(head + body)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), DEVICES: "2"}
    pipe, command = subprocess.PIPE, [sys.executable, str(file)]
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True, env=environment)


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the death of a parent")
@pytest.mark.parametrize(
    ("task", "world", "accumulate"),
    [
        ("masked", 2, 2),
        pytest.param("labelled", 3, 6, marks=pytest.mark.slow),
        pytest.param("masked", 4, 4, marks=pytest.mark.slow),
    ],
)
def test_killed_and_resumed_processes_give_bit_identical_results(
    corpus: TokenizedCorpus, tmp_path: Path, task: str, world: int, accumulate: int
) -> None:
    """With dropout; order, masks and dropout are functions of the number of a micro-batch. A sum of two is the same in
    each order: one process has the bits of two, too, but for the numbers of the curve."""

    def made() -> tuple[Any, Batches]:
        return masked(corpus) if task == "masked" else short_runs.made()

    whole = one = trained(made(), 1, accumulate)
    if world > 2:
        whole = trained(made(), world, accumulate)
        assert_close(whole, one)
    body = f"""
monitor.SAVE_SHARE = 0
module, batch = test_ranks.masked(corpus) if {task!r} == "masked" else short_runs.made()
spied = test_ranks.Spied(batch, here / "trace", at={3 * accumulate}, event="SIGKILL")
test_ranks.trained((module, spied), {world}, {accumulate}, here / "saved")
"""
    with script(tmp_path, corpus, body) as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, errors
    first = Spied(fail, tmp_path / "trace")  # type: ignore[arg-type]
    assert len(first.shares()) == world
    wait_until(lambda: not first.left_over(), 60)  # the other processes end with that of the stage
    assert sorted(path.name[:8] for path in (tmp_path / "saved").glob("*.safetensors")) == ["00000002", "00000003"]
    module, batch = made()
    spied = Spied(batch, tmp_path / "second")
    resumed = trained((module, spied), world, accumulate, tmp_path / "saved")
    assert torch.equal(resumed[0], whole[0])
    assert_close(resumed, one)
    assert is_equal(resumed, whole) or world == 2
    left = range(3 * accumulate, STEPS * accumulate)
    assert sorted(spied.shares().values()) == [list(left[rank::world]) for rank in range(world)]
    assert os.getpid() in spied.shares()


def test_a_signal_while_a_rank_starts_does_not_reach_it() -> None:
    """Python would print a traceback of the import that it is in; rank 0 ends the others."""
    with ranks._process("builtins:print", 1, 2, "store") as starting:
        for number in SIGNALS:
            starting.send_signal(number)
        assert starting.wait(120) == 0


@pytest.mark.slow
def test_a_signal_to_all_saves_once_and_the_run_goes_on(corpus: TokenizedCorpus, tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to every process: the others leave it to rank 0, and end with it."""
    whole = trained(masked(corpus), 2, 2)
    module, batch = masked(corpus)
    both = Spied(Spied(batch, tmp_path / "trace", 3, "SIGTERM"), tmp_path / "trace", 4, "SIGTERM")
    with pytest.raises(Interrupted, match=r"SIGTERM after step 3 of 5$"):
        trained((module, both), 2, 2, tmp_path / "saved")
    assert both.left_over() == []
    (saved,) = (tmp_path / "saved").glob("*.safetensors")
    assert saved.name.startswith("00000003-")
    assert is_equal(trained(masked(corpus), 2, 2, tmp_path / "saved"), whole)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "message", "code"),
    [("SIGKILL", "AB-180 rank 1: was killed by signal 9\n  run again", TEMPORARY), ("raise", "ended with 1", INTERNAL)],
)
def test_a_rank_that_fails(corpus: TokenizedCorpus, tmp_path: Path, event: str, message: str, code: int) -> None:
    module, batch = masked(corpus)
    spied = Spied(batch, tmp_path / "trace", 5, event)  # micro-batch 5 is read by rank 1
    with pytest.raises(RankLost, match=message) as caught:
        trained((module, spied), 2, 2)
    assert caught.value.exit_code == code
    with pytest.raises(RankLost, match="AB-180 rank 1: ended with 3"), ranks.started(2, fail):
        pytest.fail("it is not there")
    trained(masked(corpus), 2, 2)  # no state of the failed runs remains


@pytest.mark.slow
def test_a_rank_that_fails_while_rank_0_waits_in_a_blocking_call(corpus: TokenizedCorpus, tmp_path: Path) -> None:
    """As NCCL does; here it sleeps."""
    body = """
ranks.GRACE_SECONDS = 1.0
module, batch = test_ranks.masked(corpus)
spied = test_ranks.Spied(batch, here / "trace", at=5, event="SIGKILL")
loop.fit(module, spied, test_ranks.plan(2), tiny.no_record(), {2: lambda step: time.sleep(600)})
"""
    with script(tmp_path, corpus, body) as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == TEMPORARY, errors
    assert "AB-180 rank 1: was killed by signal 9" in errors


@pytest.mark.slow
def test_all_ranks_skip_the_same_steps_and_a_run_that_diverges_ends(corpus: TokenizedCorpus, tmp_path: Path) -> None:
    def made(*at: int) -> tuple[Any, Batches]:
        module, batch = masked(corpus)
        return Spoilt(module, no_number, batch, at), batch

    one, two = (trained(made(3), devices, 2) for devices in (1, 2))
    assert one[1].counts["skipped_steps"] == two[1].counts["skipped_steps"] == 1
    assert torch.isfinite(two[0]).all()
    assert torch.equal(one[0], two[0])
    with pytest.raises(Diverged, match=r"AB-158 step 5: .* 3 steps in a row"):
        trained(made(5, 7, 9), 2, 2, tmp_path)
    assert [step["step"] for step in read_json(tmp_path / "diverged.json")["steps"]] == [3, 4, 5]


# Two machines of a Ray cluster, simulated on one


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_rank_on_another_machine_trains_the_same_bits(corpus: TokenizedCorpus, tmp_path: Path) -> None:
    """The head has no core to lend, so rank 1 is on the second machine."""
    expected = [trained(made, 2, 2) for made in (masked(corpus), short_runs.made())]
    with cluster_of(0, 1):
        module, batch = masked(corpus)
        spied = Spied(batch, tmp_path / "trace")
        far = [trained(made, 2, 2) for made in ((module, spied), short_runs.made())]
        stopped = Spied(masked(corpus)[1], tmp_path / "stopped", 4, "raise")  # micro-batch 4 is read by rank 0
        with pytest.raises(LookupError):
            trained((masked(corpus)[0], stopped), 2, 2)
        assert stopped.left_over() == []
        with pytest.raises(BadParams, match=r"AB-171 ADAPTBERT_DEVICES: 4 devices need 3 CPUs .* the cluster has 1\n"):
            trained(masked(corpus), 4, 4)
    assert all(map(is_equal, far, expected)), "of pre-training and of fine-tuning"
    assert len(spied.shares()) == 2


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("save_every_step")
def test_a_machine_that_is_lost_costs_only_time(corpus: TokenizedCorpus, tmp_path: Path) -> None:
    """It ends after the third step; with another machine, training goes on from there, to the same bits."""
    whole = trained(masked(corpus), 2, 2)
    with cluster_of(0, 1) as machines:
        module, batch = masked(corpus)
        spied = Spied(batch, tmp_path / "trace")

        def lose_a_machine(step: int) -> Mapping[str, float]:
            machines.remove_node(next(iter(machines.worker_nodes)), allow_graceful=False)
            wait_until(lambda: not spied.left_over(), 60)
            return {}

        with on(2), pytest.raises(RankLost, match="AB-180 rank 1: was lost with its machine: ") as caught:
            fit(module, spied, plan(2), tiny.no_record(), {3: lose_a_machine}, Savepoints(tmp_path / "saved"))
        assert caught.value.exit_code == TEMPORARY
        machines.add_node(num_cpus=1)
        again = Spied(masked(corpus)[1], tmp_path / "second")
        second = trained((masked(corpus)[0], again), 2, 2, tmp_path / "saved")
    assert torch.equal(second[0], whole[0])
    assert min(min(numbers) for numbers in again.shares().values()) >= 2 * 2, "steps that were saved are not repeated"


def test_a_stage_folder_that_another_machine_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="must be on a file system of all machines"):
        run_rank(str(tmp_path / "nowhere"), "adaptbert.training.loop:follow", 1, 2, "tcp://127.0.0.1:1")
