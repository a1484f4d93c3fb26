"""Replayed optimizer steps on a pretended device: the bits of eager ones, however a run is cut.

A replay runs the recorded function again (tests.support.pretended_device), so what is proven here is all but the
recording itself: held inputs, rates and counts on the device, seeds, gradients that stay, the comparison with an eager
step. What a CUDA device does, tests/training/test_cuda.py asks there.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from adaptbert.model.device import BF16, FLOAT32
from adaptbert.runtime.variables import GRAPHS
from adaptbert.training import graphs
from adaptbert.training.arguments import Fitted, TrainingArguments
from adaptbert.training.graphs import ReplayedStep
from adaptbert.training.loop import fit
from adaptbert.training.micro_batches import MicroBatch
from adaptbert.training.ranks import Ranks
from adaptbert.training.savepoints import Savepoints
from tests.support import short_runs, tiny, tiny_params
from tests.support.pretended_device import Recorded, with_graphs
from tests.support.short_runs import Stop, flat_weights, masked_lm, until
from tests.training.test_padding import Trace, masked, static

STEPS = 14
CUTS = (1, 5, 12)
Made = tuple[Any, Any]


class Counted(Recorded):
    """Counts recordings and replays."""

    recorded = replayed = 0

    def __init__(self, function: Callable[[], Tensor], pool: Any) -> None:
        super().__init__(function, pool)
        Counted.recorded += 1

    def replay(self) -> Tensor:
        Counted.replayed += 1
        return super().replay()


@pytest.fixture(autouse=True)
def _nothing_counted() -> None:
    Counted.recorded = Counted.replayed = 0


def masked_run(folder: Path) -> Made:
    return masked_lm(STEPS, 0.3), static(masked(folder))


def run_in_phases(folder: Path) -> Made:
    """The head alone, causal steps, then masks with another probability at the end."""
    batches = replace(masked(folder), head_count=4, causal_ends=10, decay_begins=20)
    batches = replace(batches, decay_masker=tiny_params.masker(probability=0.4))
    return masked_lm(STEPS, 0.3, schedule="wsd", decay_fraction=0.3), static(batches)


def labelled_run(folder: Path) -> Made:
    module, batches = short_runs.made("sequence_labelling", "spans", layer_decay=0.8)
    return module, static(batches)


RUNS: dict[str, Callable[[Path], Made]] = {
    "masked LM": masked_run,
    "in phases": run_in_phases,
    "fine-tuning": labelled_run,
}


def trained(
    made: Made, folder: Path | None = None, precision: str = FLOAT32, stop_at: int | None = None
) -> tuple[Tensor, Fitted]:
    module, batches = made
    plan = TrainingArguments(STEPS, 2, 0.5, precision, 0, "train/loss")
    points = dict.fromkeys((6, STEPS), lambda _: {"sum": float(flat_weights(module).double().sum())})
    savepoints = None if folder is None else Savepoints(folder)
    fitted = fit(module, until(batches, stop_at), plan, tiny.no_record(), points, savepoints)
    return flat_weights(module), fitted


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize("precision", [FLOAT32, BF16])
@pytest.mark.parametrize("name", RUNS)
def test_replayed_steps_have_the_bits_of_eager_ones(
    name: str, precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where a run was cut anywhere, and steps that were replayed are now eager."""
    make = RUNS[name]
    with_graphs(monkeypatch, Unrecordable)
    eager = trained(make(tmp_path / "eager"), precision=precision)
    assert GRAPHS in capsys.readouterr().out
    with_graphs(monkeypatch, Counted)
    replayed = trained(make(tmp_path / "replayed"), precision=precision)
    assert torch.equal(replayed[0], eager[0])
    assert replayed[1] == eager[1]
    assert Counted.recorded >= 2
    assert Counted.replayed > (30 if name == "masked LM" else 10)
    for cut in CUTS:
        folder = tmp_path / f"{cut}"
        with pytest.raises(Stop):
            trained(make(folder / "text"), folder / "saved", precision, 2 * cut)
        resumed = trained(make(folder / "text"), folder / "saved", precision)
        assert torch.equal(resumed[0], eager[0]), cut
        assert resumed[1] == eager[1], cut
    assert GRAPHS not in capsys.readouterr().out


class Unseeded(Counted):
    """Draws other numbers than an eager step."""

    def replay(self) -> Tensor:
        torch.manual_seed(Counted.replayed)
        return super().replay()


class Stale(Counted):
    """Does nothing."""

    def replay(self) -> Tensor:
        return torch.zeros(())


class Unrecordable(Recorded):
    def __init__(self, function: Callable[[], Tensor], pool: Any) -> None:
        raise RuntimeError("operation not permitted when stream is capturing\nmore of it")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Unseeded, "a replayed step has other bits than an eager one here"),
        (Stale, "a replayed step has other bits than an eager one here"),
        (Unrecordable, "a step cannot be recorded here (operation not permitted when stream is capturing)"),
    ],
)
def test_training_stays_eager_where_a_replay_is_not_the_same(
    kind: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_graphs(monkeypatch, Unrecordable)
    eager = trained(masked_run(tmp_path / "eager"))
    capsys.readouterr()
    with_graphs(monkeypatch, kind)
    assert torch.equal(trained(masked_run(tmp_path / "other"))[0], eager[0])
    assert capsys.readouterr().out.count(f"  ADAPTBERT_GRAPHS: {message}: training stays eager\n") == 1


def test_a_step_that_is_not_finite_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No branch is recorded: the optimizer skips it by a number on the device."""
    with_graphs(monkeypatch, Counted)
    mean_count = MicroBatch._mean_count
    spoilt = lambda batch, name: math.nan if (batch.step_counts or batch.counts)["spoilt"] else mean_count(batch, name)  # noqa: E731
    monkeypatch.setattr(MicroBatch, "_mean_count", spoilt)
    module, batches = masked_run(tmp_path)

    def batch(k: int) -> MicroBatch:
        return replace(batches(k), counts={**batches(k).counts, "spoilt": k == 21})

    fitted = fit(module, batch, TrainingArguments(STEPS, 2, 1.0, FLOAT32, 0, "train/loss"), tiny.no_record())
    assert fitted.counts["skipped_steps"] == 1
    assert Counted.replayed > STEPS
    assert torch.isfinite(flat_weights(module)).all()


@pytest.mark.parametrize("on_device", [True, False])
def test_the_rate_is_read_from_the_device(on_device: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All operations of a step have the same arguments at any rate and for any documents, so they can be recorded."""
    with_graphs(monkeypatch)
    module, batches = masked_run(tmp_path)
    configured = module.configure_optimizers()
    optimizer, schedule = configured["optimizer"], configured["lr_scheduler"]["scheduler"]
    step = ReplayedStep(module, TrainingArguments(STEPS, 1, 1e-6, FLOAT32, 0, "train/loss"), Ranks(), optimizer)
    traces, rates = set(), set()
    for k in range(5):
        step.add_gradients(batches(k).of_step(batches(k).counts, 1), 1)
        if not on_device:
            optimizer.param_groups[0]["lr"] = float(optimizer.param_groups[0]["lr"])
        with Trace() as trace:
            step.update()
        schedule.step()
        rates.add(float(optimizer.param_groups[0]["lr"]))
        traces.add("\n".join(trace.operations))
        traces = traces if k else set()  # the first step makes the means
    assert len(rates) == 5
    assert (len(traces) == 1) is on_device


@pytest.mark.parametrize(
    ("value", "kind", "used"), [("true", "cuda", True), ("false", "cuda", False), ("true", "cpu", False)]
)
def test_when_they_are_used(value: str, kind: str, used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(GRAPHS, value)
    monkeypatch.setattr(graphs, "fastest_device", lambda: torch.device(kind))
    assert graphs.are_used() is used
