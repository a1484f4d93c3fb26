"""`fit`: the same seed gives the same bits whatever is logged or measured on the way."""

import os
from collections.abc import Mapping

import pytest
import torch

from adaptbert.mlm.heldout_evaluation import HeldOut
from adaptbert.mlm.masked_lm import MaskedBatch, MaskedBatches, MaskedLM
from adaptbert.runtime.tracking.run import Run
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.loop import fit
from tests.support import tiny, tiny_params
from tests.support.short_runs import flat_weights, masked_batches, masked_lm

STEPS = 6


class LoggedRun(Run):
    """Keeps the metrics that are logged."""

    def __init__(self) -> None:
        super().__init__()
        self.metrics: list[tuple[str, float, int]] = []

    def log_metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        self.metrics += [(name, value, step) for name, value in metrics.items()]


def module(dropout: float = 0.3, steps: int = STEPS) -> MaskedLM:
    return masked_lm(steps, dropout)


def batches(corpus: TokenizedCorpus) -> MaskedBatches:
    return masked_batches(corpus, 200)


def plan(seed: int = 0, steps: int = STEPS, accumulate: int = 1, precision: str = "32-true") -> TrainingArguments:
    return TrainingArguments(steps, accumulate, 1.0, precision, seed, "train/mlm_loss")


def trained(corpus: TokenizedCorpus, how: TrainingArguments | None = None, **more: object) -> torch.Tensor:
    made = module()
    fit(made, batches(corpus), how or plan(), tiny.no_record(), **more)  # type: ignore[arg-type]
    return flat_weights(made)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_the_same_seed_gives_the_same_bits(corpus: TokenizedCorpus, precision: str) -> None:
    """With dropout; whatever the global random state was before."""
    results = []
    for noise in (1, 2):
        made = module()
        torch.manual_seed(noise)
        fit(made, batches(corpus), plan(precision=precision), tiny.no_record())
        results.append(flat_weights(made))
    assert torch.equal(*results)
    assert not torch.equal(results[0], flat_weights(module())), "something was learnt"
    assert not torch.equal(results[0], trained(corpus, plan(seed=1, precision=precision))), "another dropout"


def test_measuring_and_logging_do_not_change_the_weights(
    corpus: TokenizedCorpus, heldout: HeldOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = trained(corpus)
    made = module()

    def measure(step: int) -> Mapping[str, float]:
        torch.rand(step)  # a measure that draws
        return {"loss": heldout.measure(made.model, "32-true")["domain"]["mlm_loss"]}

    monkeypatch.setattr("adaptbert.training.monitor.LOG_EVERY", 1)
    monkeypatch.setattr("adaptbert.runtime.progress.LINE_SECONDS", 0.0)
    curve = fit(made, batches(corpus), plan(), LoggedRun(), dict.fromkeys(range(1, STEPS + 1), measure)).curve
    assert len(curve) == STEPS
    assert torch.equal(flat_weights(made), bare)


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
        return MaskedBatch(rows, torch.from_numpy(hidden), places, expected[places], {"tokens": len(hidden)})

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

    def measure(step: int) -> Mapping[str, float]:
        measured.append(step)
        return {"domain/mlm_loss": float(step)}

    seen: list[int] = []

    def batch(k: int) -> MaskedBatch:
        seen.append(k)
        return source(k)

    curve = fit(module(steps=steps), batch, plan(steps=steps), run, {3: measure, 25: measure}).curve
    assert seen == list(range(steps)), "each micro-batch once, in order"
    assert measured == [3, 25]
    assert [point["step"] for point in curve] == [3, 25]
    assert [point["domain/mlm_loss"] for point in curve] == [3.0, 25.0]
    again = batches(corpus)
    assert curve[1]["tokens"] == sum(again(k).counts["tokens"] for k in range(steps))
    logged = [(name, step) for name, _, step in run.metrics if name == "train/mlm_loss"]
    assert logged == [("train/mlm_loss", 10), ("train/mlm_loss", 20), ("train/mlm_loss", 25)]
    rates = {step: value for name, value, step in run.metrics if name == "train/learning_rate"}
    assert rates[25] < rates[20] < rates[10] <= tiny_params.optim().learning_rate
    assert "step     25/25  loss" in capsys.readouterr().out


def test_a_machine_with_many_cores_brings_no_warning(corpus: TokenizedCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lightning would advise more workers."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    trained(corpus)


def test_a_job_of_slurm_is_trained_here(corpus: TokenizedCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its variables say how many tasks the job has, and not that this process is one of them."""
    expected = trained(corpus)
    for name, value in (("NTASKS", "4"), ("JOB_NAME", "night"), ("PROCID", "3"), ("LOCALID", "3")):
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert torch.equal(trained(corpus), expected)


def test_a_module_in_eval_mode_is_refused(corpus: TokenizedCorpus) -> None:
    """As `from_pretrained` leaves it: dropout would be off for the whole training."""
    made = module()
    made.model.bert.encoder.layer[1].eval()
    with pytest.raises(AssertionError, match=r"model.bert.encoder.layer.1.* is in eval mode: its dropout would be off"):
        fit(made, batches(corpus), plan(), tiny.no_record())
