"""As on a device, where numbers are read an interval later and savepoints are written beside training."""

import errno
import json
import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from adaptbert.mlm.masked_lm import MaskedBatch
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import monitor
from adaptbert.training.arguments import Fitted
from adaptbert.training.loop import fit
from adaptbert.training.monitor import Best, Numbers, Step
from adaptbert.training.savepoints import Savepoints, State
from tests.support import tiny
from tests.support.short_runs import LoggedRun, flat_weights
from tests.training.test_loop import STEPS, batches, module, plan
from tests.training.test_resume import attempt

SECONDS = 20.0
LONG = 47
Metrics = list[tuple[str, float, int]]


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "_runs_ahead", lambda _: True)


def test_a_score_that_is_no_number_is_never_best() -> None:
    best = Best()
    seen = [best.observe(step, value) for step, value in enumerate([math.nan, 0.1, math.nan, 0.1], 1)]
    assert seen == [True, True, False, False]
    assert (best.step, best.worse) == (2, 2)
    for each in (best, Best()):
        assert Best(**json.loads(json.dumps(asdict(each)))) == each


def test_later_changes_do_not_reach_what_was_copied() -> None:
    numbers, losses = Numbers(), torch.tensor([2.0])
    step = Step(1, {"tokens": 1}, None)
    numbers.add(step, torch.tensor(1.0), losses)
    assert numbers.end_interval() == []
    losses.fill_(9.0)
    assert numbers.all() == [(step, 1.0, [2.0])]


def in_order(metrics: Iterable[tuple[str, float, int]]) -> Metrics:
    return sorted(metrics, key=lambda metric: (metric[2], metric))


def trained(corpus: TokenizedCorpus, folder: Path, signal_at: int | None = None) -> tuple[Metrics, Fitted | None]:
    """The metrics of a run that do not tell of time, and its result."""
    run = LoggedRun()
    fitted = attempt(corpus, folder, steps=LONG, points=(7, 33), run=run, signal_at=signal_at).fitted
    timeless = {"train/mlm_loss", "train/learning_rate", "domain/loss"}
    return in_order(metric for metric in run.metrics if metric[0] in timeless), fitted


@pytest.fixture(scope="module")
def of_a_processor(corpus: TokenizedCorpus, tmp_path_factory: pytest.TempPathFactory) -> tuple[Metrics, Fitted | None]:
    return trained(corpus, tmp_path_factory.mktemp("now"))


@pytest.mark.usefixtures("ahead")
@pytest.mark.parametrize("at", [None, 8, 24, 45])
def test_the_metrics_are_those_of_a_processor(
    corpus: TokenizedCorpus,
    of_a_processor: tuple[Metrics, Fitted | None],
    tmp_path: Path,
    at: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Metrics of an interrupted run, too: all of its steps, no others. When it reads, test_accelerator.py says."""
    expected, fitted = of_a_processor
    assert [step for name, _, step in expected if name == "train/mlm_loss"] == [10, 20, 30, 40, LONG]
    monkeypatch.setattr("adaptbert.runtime.progress.LINE_SECONDS", 3600.0)
    first = trained(corpus, tmp_path, at)
    if at is None:
        assert first == (expected, fitted)
        return
    assert first[0] == [metric for metric in expected if metric[2] <= at + 1]
    rest, again = trained(corpus, tmp_path)
    assert (in_order([*first[0], *rest]), again) == (expected, fitted)


class Slow(Savepoints):
    """The first savepoint is written when the weights have changed again."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.changed = threading.Event()
        self.waited: list[bool] = []
        self.first: State | None = None
        self.points: list[str] = []

    def save(self, state: State) -> None:
        self.points.append("begin")
        if not self.waited:
            self.waited.append(self.changed.wait(SECONDS))
        super().save(state)
        self.first = self.first or self.latest()
        self.points.append("end")


@pytest.mark.usefixtures("save_every_step", "ahead")
def test_training_goes_on_while_a_savepoint_is_written(corpus: TokenizedCorpus, tmp_path: Path) -> None:
    """It holds weights and values of its own step; one is written at a time."""
    savepoints, made, after = Slow(tmp_path), module(), list[torch.Tensor]()

    def measure(step: int) -> Mapping[str, float]:
        after.append(flat_weights(made))
        if step == 2:
            savepoints.changed.set()
        return {}

    fit(made, batches(corpus), plan(), tiny.no_record(), {1: measure, 2: measure}, savepoints)
    assert savepoints.waited == [True]
    assert savepoints.points == ["begin", "end"] * STEPS
    first = savepoints.first
    assert first is not None
    assert first.step == len(first.values["curve"]) == 1
    saved = torch.cat([first.tensors[f"weights/{name}"].flatten() for name, _ in made.named_parameters()])
    assert torch.equal(saved, after[0])
    assert not torch.equal(saved, after[1])
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.usefixtures("save_every_step", "ahead")
@pytest.mark.parametrize(("steps", "full_from"), [(STEPS, 2), (1, 0)])
def test_a_full_disk_ends_the_run_with_the_error_of_the_system(
    corpus: TokenizedCorpus, tmp_path: Path, steps: int, full_from: int
) -> None:
    """The error of the last savepoint is that of those before."""
    begun: list[int] = []
    source = batches(corpus)

    def batch(k: int) -> MaskedBatch:
        begun.append(k)
        return source(k)

    class Full(Savepoints):
        def save(self, state: State) -> None:
            if begun[-1] >= full_from:
                raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path))
            super().save(state)

    with pytest.raises(OSError, match="No space left"):
        fit(module(steps=steps), batch, plan(steps=steps), tiny.no_record(), savepoints=Full(tmp_path))
    assert len(begun) <= 5, "at the next savepoint at the latest"
    assert (Savepoints(tmp_path).latest() is None) is (full_from == 0), "those before are there"


def test_what_is_not_a_number_is_found_in_any_type() -> None:
    tensors = [torch.ones(3), torch.arange(4), torch.empty(0), torch.tensor([1.0, -torch.inf]).bfloat16()]
    largest = monitor._largest([*tensors, torch.tensor([[-3e38], [2.0]]), torch.tensor(float("nan"))])
    assert torch.isfinite(largest).tolist() == [True, True, True, False, True, False]
    assert largest[4] == torch.tensor(3e38)
