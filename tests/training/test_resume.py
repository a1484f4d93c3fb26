"""A run that was stopped anywhere and goes on ends in the bits of the run that was not."""

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from adaptbert.mlm.masked_lm import MaskedBatch
from adaptbert.runtime.signals import Interrupted
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import loop as training
from adaptbert.training import monitor
from adaptbert.training.arguments import Fitted, TrainingArguments
from adaptbert.training.loop import fit
from adaptbert.training.resume import Work
from adaptbert.training.savepoints import Savepoints
from tests.support import tiny
from tests.support.short_runs import Stop, flat_weights, masked_batches, masked_lm

STEPS = 5
pytestmark = pytest.mark.usefixtures("save_every_step")


@dataclass
class Attempt:
    """One process's part of a run; `begun` are the micro-batches that it read."""

    weights: torch.Tensor
    fitted: Fitted | None
    begun: list[int]


def attempt(
    corpus: TokenizedCorpus,
    savepoints: Savepoints | None,
    accumulate: int = 1,
    precision: str = "32-true",
    kill_at: int | None = None,
    signal_at: int | None = None,
    signal_while_measuring: int | None = None,
) -> Attempt:
    module, source = masked_lm(STEPS, 0.3), masked_batches(corpus, 150)
    begun: list[int] = []
    torch.manual_seed(int.from_bytes(os.urandom(4)))  # whatever was drawn before

    def batch(k: int) -> MaskedBatch:
        if k == kill_at:
            raise Stop
        if k == signal_at:
            os.kill(os.getpid(), signal.SIGTERM)
        begun.append(k)
        return source(k)

    def measure(step: int) -> Mapping[str, float]:
        torch.rand(step)
        if step == signal_while_measuring:
            os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("it went on")
        return {"domain/loss": float(next(module.parameters()).detach().double().sum())}

    plan = TrainingArguments(STEPS, accumulate, 1.0, precision, 0, "train/mlm_loss")
    fitted = None
    with suppress(Stop, Interrupted):
        fitted = fit(module, batch, plan, tiny.no_record(), dict.fromkeys((2, 4, STEPS), measure), savepoints)
    return Attempt(flat_weights(module), fitted, begun)


@pytest.mark.parametrize(
    ("accumulate", "precision", "ahead"), [(1, "32-true", False), (2, "bf16-mixed", False), (1, "32-true", True)]
)
def test_every_cut(
    corpus: TokenizedCorpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    accumulate: int,
    precision: str,
    ahead: bool,
) -> None:
    """With savepoints that are written beside training, as on a device, too: what was in flight was finished."""
    monkeypatch.setattr(monitor, "_runs_ahead", lambda _: ahead)
    how: dict[str, Any] = {"accumulate": accumulate, "precision": precision}
    whole = attempt(corpus, None, **how)
    assert whole.fitted is not None
    for cut in range(STEPS * accumulate):
        savepoints = Savepoints(tmp_path / str(cut))
        first = attempt(corpus, savepoints, kill_at=cut, **how)
        second = attempt(corpus, savepoints, **how)
        assert first.fitted is None
        assert torch.equal(second.weights, whole.weights), cut
        assert second.fitted == whole.fitted, cut
        done = cut // accumulate * accumulate
        assert second.begun == list(range(done, STEPS * accumulate)), "each micro-batch is trained on once"


def test_a_run_of_many_short_lives(corpus: TokenizedCorpus, tmp_path: Path) -> None:
    whole = attempt(corpus, None)
    lives = [attempt(corpus, Savepoints(tmp_path), kill_at=cut) for cut in range(2, STEPS)]
    last = attempt(corpus, Savepoints(tmp_path))
    assert all(life.fitted is None for life in lives)
    assert torch.equal(last.weights, whole.weights)
    again = attempt(corpus, Savepoints(tmp_path))
    assert again.begun == [], "what is over is not trained again"
    assert torch.equal(again.weights, whole.weights)
    assert again.fitted == last.fitted == whole.fitted


def test_a_signal_ends_the_step_saves_and_the_next_process_goes_on(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAPTBERT_SAVE_SECONDS", "3600")
    monkeypatch.setattr("adaptbert.runtime.signals._received", [])
    whole = attempt(corpus, None, accumulate=3)
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    stopped = attempt(corpus, Savepoints(tmp_path), accumulate=3, signal_at=7)
    assert stopped.fitted is None
    assert [signal.getsignal(number) for number in numbers] == handlers
    (saved,) = tmp_path.glob("*.safetensors")
    assert saved.name.startswith("00000003-"), "the step in which it came was finished"
    monkeypatch.setattr("adaptbert.runtime.signals._received", [])
    second = attempt(corpus, Savepoints(tmp_path), accumulate=3)
    assert torch.equal(second.weights, whole.weights)
    assert second.fitted == whole.fitted


@pytest.mark.parametrize("at", [4, STEPS])
def test_a_signal_ends_what_is_measured_and_its_step_is_trained_again(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """To measure may take minutes."""
    monkeypatch.setattr("adaptbert.runtime.signals._received", [])
    whole = attempt(corpus, None)
    assert attempt(corpus, Savepoints(tmp_path), signal_while_measuring=at).fitted is None
    monkeypatch.setattr("adaptbert.runtime.signals._received", [])
    second = attempt(corpus, Savepoints(tmp_path))
    assert second.begun == list(range(at - 1, STEPS))
    assert torch.equal(second.weights, whole.weights)
    assert second.fitted == whole.fitted


def test_an_edit_of_its_code_begins_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The digest of the code is that of tests/pipeline/test_code_digest.py."""
    values = {"seed": 1, "data": ["a", "b"], "of": {"b": 1}}
    Work(tmp_path, "1f").begin(values)
    assert not Work(tmp_path, "2e").is_begun(values)
    Work(tmp_path, "2e").begin({**values, "seed": 2, "of": {"a": 1}})
    assert "it had other code, of.a, of.b, seed\n" in capsys.readouterr().out
    assert Work(tmp_path, "1f").is_begun(values), "both runs remain"


@pytest.mark.parametrize("sabotage", ["no seeds", "no schedule", "one micro-batch too far", "no optimizer"])
def test_the_comparison_sees_each_way_to_resume_wrongly(
    corpus: TokenizedCorpus, tmp_path: Path, sabotage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were one of these not seen, the tests above would prove nothing."""
    whole = attempt(corpus, None)
    attempt(corpus, Savepoints(tmp_path), kill_at=2)
    restore, init = training._restore_optimizer, training._Batches.__init__

    def forget_the_schedule(trainer: Any, step: int, means: Any) -> None:
        restore(trainer, step, means)
        trainer.lr_scheduler_configs[0].scheduler.last_epoch = 0

    def skip_one(self: Any, batch: Any, numbers: range) -> None:
        init(self, batch, range(numbers.start + 1, numbers.stop + 1))

    if sabotage == "no seeds":
        monkeypatch.setattr(training._Steps, "on_train_batch_start", lambda *_: None)
    elif sabotage == "no schedule":
        monkeypatch.setattr(training, "_restore_optimizer", forget_the_schedule)
    elif sabotage == "one micro-batch too far":
        monkeypatch.setattr(training._Batches, "__init__", skip_one)
    else:
        monkeypatch.setattr(training, "_restore_optimizer", lambda *_: None)
    second = attempt(corpus, Savepoints(tmp_path))
    assert not torch.equal(second.weights, whole.weights)
