"""Training on a CUDA device, where there is one: `python -m pytest -m gpu tests/training/test_cuda.py`.

Steps of every task type, option and objective run there with operations that add up in a fixed order: one that has no
such kind raises.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM

from adaptbert.config.schema.mlm import SentenceObjective
from adaptbert.mlm.masked_lm import MaskedBatches, MaskedLM
from adaptbert.model import attention, checkpoint
from adaptbert.model.encoder import Tokens, encode
from adaptbert.model.packing import pack
from adaptbert.runtime.variables import GRAPHS
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.graphs import ReplayedStep
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from tests.model.test_encoder import documents, model
from tests.support import tiny
from tests.support.short_runs import STEPS, Stop, flat_weights, made, masked_batches, masked_lm, until
from tests.training.test_accelerator import CASES
from tests.training.test_padding import static

pytestmark = pytest.mark.gpu
LENGTHS = [7, 16, 3, 12, 1, 9]
CUDA = torch.device("cuda")


@pytest.fixture(autouse=True)
def _no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are made in this process: others take seconds to start."""
    monkeypatch.setenv("ADAPTBERT_BATCH_WORKERS", "0")


def batches_in(folder: Path) -> MaskedBatches:
    return masked_batches(tiny.corpus(folder / "domain", "domain", 60), 300)


def test_dropout_of_the_kernel_keeps_the_mean_and_differs_by_seed() -> None:
    """Dropout of the weights alone: the mean over many draws is the output without it."""
    draw = torch.Generator(CUDA).manual_seed(0)
    projected = torch.randn(sum(LENGTHS), 3 * 4 * 16, generator=draw, device=CUDA).bfloat16()
    rows = pack(np.array(LENGTHS), 24).to(CUDA)
    here = attention.Attention(rows, CUDA, torch.bfloat16, is_flat=True)
    plain = here.attend(projected, 4, 0.0).float()
    torch.manual_seed(1)
    draws = torch.stack([here.attend(projected, 4, 0.3).float() for _ in range(2000)])
    assert not torch.equal(draws[0], draws[1])
    torch.testing.assert_close(draws.mean(0), plain, atol=0.06, rtol=0)
    torch.manual_seed(1)
    assert torch.equal(here.attend(projected, 4, 0.3).float(), draws[0])


def placed(ours: Any, texts: list[np.ndarray], dtype: torch.dtype) -> Tensor:
    rows = pack(np.array([len(text) for text in texts]), 24).to(CUDA)
    with torch.autocast("cuda", dtype, enabled=dtype != torch.float32):
        return encode(ours.bert, rows, Tokens(torch.as_tensor(np.concatenate(texts), device=CUDA)))


@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 2e-5), (torch.bfloat16, 0.05)])
def test_hidden_states_and_gradients_are_those_of_the_stock_model(dtype: torch.dtype, close: float) -> None:
    texts, stock, ours = documents(LENGTHS), model(), model().to(CUDA)
    expected = torch.cat([stock.bert(input_ids=torch.as_tensor(text)[None]).last_hidden_state[0] for text in texts])
    actual = placed(ours, texts, dtype)
    torch.testing.assert_close(actual.cpu(), expected, atol=close, rtol=0)
    expected.pow(2).mean().backward()
    actual.pow(2).mean().backward()
    for (name, theirs), mine in zip(stock.bert.named_parameters(), ours.bert.parameters(), strict=True):
        if theirs.grad is not None:
            assert mine.grad is not None, name
            torch.testing.assert_close(mine.grad.cpu(), theirs.grad, atol=close, rtol=0, msg=name)


@pytest.mark.usefixtures("save_every_step")
def test_a_run_learns_resumes_and_opens_in_the_stock_class(tmp_path: Path) -> None:
    batches, steps = batches_in(tmp_path), 30

    def attempt(folder: Path, fail_at: int | None = None) -> tuple[MaskedLM, list[dict[str, float]]]:
        module = masked_lm(steps)
        plan = TrainingArguments(steps, 1, 1.0, "bf16-mixed", 0, "train/mlm_loss")
        points = dict.fromkeys((5, steps), lambda step: {})
        return module, fit(module, until(batches, fail_at), plan, tiny.no_record(), points, Savepoints(folder)).curve

    whole, curve = attempt(tmp_path / "whole")
    assert curve[-1]["train/mlm_loss"] < curve[0]["train/mlm_loss"]
    with pytest.raises(Stop):
        attempt(tmp_path / "cut", fail_at=20)
    resumed, again = attempt(tmp_path / "cut")
    assert again[-1]["train/mlm_loss"] == pytest.approx(curve[-1]["train/mlm_loss"], abs=5e-3)
    for mine, theirs in zip(resumed.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, atol=5e-3, rtol=0)
    checkpoint.save(tmp_path / "saved", whole.model, tiny.tokenizer(), tiny.card("pretrain"))
    stock = AutoModelForMaskedLM.from_pretrained(tmp_path / "saved")
    for name, tensor in stock.named_parameters():
        assert torch.equal(tensor, whole.model.get_parameter(name).cpu()), name


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
def test_no_step_waits_for_the_device(tmp_path: Path) -> None:
    """A number that is asked of the device in a forward or backward pass would raise here."""
    module = masked_lm(3, 0.0).to(CUDA)
    moved = batches_in(tmp_path)(0).pin_memory().to(CUDA)
    for waiting in ("default", "error"):  # the first pass may set things up
        torch.cuda.set_sync_debug_mode(waiting)
        try:
            with torch.autocast("cuda", torch.bfloat16):
                loss = module.training_step(moved, 0)
            loss.backward()
        finally:
            torch.cuda.set_sync_debug_mode("default")


def test_long_documents_have_the_same_gradients_again() -> None:
    """The kernel's backward pass adds up in any order unless it is asked; documents of one block hide that."""
    lengths = np.array([1000, 700, 300])
    rows = pack(lengths, 1000).to(CUDA)
    here = attention.Attention(rows, CUDA, torch.bfloat16, is_flat=True)
    draw = torch.Generator(CUDA).manual_seed(0)
    projected = torch.randn(2000, 3 * 4 * 16, generator=draw, device=CUDA).bfloat16().requires_grad_()

    def gradient() -> Tensor:
        torch.manual_seed(1)
        (found,) = torch.autograd.grad(here.attend(projected, 4, 0.1).float().pow(2).sum(), projected)
        return found

    torch.use_deterministic_algorithms(True)
    try:
        first = gradient()
        assert all(torch.equal(gradient(), first) for _ in range(20))
    finally:
        torch.use_deterministic_algorithms(False)


def fine_tuned(kind: str, target: str, options: dict[str, Any], weights: list[float] | None, precision: str) -> Tensor:
    module, batches = made(kind, target, options, weights)
    before = flat_weights(module)
    fit(module, batches, TrainingArguments(STEPS, 2, 1.0, precision, 3, "train/loss"), tiny.no_record())
    after = flat_weights(module).cpu()
    assert not torch.equal(after, before)
    return after


@pytest.mark.parametrize("precision", ["bf16-mixed", "32-true"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_fine_tuning_repeats_its_bits(case: tuple[Any, ...], precision: str) -> None:
    first = fine_tuned(*case, precision)
    assert first.isfinite().all()
    assert torch.equal(fine_tuned(*case, precision), first)


@pytest.mark.parametrize("cut", [None, 9])
@pytest.mark.parametrize("kind", [None, ("single_sentence", "class"), ("sequence_labelling", "spans")], ids=str)
def test_replayed_steps_have_the_bits_of_eager_ones(
    kind: tuple[str, str] | None,
    cut: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A CUDA graph of a whole step; the eager run has the same padded micro-batches. Also when cut and resumed."""
    monkeypatch.setenv(GRAPHS, "true")

    def trained(folder: Path, stop_at: int | None = None) -> Tensor:
        run: tuple[Any, Any] = made(*kind) if kind else (masked_lm(STEPS, 0.1), batches_in(folder))
        module, batches = run
        plan = TrainingArguments(2 * STEPS, 2, 1.0, "bf16-mixed", 3, "train/loss")
        fit(module, until(static(batches), stop_at), plan, tiny.no_record(), {}, Savepoints(folder / "saved"))
        return flat_weights(module).cpu()

    replayed = trained(tmp_path / "replayed") if cut is None else torch.empty(0)
    if cut is not None:
        monkeypatch.setenv("ADAPTBERT_SAVE_SECONDS", "0")
        with pytest.raises(Stop):
            trained(tmp_path / "replayed", 2 * cut)
        replayed = trained(tmp_path / "replayed")
    assert GRAPHS not in capsys.readouterr().out, "training stayed eager"
    monkeypatch.setattr(ReplayedStep, "_record", refused)
    assert torch.equal(trained(tmp_path / "eager"), replayed)
    assert GRAPHS in capsys.readouterr().out


def refused(*_: Any) -> None:
    raise RuntimeError("not here")


def pretrained(folder: Path, objective: SentenceObjective, precision: str) -> Tensor:
    corpus, module = tiny.corpus(folder, "domain", 60), masked_lm(STEPS, 0.1, objective)
    plan = TrainingArguments(STEPS, 1, 1.0, precision, 0, "train/mlm_loss")
    fit(module, masked_batches(corpus, 300, objective), plan, tiny.no_record())
    return flat_weights(module).cpu()


@pytest.mark.parametrize("precision", ["bf16-mixed", "32-true"])
@pytest.mark.parametrize("objective", ["none", "nsp", "sop"])
def test_masked_lm_repeats_its_bits(tmp_path: Path, objective: SentenceObjective, precision: str) -> None:
    first = pretrained(tmp_path / "first", objective, precision)
    assert first.isfinite().all()
    assert torch.equal(pretrained(tmp_path / "second", objective, precision), first)
