"""A run that was stopped anywhere and goes on ends in the bits of the run that was not."""

import os
import signal
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

from adaptbert.mlm.masked_lm import MaskedBatch
from adaptbert.model.device import BF16, FLOAT32
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.signals import Interrupted
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import loop, monitor
from adaptbert.training.arguments import Fitted, TrainingArguments
from adaptbert.training.micro_batches import made
from adaptbert.training.resume import Work
from adaptbert.training.savepoints import Savepoints
from tests.support import tiny_params
from tests.support.processors import FAST, ON_CPU, SLOW, processor
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
    folder: Path | None = None,
    *,
    steps: int = STEPS,
    points: Iterable[int] = (2, 4, STEPS),
    run: Run | None = None,
    accumulate: int = 1,
    precision: str = FLOAT32,
    phases: bool = False,
    seed: int = 0,
    kill_at: int | None = None,
    signal_at: int | None = None,
    signal_while_measuring: int | None = None,
) -> Attempt:
    module, source = masked_lm(steps, 0.3), masked_batches(corpus, 150)
    if phases:
        module = masked_lm(steps, 0.3, schedule="wsd", decay_fraction=0.6)
        source = replace(source, causal_ends=2, decay_begins=3, decay_masker=tiny_params.masker(probability=0.05))
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

    plan = TrainingArguments(steps, accumulate, 1.0, precision, seed, "train/mlm_loss")
    savepoints, fitted = Savepoints(folder) if folder else None, None
    with suppress(Stop, Interrupted), mock.patch("adaptbert.runtime.signals._received", []):
        fitted = loop.fit(module, batch, plan, run or Run(), dict.fromkeys(points, measure), savepoints)
    return Attempt(flat_weights(module), fitted, begun)


@pytest.mark.parametrize(
    ("accumulate", "precision", "ahead", "phases"),
    [(1, FLOAT32, False, False), (2, BF16, False, False), (1, FLOAT32, True, False), (1, FLOAT32, False, True)],
)
def test_every_cut(
    corpus: TokenizedCorpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    accumulate: int,
    precision: str,
    ahead: bool,
    phases: bool,
) -> None:
    """With savepoints that are written beside training, as on a device, too: what was in flight was finished. The first
    cut is before the first step: the same seed gives the same bits, with dropout and whatever was drawn before."""
    monkeypatch.setattr(monitor, "_runs_ahead", lambda _: ahead)
    how: dict[str, Any] = {"accumulate": accumulate, "precision": precision, "phases": phases}
    whole = attempt(corpus, **how)
    assert whole.fitted is not None
    assert not torch.equal(attempt(corpus, seed=1, **how).weights, whole.weights), "another dropout"
    for cut in range(STEPS * accumulate):
        first = attempt(corpus, tmp_path / str(cut), kill_at=cut, **how)
        second = attempt(corpus, tmp_path / str(cut), **how)
        assert first.fitted is None
        assert torch.equal(second.weights, whole.weights), cut
        assert second.fitted == whole.fitted, cut
        done = cut // accumulate * accumulate
        assert second.begun == list(range(done, STEPS * accumulate)), "each micro-batch is trained on once"
    third = attempt(corpus, tmp_path / "1", **how)
    assert third.begun == [], "what is over is not trained again"
    assert torch.equal(third.weights, whole.weights)
    assert third.fitted == whole.fitted


def test_a_signal_ends_the_step_saves_and_the_next_process_goes_on(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAPTBERT_SAVE_SECONDS", "3600")
    whole = attempt(corpus, accumulate=3)
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    stopped = attempt(corpus, tmp_path, accumulate=3, signal_at=7)
    assert stopped.fitted is None
    assert [signal.getsignal(number) for number in numbers] == handlers
    (saved,) = tmp_path.glob("*.safetensors")
    assert saved.name.startswith("00000003-"), "the step in which it came was finished"
    second = attempt(corpus, tmp_path, accumulate=3)
    assert torch.equal(second.weights, whole.weights)
    assert second.fitted == whole.fitted


@pytest.mark.parametrize("at", [4, STEPS])
def test_a_signal_ends_what_is_measured_and_its_step_is_trained_again(
    corpus: TokenizedCorpus, tmp_path: Path, at: int
) -> None:
    """To measure may take minutes."""
    whole = attempt(corpus)
    assert attempt(corpus, tmp_path, signal_while_measuring=at).fitted is None
    second = attempt(corpus, tmp_path)
    assert second.begun == list(range(at - 1, STEPS))
    assert torch.equal(second.weights, whole.weights)
    assert second.fitted == whole.fitted


RESTORE = loop._restore_optimizer


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        pytest.param("OptimizerStep.seed", lambda *_: None, id="no seeds"),
        pytest.param("_restore_optimizer", lambda *of, means: RESTORE(*of[:2], 0, means=means), id="no schedule"),
        pytest.param("_restore_optimizer", lambda *of, means: RESTORE(*of, means={}), id="no means"),
        pytest.param(
            "made",
            lambda batch, numbers: made(batch, [1 + number for number in numbers]),
            id="one micro-batch too far",
        ),
    ],
)
def test_the_comparison_sees_each_way_to_resume_wrongly(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, wrong: Callable[..., None]
) -> None:
    """Were one of these not seen, the tests above would prove nothing."""
    whole = attempt(corpus)
    attempt(corpus, tmp_path, kill_at=2)
    monkeypatch.setattr(f"adaptbert.training.loop.{place}", wrong)
    second = attempt(corpus, tmp_path)
    assert second.fitted is not None
    assert not torch.equal(second.weights, whole.weights)


# ---- which run is gone on with


def begun(folder: Path, precision: str = FLOAT32, code: str = "1f", **values: Any) -> tuple[Path, str]:
    """The folder of the run, and its precision."""
    work = Work(folder, code)
    name = work.begin("pretrain.precision", precision, lambda name: {"seed": 1, **values, "precision": name})
    return work.run, name


def test_an_edit_of_its_code_begins_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The digest of the code is that of tests/pipeline/test_code_digest.py."""
    first = begun(tmp_path, of={"b": 1})
    other = begun(tmp_path, code="2e", seed=2, of={"a": 1})
    assert capsys.readouterr().out == "  an unfinished run is left alone: it had other code, of.a, of.b, seed\n"
    assert begun(tmp_path, of={"b": 1}) == first != other, "both runs remain"
    assert begun(tmp_path, code="2e", of={"b": 1})[0] not in (first[0], other[0])


WARNING = (
    "  warning: params.yaml: pretrain.precision is bf16-mixed, float32 3.3 times as fast as bf16 here; write auto, or"
    " 32-true\n"
)


@ON_CPU
@pytest.mark.parametrize(
    ("gain", "value", "name", "line"),
    [
        (FAST, "auto", BF16, "precision auto: bf16-mixed (bf16 2.0 times as fast as float32 here)\n"),
        (SLOW, "auto", FLOAT32, "precision auto: 32-true (float32 3.3 times as fast as bf16 here)\n"),
        (FAST, BF16, BF16, ""),
        (FAST, FLOAT32, FLOAT32, ""),
        (SLOW, FLOAT32, FLOAT32, ""),
        (SLOW, BF16, BF16, WARNING),
    ],
)
def test_the_precision_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, gain: float, value: str, name: str, line: str
) -> None:
    processor(monkeypatch, gain)
    assert begun(tmp_path, value)[1] == name
    assert capsys.readouterr().out == line


@ON_CPU
@pytest.mark.parametrize(("began", "now"), [(FAST, SLOW), (SLOW, FAST)])
def test_an_unfinished_run_keeps_its_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], began: float, now: float
) -> None:
    """Hours of training are not thrown away because a measurement turns out otherwise."""
    processor(monkeypatch, began)
    run, name = begun(tmp_path, "auto")
    capsys.readouterr()
    processor(monkeypatch, now)
    assert begun(tmp_path, "auto") == (run, name)
    assert capsys.readouterr().out == f"precision auto: {name}, in which this run was begun\n"
