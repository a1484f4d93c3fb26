"""`fit`: what it trains on, measures, logs and keeps; what is not finite is skipped. Resume: test_resume.py."""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from adaptbert.core.files import read_json
from adaptbert.errors import INTERNAL
from adaptbert.mlm.heldout_evaluation import HeldOut, sets_in
from adaptbert.mlm.masked_lm import MaskedBatch, MaskedBatches, MaskedLM
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import monitor
from adaptbert.training.arguments import Fitted, TrainingArguments
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from adaptbert.training.stability import Diverged
from tests.support import short_runs, tiny, tiny_params
from tests.support.short_runs import (
    LoggedRun,
    Spoilt,
    Stop,
    changed,
    flat_weights,
    masked_batches,
    masked_lm,
    no_number,
    until,
    weights,
)

STEPS = 6


def module(dropout: float = 0.3, steps: int = STEPS) -> MaskedLM:
    return masked_lm(steps, dropout)


def batches(corpus: TokenizedCorpus) -> MaskedBatches:
    return masked_batches(corpus, 200)


def plan(steps: int = STEPS, accumulate: int = 1) -> TrainingArguments:
    return TrainingArguments(steps, accumulate, 1.0, "32-true", 0, "train/mlm_loss")


def test_measuring_and_logging_do_not_change_the_weights(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare, measured = module(), module()
    fit(bare, batches(corpus), plan(), tiny.no_record())
    heldout = HeldOut(sets_in(tiny.heldout(tmp_path)), tiny_params.MEASURE, tiny.tokenizer(), 64)

    def measure(step: int) -> Mapping[str, float]:
        torch.rand(step)  # a measure that draws
        return {"loss": heldout.measure(measured.model, "32-true")["domain"]["mlm_loss"]}

    monkeypatch.setattr(monitor, "LOG_EVERY", 1)
    monkeypatch.setattr("adaptbert.runtime.progress.LINE_SECONDS", 0.0)
    fitted = fit(measured, batches(corpus), plan(), LoggedRun(), dict.fromkeys(range(1, STEPS + 1), measure))
    assert len(fitted.curve) == STEPS
    assert torch.equal(flat_weights(measured), flat_weights(bare))


def test_accumulated_micro_batches_are_one_batch() -> None:
    """Two micro-batches of equally many predictions give the step that one of twice the size gives."""
    ids, _, lengths = tiny.documents(8, 16, 5)
    chosen = torch.arange(3, 8 * 16, 8)

    def batch_of(first: int, last: int) -> MaskedBatch:
        from adaptbert.model.packing import pack

        span = slice(first * 16, last * 16)
        rows = pack(lengths[first:last], 16)
        expected = torch.from_numpy(ids[span])
        hidden = ids[span].copy()
        places = chosen[(chosen >= span.start) & (chosen < span.stop)] - span.start
        hidden[places.numpy()] = tiny.tokenizer().mask
        counts = {"tokens": len(hidden), "chosen": len(places)}
        return MaskedBatch(rows, torch.from_numpy(hidden), places, expected[places], counts=counts)

    one, two = module(dropout=0.0), module(dropout=0.0)
    fit(one, lambda k: batch_of(0, 8), plan(), tiny.no_record())
    fit(two, lambda k: batch_of(4 * (k % 2), 4 * (k % 2) + 4), plan(accumulate=2), tiny.no_record())
    torch.testing.assert_close(flat_weights(two), flat_weights(one), atol=1e-5, rtol=0)
    other = module(dropout=0.0)
    fit(other, lambda k: batch_of(0, 4), plan(accumulate=2), tiny.no_record())
    assert not torch.allclose(flat_weights(other), flat_weights(one), atol=1e-3)


def test_the_curve_and_the_tracking_run(corpus: TokenizedCorpus, capsys: pytest.CaptureFixture[str]) -> None:
    steps, run, source = 25, LoggedRun(), batches(corpus)
    measured: list[int] = []
    seen: list[int] = []

    def measure(step: int) -> Mapping[str, float]:
        measured.append(step)
        return {"domain/mlm_loss": float(step)}

    def batch(k: int) -> MaskedBatch:
        seen.append(k)
        return source(k)

    curve = fit(module(steps=steps), batch, plan(steps=steps), run, {10: measure, 25: measure}).curve
    assert seen == list(range(steps)), "each micro-batch once, in order"
    assert measured == [10, 25]
    assert [(point["step"], point["domain/mlm_loss"]) for point in curve] == [(10, 10.0), (25, 25.0)]
    assert curve[1]["tokens"] == sum(source(k).counts["tokens"] for k in range(steps))
    losses = {step: value for name, value, step in run.metrics if name == "train/mlm_loss"}
    assert list(losses) == [10, 20, 25]
    since = [losses[10], (10 * losses[20] + 5 * losses[25]) / 15]
    assert [point["train/mlm_loss"] for point in curve] == pytest.approx(since), "means since the point before"
    rates = {step: value for name, value, step in run.metrics if name == "train/learning_rate"}
    assert rates[25] < rates[20] < rates[10] <= tiny_params.optim().learning_rate
    assert "step     25/25  loss" in capsys.readouterr().out


def test_a_job_of_slurm_on_many_cores_is_trained_here(corpus: TokenizedCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its variables say how many tasks the job has, and not that this process is one of them; Lightning would also
    advise more workers."""
    usual, under_slurm = module(), module()
    fit(usual, batches(corpus), plan(), tiny.no_record())
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    for name, value in (("NTASKS", "4"), ("JOB_NAME", "night"), ("PROCID", "3"), ("LOCALID", "3")):
        monkeypatch.setenv(f"SLURM_{name}", value)
    fit(under_slurm, batches(corpus), plan(), tiny.no_record())
    assert torch.equal(flat_weights(under_slurm), flat_weights(usual))
    assert not torch.equal(flat_weights(usual), flat_weights(module())), "something was learnt"


def test_a_module_in_eval_mode_is_refused(corpus: TokenizedCorpus) -> None:
    """As `from_pretrained` leaves it: dropout would be off for the whole training."""
    made = module()
    made.model.bert.encoder.layer[1].eval()
    with pytest.raises(AssertionError, match=r"model.bert.encoder.layer.1.* is in eval mode: its dropout would be off"):
        fit(made, batches(corpus), plan(), tiny.no_record())


# Steps that are not finite


def infinite_gradient(loss: torch.Tensor) -> torch.Tensor:
    loss.register_hook(lambda gradient: gradient * float("inf"))
    return loss * 1.0


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_number, r"the loss is nan"),
        (lambda loss: loss * float("inf"), r"the loss is inf"),
        (infinite_gradient, r"the norm of the gradient is (inf|nan)"),
    ],
)
def test_a_step_that_is_not_finite_is_skipped_and_three_end_the_run(
    corpus: TokenizedCorpus,
    tmp_path: Path,
    spoil: Callable[[torch.Tensor], torch.Tensor],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A run that diverges ends before anything is measured or saved."""
    source = batches(corpus)
    made = Spoilt(module(), spoil, source, [3])
    seen: list[torch.Tensor] = []

    def measure(step: int) -> Mapping[str, float]:
        seen.append(flat_weights(made))
        return {}

    fitted = fit(made, source, plan(), tiny.no_record(), dict.fromkeys(range(1, STEPS + 1), measure))
    moved = [not torch.equal(*pair) for pair in pairwise(seen)]
    assert moved == [True, True, False, True, True], "the fourth step"
    assert all(torch.isfinite(state).all() for state in seen)
    assert fitted.counts["skipped_steps"] == 1
    assert all(math.isfinite(point["train/mlm_loss"]) for point in fitted.curve)
    assert re.search(rf"warning: step 4: {message}; the step is skipped", capsys.readouterr().out)

    end = rf"AB-158 step {STEPS}: {message}, 3 steps in a row\n  lower learning_rate"
    ends = Spoilt(module(), spoil, source, range(STEPS - 3, STEPS))
    with pytest.raises(Diverged, match=end) as caught:
        fit(ends, source, plan(), tiny.no_record(), {STEPS: measure}, Savepoints(tmp_path))
    assert caught.value.exit_code == INTERNAL == 70
    assert len(seen) == STEPS
    assert [step["step"] for step in read_json(tmp_path / "diverged.json")["steps"]] == [4, 5, 6]
    assert list(tmp_path.glob("*.safetensors")) == [], "no state is saved that a resumed run could not leave"


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize(("value", "ahead"), [(float("inf"), False), (float("nan"), False), (float("nan"), True)])
def test_no_savepoint_holds_a_weight_that_is_not_finite(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float, ahead: bool
) -> None:
    """A weight gets this value after the last step; savepoints are written in the run, or beside it."""
    monkeypatch.setattr(monitor, "_runs_ahead", lambda _: ahead)
    made = module()

    def measure(step: int) -> Mapping[str, float]:
        with torch.no_grad():
            made.model.bert.embeddings.word_embeddings.weight[7] = value
        return {}

    with pytest.raises(Diverged, match=r"AB-158 step 6: weights/.*word_embeddings.* is not finite"):
        fit(made, batches(corpus), plan(), tiny.no_record(), {STEPS: measure}, Savepoints(tmp_path))
    assert [path.name[:8] for path in sorted(tmp_path.iterdir())] == ["00000004", "00000005"]


# The best weights on dev

SCORES = {2: 0.3, 4: 0.6, 6: 0.5, 8: 0.6, 10: 0.4, 12: 0.9}


def stopped(
    folder: Path, patience: int | None, stop_at: int | None = None, **options: Any
) -> tuple[Fitted, dict[str, torch.Tensor]]:
    """Dev scores are given: the third measurement in a row that is not better is the fifth."""
    made, stream = short_runs.made(**options)
    kept = {} if patience is None else {"keep_best": "dev/score", "patience": patience}
    measure_at = dict.fromkeys(SCORES, lambda step: {"dev/score": SCORES[step]})
    how = replace(short_runs.plan(12), **kept)
    return fit(made, until(stream, stop_at), how, tiny.no_record(), measure_at, Savepoints(folder)), weights(made)


def test_the_best_weights_are_kept_and_patience_ends_the_run(tmp_path: Path) -> None:
    fitted, best_weights = stopped(tmp_path / "early", 3)
    assert fitted.step == 4, "the first of equals"
    assert [point["step"] for point in fitted.curve] == [2, 4, 6, 8, 10]
    made, stream = short_runs.made()
    with pytest.raises(Stop):
        fit(made, until(stream, 8), short_runs.plan(12), tiny.no_record())
    assert not changed(best_weights, weights(made)), "the weights after step 4 of the same schedule"
    for patience, step in ((4, 12), (None, 12)):
        other, _ = stopped(tmp_path / f"{patience}", patience)
        assert (other.step, len(other.curve)) == (step, 6)


def test_two_processes_stop_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 0 alone measures; the other hears of it. With rates of their own for the layers."""

    def run(devices: int) -> tuple[Fitted, dict[str, torch.Tensor]]:
        monkeypatch.setenv("ADAPTBERT_DEVICES", str(devices))
        return stopped(tmp_path / str(devices), 3, layer_decay=0.8)

    (alone, one), (together, two) = run(1), run(2)
    assert (together.step, together.curve[-1]["step"]) == (alone.step, alone.curve[-1]["step"]) == (4, 10)
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, atol=5e-6, rtol=0)


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize("stop_at", [9, 17])
def test_a_resumed_run_keeps_and_stops_alike(tmp_path: Path, stop_at: int) -> None:
    straight, best_weights = stopped(tmp_path / "straight", 3)
    with pytest.raises(Stop):
        stopped(tmp_path / "resumed", 3, stop_at)
    for end in (None, 0):  # what is over is not trained again
        again, resumed_weights = stopped(tmp_path / "resumed", 3, end)
        assert again == straight
        assert not changed(best_weights, resumed_weights)
