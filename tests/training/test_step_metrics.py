"""Numbers that are read an interval later: the same numbers of the same steps, and the same metrics of a run."""

import os
import signal
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from adaptbert.mlm.masked_lm import MaskedBatch
from adaptbert.runtime.signals import Interrupted
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import monitor
from adaptbert.training.arguments import Fitted
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from adaptbert.training.step_metrics import Readings
from tests.training.test_loop import LoggedRun, batches, module, plan

STEPS = 47


def test_later_changes_do_not_reach_what_was_copied() -> None:
    readings, losses, counts = Readings(), torch.tensor([2.0]), {"tokens": 1}
    readings.add(1, counts, torch.tensor(1.0), losses)
    counts["tokens"] = 9
    readings.end_interval()
    losses.fill_(9.0)
    assert [(reading.losses, reading.counts) for reading in readings.all()] == [([2.0], {"tokens": 1})]


Metrics = list[tuple[str, float, int]]


def in_order(metrics: Iterable[tuple[str, float, int]]) -> Metrics:
    return sorted(metrics, key=lambda metric: (metric[2], metric))


def trained(corpus: TokenizedCorpus, folder: Path, signal_at: int | None = None) -> tuple[Metrics, Fitted | None]:
    """The metrics of a run that do not tell of time, and its result."""
    run, source = LoggedRun(), batches(corpus)

    def batch(k: int) -> MaskedBatch:
        if k == signal_at:
            os.kill(os.getpid(), signal.SIGTERM)
        return source(k)

    def measure(step: int) -> Mapping[str, float]:
        return {"domain/loss": float(step)}

    fitted = None
    points = dict.fromkeys((7, 33), measure)
    with suppress(Interrupted):
        fitted = fit(module(steps=STEPS), batch, plan(steps=STEPS), run, points, Savepoints(folder))
    timeless = {"train/mlm_loss", "train/learning_rate", "domain/loss"}
    return in_order(metric for metric in run.metrics if metric[0] in timeless), fitted


def late(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """As on a device; how many steps had been read when an interval ended."""
    read: list[int] = []
    end_interval = Readings.end_interval

    def spied(self: Readings) -> Any:
        readings = end_interval(self)
        read.append(len(readings))
        return readings

    monkeypatch.setattr(monitor, "_runs_ahead", lambda _: True)
    monkeypatch.setattr(Readings, "end_interval", spied)
    monkeypatch.setattr("adaptbert.runtime.progress.LINE_SECONDS", 3600.0)
    return read


def test_the_metrics_are_those_of_a_processor(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = trained(corpus, tmp_path / "now")
    assert [step for name, _, step in expected[0] if name == "train/mlm_loss"] == [10, 20, 30, 40, STEPS]
    read = late(monkeypatch)
    assert trained(corpus, tmp_path / "late") == expected
    assert read == [0, 3, 10, 0], "at 10 nothing, at 20 steps 8 to 10, at 30 the next ten; 33 was measured"


@pytest.mark.parametrize("at", [8, 15, 24, 45])
def test_the_metrics_of_an_interrupted_run_too(
    corpus: TokenizedCorpus, tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptbert.runtime.signals._received", [])
    expected, fitted = trained(corpus, tmp_path / "now")
    late(monkeypatch)
    first, _ = trained(corpus, tmp_path / "late", signal_at=at)
    assert first == [metric for metric in expected if metric[2] <= at + 1], "all of its steps, and nothing else"
    monkeypatch.setattr("adaptbert.runtime.signals._received", [])
    assert in_order([*first, *trained(corpus, tmp_path / "late")[0]]) == expected
    assert trained(corpus, tmp_path / "late")[1] == fitted
