"""Attention of flat documents as a CUDA device computes it: what a CPU can tell of it, and where there is one, all.

Torch's kernel itself runs on CUDA alone: `meta` tells its rules of shapes, and test_encoder.py replaces it.
"""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.attention import varlen
from transformers import AutoModelForMaskedLM

from adaptbert.mlm.masked_lm import MaskedBatches, MaskedLM
from adaptbert.model import attention, checkpoint
from adaptbert.model.attention import flash_fits
from adaptbert.model.encoder import Tokens, encode
from adaptbert.model.packing import pack
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from tests.model.test_encoder import by_document, documents, model
from tests.support import tiny
from tests.support.short_runs import Stop, masked_batches, masked_lm, until

LENGTHS = [7, 16, 3, 12, 1, 9]
CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def test_when_the_kernel_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    assert flash_fits(CUDA, torch.bfloat16, 64)
    assert not flash_fits(CPU, torch.bfloat16, 64)
    assert not flash_fits(CUDA, torch.float32, 64)
    assert not flash_fits(CUDA, torch.bfloat16, 60)
    assert not flash_fits(CUDA, torch.bfloat16, 512)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert not flash_fits(CUDA, torch.bfloat16, 64)


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_the_installed_kernel_accepts_our_arguments(rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its signature; and by its implementation for tensors without numbers, forward and backward."""
    names = list(inspect.signature(varlen.varlen_attn).parameters)
    assert names[:7] == list(inspect.signature(by_document).parameters)
    assert "dropout_p" not in names, "it could serve with dropout, too"
    operator = [argument.name for argument in torch.ops.aten._flash_attention_forward.default._schema.arguments]
    assert operator[5:10] == ["max_q", "max_k", "dropout_p", "is_causal", "return_debug_mask"]
    monkeypatch.setattr(attention, "flash_fits", lambda *_: True)
    meta = torch.device("meta")
    projected = torch.empty(sum(LENGTHS), 3 * 4 * 8, dtype=torch.bfloat16, device=meta, requires_grad=True)
    rows = pack(np.array(LENGTHS), 24).to(meta)
    mixed = attention.Attention(rows, meta, 4, 8, torch.bfloat16).attend(projected, rate)
    assert mixed.shape == (sum(LENGTHS), 4 * 8)
    mixed.sum().backward()
    assert projected.grad is not None
    assert projected.grad.shape == projected.shape


def batches_in(folder: Path) -> MaskedBatches:
    return masked_batches(tiny.corpus(folder / "domain", "domain", 60), 300)


# On a CUDA device: python -m pytest -m gpu


@pytest.mark.gpu
def test_on_cuda_dropout_of_the_kernel_keeps_the_mean_and_differs_by_seed() -> None:
    """Of the weights alone: the mean over many draws is the output without it."""
    draw = torch.Generator(CUDA).manual_seed(0)
    projected = torch.randn(sum(LENGTHS), 3 * 4 * 16, generator=draw, device=CUDA).bfloat16()
    rows = pack(np.array(LENGTHS), 24).to(CUDA)
    made = attention.Attention(rows, CUDA, 4, 16, torch.bfloat16)
    plain = made.attend(projected, 0.0).float()
    torch.manual_seed(1)
    draws = torch.stack([made.attend(projected, 0.3).float() for _ in range(2000)])
    assert not torch.equal(draws[0], draws[1])
    torch.testing.assert_close(draws.mean(0), plain, atol=0.06, rtol=0)
    torch.manual_seed(1)
    assert torch.equal(made.attend(projected, 0.3).float(), draws[0])


def placed(ours: Any, texts: list[np.ndarray], dtype: torch.dtype) -> Tensor:
    rows = pack(np.array([len(text) for text in texts]), 24).to(CUDA)
    with torch.autocast("cuda", dtype, enabled=dtype != torch.float32):
        return encode(ours.bert, rows, Tokens(torch.as_tensor(np.concatenate(texts), device=CUDA)))


@pytest.mark.gpu
@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 2e-5), (torch.bfloat16, 0.05)])
def test_on_cuda_hidden_states_and_gradients_are_those_of_the_stock_model(dtype: torch.dtype, close: float) -> None:
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


@pytest.mark.gpu
@pytest.mark.usefixtures("save_every_step")
def test_on_cuda_a_run_learns_resumes_and_opens_in_the_stock_class(tmp_path: Path) -> None:
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


@pytest.mark.gpu
def test_on_cuda_no_step_waits_for_the_device(tmp_path: Path) -> None:
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
