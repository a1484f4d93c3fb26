"""Savepoints written beside training, as on a device: of their own step, one at a time, and errors are raised."""

import errno
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from adaptbert.mlm.masked_lm import MaskedBatch
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import monitor
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints, State
from tests.support import tiny
from tests.support.short_runs import flat_weights
from tests.training.test_loop import STEPS, batches, module, plan

SECONDS = 20.0
pytestmark = pytest.mark.usefixtures("save_every_step")


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "_runs_ahead", lambda _: True)


class Slow(Savepoints):
    """The first savepoint is written when the weights have changed again."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.changed = threading.Event()
        self.waited: list[bool] = []
        self.first: State | None = None

    def save(self, state: State) -> None:
        if not self.waited:
            self.waited.append(self.changed.wait(SECONDS))
        super().save(state)
        self.first = self.first or self.latest()


def test_training_goes_on_while_a_savepoint_is_written(corpus: TokenizedCorpus, tmp_path: Path) -> None:
    """And it holds weights and values of its own step."""
    savepoints, made, after = Slow(tmp_path), module(), list[torch.Tensor]()

    def measure(step: int) -> Mapping[str, float]:
        after.append(flat_weights(made))
        if step == 2:
            savepoints.changed.set()
        return {}

    fit(made, batches(corpus), plan(), tiny.no_record(), {1: measure, 2: measure}, savepoints)
    assert savepoints.waited == [True]
    first = savepoints.first
    assert first is not None
    assert first.step == len(first.values["curve"]) == 1
    saved = torch.cat([first.tensors[f"weights/{name}"].flatten() for name, _ in made.named_parameters()])
    assert torch.equal(saved, after[0])
    assert not torch.equal(saved, after[1])
    assert list(tmp_path.glob(".*")) == []


def test_one_at_a_time(corpus: TokenizedCorpus, tmp_path: Path) -> None:
    points: list[str] = []
    fit(module(), batches(corpus), plan(), tiny.no_record(), savepoints=Savepoints(tmp_path, points.append))
    whole = ["begin", "half", "written", "synced", "renamed"]
    assert [point for point in points if point != "pruned"] == whole * STEPS


@pytest.mark.parametrize(("steps", "full_from"), [(STEPS, 2), (1, 0)])
def test_a_full_disk_ends_the_run_with_the_error_of_the_system(
    corpus: TokenizedCorpus, tmp_path: Path, steps: int, full_from: int
) -> None:
    """Of the last savepoint as of those before."""
    begun: list[int] = []
    source = batches(corpus)

    def batch(k: int) -> MaskedBatch:
        begun.append(k)
        return source(k)

    def full(point: str) -> None:
        if point == "half" and begun[-1] >= full_from:
            raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path))

    with pytest.raises(OSError, match="No space left") as caught:
        fit(module(steps=steps), batch, plan(steps=steps), tiny.no_record(), savepoints=Savepoints(tmp_path, full))
    assert caught.value.errno == errno.ENOSPC
    assert len(begun) <= 5, "at the next savepoint at the latest"
    assert list(tmp_path.glob(".*")) == []
    assert (Savepoints(tmp_path).latest() is None) is (full_from == 0), "those before are there"


def test_what_is_not_a_number_is_found_in_any_type() -> None:
    tensors = [torch.ones(3), torch.arange(4), torch.empty(0), torch.tensor([1.0, -torch.inf]).bfloat16()]
    largest = monitor._largest([*tensors, torch.tensor([[-3e38], [2.0]]), torch.tensor(float("nan"))])
    assert torch.isfinite(largest).tolist() == [True, True, True, False, True, False]
    assert largest[4] == torch.tensor(3e38)
