"""Attention of flat documents as a CUDA device computes it: what a CPU can tell of it, and where there is one, all.

Torch's kernel itself runs on CUDA alone: `meta` tells its rules of shapes, and test_encoder.py replaces it.
"""

import inspect

import numpy as np
import pytest
import torch
from torch.nn.attention import varlen

from adaptbert.model import attention
from adaptbert.model.attention import flash_fits
from adaptbert.model.packing import pack
from tests.model.test_encoder import by_document

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
